// `sluice send`: one loop that gives messages to a window, and a summary.
#include "tools/sending.hpp"

#include "tools/closing.hpp"
#include "tools/interrupt.hpp"
#include "tools/json_text.hpp"
#include "tools/line_reader.hpp"
#include "tools/plain_text.hpp"
#include "tools/progress.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>

namespace sluice::tools {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto glance = 100ms;  // how often somebody who waits looks around
constexpr auto grace = 2s;      // after Ctrl-C, for the outcomes that are missing

std::string text_of(client::failure_ptr const& why, std::string const& otherwise)
{
    return why && !why->text.empty() ? why->text : otherwise;
}

/// A file that is read in parts; closes it unless it is standard input.
class input_file {
public:
    explicit input_file(std::string const& name)
        : descriptor_{name == "-" ? STDIN_FILENO : ::open(name.c_str(), O_RDONLY | O_CLOEXEC)},
          name_{name}
    {
        struct stat about {};
        if (descriptor_ < 0 || ::fstat(descriptor_, &about) != 0)
            throw std::system_error{errno, std::generic_category(), "cannot read " + name_};
        if (S_ISDIR(about.st_mode))
            throw std::invalid_argument{"cannot send " + name_ + ": it is a folder"};
        if (S_ISREG(about.st_mode) && about.st_size > 0)  // those of /proc do not say how long
            size_ = static_cast<std::uint64_t>(about.st_size);
    }
    ~input_file()
    {
        if (descriptor_ != STDIN_FILENO)
            ::close(descriptor_);
    }
    input_file(input_file const&) = delete;
    input_file& operator=(input_file const&) = delete;

    /// Octets; unset for what is no regular file, or does not say.
    std::optional<std::uint64_t> size() const noexcept { return size_; }
    /// @returns how many; 0 at the end @throws std::runtime_error at Ctrl-C, for a pipe may say
    /// nothing for long
    std::size_t read(std::span<std::byte> into, interrupt const& stop)
    {
        for (;;) {
            pollfd wait[] = {{descriptor_, POLLIN, 0}, {stop.descriptor(), POLLIN, 0}};
            std::ignore = ::poll(wait, 2, -1);
            if (stop.requested())
                throw std::runtime_error{"interrupted: the message was given up"};
            if (wait[0].revents
                == 0)  // the signal came to this thread, and is not taken note of yet
                continue;
            auto const got = ::read(descriptor_, into.data(), into.size());
            if (got >= 0)
                return static_cast<std::size_t>(got);
            if (errno != EINTR)
                throw std::system_error{errno, std::generic_category(), "cannot read " + name_};
        }
    }

private:
    int descriptor_;
    std::string name_;
    std::optional<std::uint64_t> size_;
};

class send_run {
public:
    explicit send_run(send_settings const& s)
        : s_{s}, encoder_{s.sections}, window_{std::max<std::size_t>(s.window, 1)}
    {
    }

    int execute()
    {
        auto const address = s_.peer.target();
        container_ = s_.peer.container();
        connection_ = container_->connect(s_.peer.url, s_.peer.connection());
        client::sender_options options;
        options.name = s_.peer.link_name;
        sender_ = connection_.open_sender(address, options);
        stop_.emplace();
        began_ = clock::now();
        send_all();
        finish();
        summary();
        auto const totals = window_.totals();
        return totals.all_good() && (!wanted() || totals.sent == *wanted()) && problem_.empty() ? 0
                                                                                                : 1;
    }

private:
    std::optional<std::uint64_t> wanted() const
    {
        return s_.count || s_.origin == body_origin::lines ? s_.count
                                                           : std::optional<std::uint64_t>{1};
    }

    bool over() const { return stop_->requested() || window_.broken() || !problem_.empty(); }

    void send_all()
    {
        if (s_.origin == body_origin::file)
            return send_files();
        progress live{out_, "sent", "", wanted()};
        live_ = &live;
        stop_->on_request([this] { window_.wake(); });
        line_reader lines{STDIN_FILENO, *stop_};
        bytes const zeros(s_.origin == body_origin::size ? s_.size : 0);
        std::string text = s_.text;
        for (std::uint64_t number = 1; !over() && (!wanted() || number <= *wanted()); ++number) {
            if (s_.origin == body_origin::lines && !next_line(lines, text))
                break;
            if (!pace(number) || !room())
                break;
            window_.send(sender_,
                         s_.origin == body_origin::size ? encoder_.with_data(number, zeros)
                                                        : encoder_.with_text(number, text),
                         s_.settled);
        }
        wait_for_outcomes();
        stop_->on_request({});
        live_ = nullptr;
    }

    bool next_line(line_reader& lines, std::string& text)
    {
        for (;;) {
            try {
                switch (lines.next(text)) {
                case line_reader::result::line: return true;
                case line_reader::result::nothing_yet: break;
                default: return false;
                }
            } catch (std::exception const& e) {
                problem_ = plain_text(e);
                return false;
            }
            if (over())
                return false;
            live_->show(window_.totals().done());
        }
    }

    bool pace(std::uint64_t number)
    {
        if (s_.rate <= 0)
            return true;
        constexpr double never = 1e9;  // seconds, which a clock can still add
        auto const due =
            began_
            + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>{
                std::min(static_cast<double>(number - 1) / s_.rate, never)});
        while (!over() && clock::now() < due) {
            window_.wait_until(std::min(due, clock::now() + glance));
            live_->show(window_.totals().done());
        }
        return !over();
    }

    bool room()
    {
        while (!window_.wait_for_room(glance)) {
            if (over())
                return false;
            live_->show(window_.totals().done());
        }
        if (++turns_ % 256 == 0)
            live_->show(window_.totals().done());
        return true;
    }

    void wait_for_outcomes()
    {
        std::optional<clock::time_point> patience_ends;
        while (!window_.wait_for_all(glance)) {
            live_->show(window_.totals().done());
            if (stop_->requested() && !patience_ends) {
                patience_ends = clock::now() + grace;
                out_.note("interrupted; waiting for outcomes (Ctrl-C again ends this at once)");
            }
            if (patience_ends && clock::now() > *patience_ends) {
                silent_ = true;
                break;
            }
        }
    }

    // ---- files

    void send_files()
    {
        for (std::uint64_t number = 1; !over() && number <= *wanted(); ++number) {
            input_file file{s_.text};
            if (s_.text == "-" && number > 1)
                throw std::invalid_argument{
                    "standard input can be sent once only; leave --count out"};
            stream_file(file, number);
        }
    }

    void stream_file(input_file& file, std::uint64_t number)
    {
        progress live{out_, "sent", "octets", file.size()};
        client::send_options options;
        options.settled = s_.settled;
        auto const stream = sender_.stream(options);
        stop_->on_request([stream] { stream.abort(); });
        try {
            stream.write(encoder_.head(number));
            write_body(file, stream, live);
            window_.add(stream.finish());
        } catch (boost::system::system_error const& e) {
            window_.add(e.code(), stop_->requested() ? "interrupted: the message was given up"
                                                     : text_of(sender_.error(), plain_text(e)));
        } catch (std::exception const& e) {
            stream.abort();
            problem_ = plain_text(e);
            window_.add(make_error_code(error::operation_aborted), problem_);
        }
        stop_->on_request({});
    }

    /// One data section where the size is known, for some receivers take only the first; else one
    /// for each part.
    void write_body(input_file& file, client::body_stream const& stream, progress& live)
    {
        auto const one_section = file.size() && *file.size() <= 0xffff'ffffu;
        if (one_section)
            stream.write(outgoing_encoder::data_section_header(*file.size()));
        bytes part(std::size_t{256} << 10);
        std::uint64_t written = 0;
        while (!one_section || written < *file.size()) {
            auto const size = file.read(part, *stop_);
            if (size == 0)
                break;
            auto const content = bytes_view{part}.first(size);
            if (one_section && size > *file.size() - written)
                throw std::runtime_error{
                    s_.text + " has grown while it was sent; the message was given up"};
            one_section ? stream.write(content) : stream.write_data(content);
            written += size;
            octets_ += size;
            live.show(written);
        }
        if (one_section && written < *file.size())
            throw std::runtime_error{s_.text
                                     + " has shrunk while it was sent; the message was given up"};
        if (!one_section && written == 0)
            stream.write_data(bytes_view{});  // a message has a body, empty or not [3.2]
    }

    // ---- the end

    /// What has no credit by now will never be sent; what has been answered gets through.
    void finish()
    {
        took_ = clock::now() - began_;
        if (auto const why = sender_.error(); why && problem_.empty() && why->code)
            problem_ = why->text;
        try {
            if (!silent_ && close_within_patience(sender_, *stop_))
                std::ignore = close_within_patience(connection_, *stop_);
        } catch (boost::system::system_error const& e) {
            if (problem_.empty() && !window_.broken())
                problem_ = text_of(connection_.error(), plain_text(e));
        }
        std::ignore = window_.wait_for_all(glance);
        container_.reset();  // completes whatever is left
    }

    void summary()
    {
        auto const t = window_.totals();
        auto const rate = took_.count() > 0 ? static_cast<double>(t.done()) / took_.count() : 0;
        auto const& problem = problem_.empty() ? t.problem : problem_;
        if (s_.json) {
            json_object o;
            o.add("sent", t.sent - t.not_sent)
                .add("accepted", t.accepted)
                .add("settled", t.settled);
            o.add("rejected", t.rejected).add("released", t.released).add("modified", t.modified);
            o.add("unknown", t.unknown).add("not_sent", t.not_sent);
            if (s_.origin == body_origin::file)
                o.add("octets", octets_);
            o.add("seconds", took_.count()).add("messages_per_second", rate);
            o.add("interrupted", stop_->requested());
            if (!problem.empty())
                o.add("problem", problem);
            return out_.result(json_object{}.add_json("summary", o.text()).text());
        }
        auto text = fmt::format("sent {}", grouped(t.sent - t.not_sent));
        auto separator = ": ";
        auto const part = [&](std::uint64_t n, char const* what) {
            if (n != 0)
                text += fmt::format("{}{} {}", std::exchange(separator, ", "), grouped(n), what);
        };
        part(t.accepted, "accepted");
        part(t.settled, s_.settled ? "sent settled" : "settled without an outcome");
        part(t.rejected, "rejected");
        part(t.released, "released");
        part(t.modified, "modified");
        part(t.unknown, "unknown (the peer may have them)");
        part(t.not_sent, "not sent");
        text += fmt::format("; {}", duration_text(took_));
        if (t.done() > 1)
            text += fmt::format(", {}/s", grouped(static_cast<std::uint64_t>(rate)));
        if (stop_->requested())
            text += "; interrupted";
        out_.note(text);
        if (!problem.empty())
            out_.note("sluice send: " + problem);
    }

    send_settings const& s_;
    terminal out_{stdout, stderr, terminal::when_full::wait};
    outgoing_encoder encoder_;
    send_window window_;
    std::unique_ptr<client::container> container_;
    client::connection connection_;
    client::sender sender_;
    std::optional<interrupt> stop_;
    progress* live_ = nullptr;
    clock::time_point began_;
    std::chrono::duration<double> took_{0};
    bool silent_ = false;  // the peer, since Ctrl-C
    std::uint64_t turns_ = 0;
    std::uint64_t octets_ = 0;
    std::string problem_;
};

}  // namespace

int run_send(send_settings const& s) { return send_run{s}.execute(); }

}  // namespace sluice::tools
