// `sluice channel`: values as lines.
#include "tools/channeling.hpp"

#include "tools/interrupt.hpp"
#include "tools/line_reader.hpp"
#include "tools/message_output.hpp"

#include <sluice/channel/channel.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <span>
#include <stdexcept>
#include <system_error>

namespace sluice::tools {
namespace {

/// Values as they are; what they are is the other side's business.
template <char const* Name>
struct as_text : channels::codec<std::string> {
    static constexpr std::string_view name = Name;
};
constexpr char text_name[] = "text";
constexpr char json_name[] = "json";
constexpr char bytes_name[] = "bytes";
constexpr char any_name[] = "";

/// What is wrong is told in the words of the command line.
template <class Codec>
sluice::channel<std::string, Codec> opened(client::connection const& on, channel_settings const& s)
{
    try {
        return sluice::channel<std::string, Codec>::open(on, s.name, s.options);
    } catch (boost::system::system_error const& e) {
        if (e.code() != make_error_code(channels::errc::not_found))
            throw;
        throw std::runtime_error{
            fmt::format("there is no channel '{}'; make it with --capacity N", s.name)};
    }
}

/// A channel of any codec, opened.
template <class F>
int with_channel(channel_settings const& s, F f)
{
    auto const container = s.peer.container();
    auto const connection = container->connect(s.peer.url, s.peer.connection());
    auto const run = [&]<char const * Name>() {
        auto const c = opened<as_text<Name>>(connection, s);
        auto const status = f(c);
        c.stop();
        return status;
    };
    auto const status = !s.options.create       ? run.template operator()<any_name>()
                        : s.codec == json_name  ? run.template operator()<json_name>()
                        : s.codec == bytes_name ? run.template operator()<bytes_name>()
                                                : run.template operator()<text_name>();
    connection.close();
    return status;
}

template <class Channel>
bool send_one(Channel const& c, channel_settings const& s, std::string const& value)
{
    if (s.now) {
        if (c.try_send(value))
            return true;
        fmt::print(stderr, "channel '{}' is full: not sent: {}\n", s.name, value);
        return false;
    }
    using namespace std::chrono_literals;
    auto sent =
        c.async_send(value, s.timeout.value_or(channels::no_timeout), boost::asio::use_future);
    if (sent.wait_for(300ms) != std::future_status::ready) {
        fmt::print(stderr, "channel '{}' is full: waiting to send: {}\n", s.name, value);
        sent.wait();
    }
    sent.get();
    return true;
}

enum class printed : std::uint8_t { one, nothing, lost };

bool print_line(std::string line)
{
    line += '\n';
    try {
        write_all(STDOUT_FILENO, std::as_bytes(std::span{line}), "standard output");
        return true;
    } catch (std::system_error const& e) {
        fmt::print(stderr, "sluice channel recv: {}\n", e.what());
        return false;
    }
}

/// The next value, which is not acknowledged yet; with --now nothing if there is none.
template <class Codec>
std::optional<channels::received<std::string>> take(
    channels::basic_channel<std::string, Codec> const& c, channel_settings const& s)
{
    if (!s.now)
        return c.recv_ack(s.timeout.value_or(channels::no_timeout));
    using channels::detail::raw_answer;
    return channels::detail::wait(
        [&](channels::detail::raw_reply r) {
            c.core()->receive(1, true, true, c.options_used().timeout, std::move(r));
        },
        [](client::error_code& code,
           raw_answer& raw) -> std::optional<channels::received<std::string>> {
            if (code || raw.what != channels::detail::came::values)
                return std::nullopt;
            auto held = std::move(raw.held);
            auto v = channels::detail::decode_one<std::string, Codec>(raw, held, 0, true);
            if (v)
                return channels::received<std::string>{std::move(*v), std::move(held)};
            code = make_error_code(channels::errc::undecodable);
            return std::nullopt;
        });
}

/// Acknowledged after it was written, and given back if it could not be.
template <class Channel>
printed print_one(Channel const& c, channel_settings const& s)
{
    auto value = take(c, s);
    if (!value)
        return printed::nothing;
    if (print_line(**value)) {
        value->ack();
        return printed::one;
    }
    value->release();
    return printed::lost;
}

/// At most once: there is nobody to give it back to, so it is named.
template <class Channel>
printed print_unacknowledged(Channel const& c, channel_settings const& s)
{
    auto const value =
        s.now ? c.try_recv().value : c.recv(s.timeout.value_or(channels::no_timeout));
    if (!value)
        return printed::nothing;
    if (print_line(*value))
        return printed::one;
    fmt::print(stderr, "sluice channel recv: lost, for nothing is acknowledged here: {}\n", *value);
    return printed::lost;
}

}  // namespace

int run_channel_send(channel_settings const& s)
{
    return with_channel(s, [&](auto const& c) {
        if (s.body)
            return send_one(c, s, *s.body) ? 0 : 1;
        interrupt const stop;
        line_reader lines{STDIN_FILENO, stop};
        std::string line;
        auto status = 0;
        for (;;) {
            auto const what = lines.next(line);
            if (what == line_reader::result::end || what == line_reader::result::interrupted)
                return status;
            if (what == line_reader::result::line && !send_one(c, s, line))
                status = 1;
        }
    });
}

int run_channel_recv(channel_settings const& s)
{
    return with_channel(s, [&](auto const& c) {
        auto const acknowledges =
            c.core()->in_force().delivery != channels::guarantee::at_most_once;
        for (std::uint64_t i = 0; !s.count || i < *s.count; ++i) {
            auto const came = acknowledges ? print_one(c, s) : print_unacknowledged(c, s);
            if (came == printed::lost)
                return 1;
            if (came == printed::nothing)
                return s.now && i == 0 ? 1 : 0;
        }
        return 0;
    });
}

int run_channel_close(channel_settings const& s)
{
    return with_channel(s, [](auto const& c) {
        c.close();
        return 0;
    });
}

int run_channel_destroy(channel_settings const& s)
{
    return with_channel(s, [](auto const& c) {
        c.destroy();
        return 0;
    });
}

int run_channel_stat(channel_settings const& s)
{
    return with_channel(s, [&](auto const& c) {
        auto const is = c.state();
        fmt::print("size              {}\n"
                   "capacity          {}\n"
                   "buffered          {}\n"
                   "unacknowledged    {}\n"
                   "waiting senders   {}\n"
                   "waiting receivers {}\n"
                   "handles           {}\n"
                   "closed            {}\n",
                   is.size, c.capacity(), is.buffered, is.unacknowledged, is.waiting_senders,
                   is.waiting_receivers, is.handles - 1, is.closed ? "yes" : "no");
        return 0;
    });
}

}  // namespace sluice::tools
