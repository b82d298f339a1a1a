// Streamed bodies: writers on one side, the engine on the other.
#include "client/stream_core.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace sluice::client::detail {
namespace {

/// The constructor of a data section of that many octets. [3.2.6] @pre the size has 32 bits
std::size_t section_header(std::size_t size, std::array<std::byte, 8>& out) noexcept
{
    auto const octet = [](std::size_t v) { return static_cast<std::byte>(v & 0xff); };
    out[0] = octet(0x00);
    out[1] = octet(0x53);
    out[2] = octet(0x75);
    if (size < 256) {
        out[3] = octet(0xa0);
        out[4] = octet(size);
        return 5;
    }
    out[3] = octet(0xb0);
    for (std::size_t i = 0; i < 4; ++i) out[4 + i] = octet(size >> 8 * (3 - i));
    return 8;
}

}  // namespace

/// A write that did not fit at once: goes in as the engine takes what is before it.
class stream_core::write_request final : public request {
public:
    write_request(std::shared_ptr<stream_core> s, bytes_view data, bool as_section,
                  reply_ptr<std::size_t> r)
        : stream_{std::move(s)}, data_{data}, reply_{std::move(r)}
    {
        if (as_section)
            header_size_ = section_header(data.size(), header_);
        accept_cancellation(*reply_, stream_->link_->connection());
    }
    ~write_request() override = default;

    void execute(connection_core&) override
    {
        auto const s = stream_;  // which may have no other owner once this is answered
        s->waiting_.push_back(*this);
        if (!begin())
            return give_up(make_error_code(sluice::error::operation_aborted));
        s->serve_writers();
        s->feed_engine();
    }
    void refuse() noexcept override
    {
        auto const why = stream_->link_->connection()->failure();
        finish(why ? why->code : make_error_code(sluice::error::connection_not_open), why);
    }
    void give_up(std::error_code why) override
    {
        stream_->waiting_.remove(*this);
        finish(why, make_failure(why, "write to a streamed message cancelled"));
    }

    /// Copies what fits. @returns true if all of it is in. @pre locked
    bool advance() noexcept
    {
        while (header_done_ < header_size_) {
            auto const n = stream_->put(
                bytes_view{header_}.subspan(header_done_, header_size_ - header_done_));
            if (n == 0)
                return false;
            header_done_ += n;
        }
        while (done_ < data_.size()) {
            auto const n = stream_->put(data_.subspan(done_));
            if (n == 0)
                return false;
            done_ += n;
        }
        return true;
    }

    /// Answers and frees this, which is in no list.
    void finish(std::error_code code, failure_ptr why)
    {
        auto const s = stream_;
        {
            std::lock_guard const lock{s->mutex_};
            --s->writers_;
        }
        auto reply = std::move(reply_);
        auto const done = done_;
        delete this;
        auto const& l = *s->link_;
        l.connection()->answer(*l.completions(), std::move(reply), code, std::move(why),
                               std::size_t{done});
    }

private:
    std::shared_ptr<stream_core> stream_;
    std::array<std::byte, 8> header_{};
    std::size_t header_size_ = 0;
    std::size_t header_done_ = 0;
    bytes_view data_;
    std::size_t done_ = 0;
    reply_ptr<std::size_t> reply_;
};

class stream_core::finish_request final : public request {
public:
    finish_request(std::shared_ptr<stream_core> s, reply_ptr<outcome> r)
        : stream_{std::move(s)}, reply_{std::move(r)}
    {
        accept_cancellation(*reply_, stream_->link_->connection());
    }
    ~finish_request() override = default;

    void execute(connection_core& on) override
    {
        auto& s = *stream_;
        {
            std::unique_lock lock{s.mutex_};
            if (s.done_ || s.finishing_) {
                auto const code = s.done_ ? s.code_ : make_error_code(sluice::error::invalid_state);
                auto why = s.why_;
                auto o = s.outcome_;
                lock.unlock();
                return finish(code, std::move(why), std::move(o));
            }
            s.finishing_ = this;
        }
        on.deadlines().arm(*this, s.link_->timeout(), on.now());
        if (!begin())
            return give_up(make_error_code(sluice::error::operation_aborted));
        s.feed_engine();
    }
    void refuse() noexcept override
    {
        auto const why = stream_->link_->connection()->failure();
        finish(why ? why->code : make_error_code(sluice::error::connection_not_open), why, {});
    }
    void give_up(std::error_code why) override
    {
        if (stream_->send_)
            stream_->link_->cancel(*stream_->send_, why);  // answers this by on_done()
    }
    void finish(std::error_code code, failure_ptr why, outcome o)
    {
        auto const s = stream_;
        auto& core = *s->link_->connection();
        if (armed())
            core.deadlines().disarm(*this);
        auto reply = std::move(reply_);
        delete this;
        core.answer(*s->link_->completions(), std::move(reply), code, std::move(why), std::move(o));
    }

private:
    std::shared_ptr<stream_core> stream_;
    reply_ptr<outcome> reply_;
};

/// Tells the strand that there are octets again, or that the message is given up.
class stream_core::signal final : public command {
public:
    explicit signal(std::shared_ptr<stream_core> s) : stream_{std::move(s)} {}
    void execute(connection_core&) override
    {
        auto aborted = false;
        {
            std::lock_guard const lock{stream_->mutex_};
            aborted = stream_->aborted_;
        }
        if (!aborted)
            stream_->feed_engine();
        else if (stream_->send_)
            stream_->link_->cancel(*stream_->send_,
                                   make_error_code(sluice::error::operation_aborted));
        delete this;
    }
    void refuse() noexcept override { delete this; }

private:
    ~signal() override = default;
    std::shared_ptr<stream_core> stream_;
};

stream_core::stream_core(std::shared_ptr<sender_core> link, std::size_t buffer_max)
    : link_{std::move(link)}, capacity_{std::max<std::size_t>(buffer_max, 1024)}
{
}

// ---- any thread

/// @pre locked @returns octets that fitted
std::size_t stream_core::put(bytes_view data) noexcept
{
    if (!buffer_)
        buffer_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
    auto const n = std::min(data.size(), capacity_ - size_);
    auto const tail = (head_ + size_) % capacity_;
    auto const first = std::min(n, capacity_ - tail);
    std::memcpy(buffer_.get() + tail, data.data(), first);
    std::memcpy(buffer_.get(), data.data() + first, n - first);
    size_ += n;
    return n;
}

void stream_core::start_write(bytes_view data, bool as_section, reply_ptr<std::size_t> r)
{
    if (as_section && data.size() > std::numeric_limits<std::uint32_t>::max()) {
        auto const why =
            make_failure(make_error_code(sluice::error::invalid_argument),
                         "a data section has at most 4294967295 octets [3.2.6], and this one "
                             + std::to_string(data.size()) + "; write it as several");
        return link_->connection()->answer(*link_->completions(), std::move(r), why->code, why,
                                           std::size_t{0});
    }
    std::array<std::byte, 8> header;
    auto const header_size = as_section ? section_header(data.size(), header) : 0;
    auto starved = false;
    std::error_code code;
    failure_ptr why;
    {
        std::unique_lock lock{mutex_};
        if (done_ || finished_ || aborted_) {
            code = code_ ? code_ : make_error_code(sluice::error::invalid_state);
            why = why_;
        } else if (writers_ > 0 || header_size + data.size() > capacity_ - size_) {
            ++writers_;
            lock.unlock();
            auto* const w = new write_request{shared_from_this(), data, as_section, std::move(r)};
            if (!link_->connection()->push(*w))
                w->refuse();
            return;
        } else {
            put(bytes_view{header}.first(header_size));
            put(data);
            starved = std::exchange(starved_, false);
        }
    }
    if (starved)
        tell_strand();
    link_->connection()->answer(*link_->completions(), std::move(r), code, std::move(why),
                                std::size_t{code ? 0 : data.size()});
}

void stream_core::start_finish(reply_ptr<outcome> r)
{
    {
        std::lock_guard const lock{mutex_};
        finished_ = true;
        starved_ = false;
    }
    auto* const f = new finish_request{shared_from_this(), std::move(r)};
    if (!link_->connection()->push(*f))
        f->refuse();
}

void stream_core::abort() noexcept
{
    {
        std::lock_guard const lock{mutex_};
        if (done_ || std::exchange(aborted_, true))
            return;
    }
    tell_strand();
}

void stream_core::abandon(std::shared_ptr<stream_core>) noexcept
{
    auto finished = false;
    {
        std::lock_guard const lock{mutex_};
        finished = finished_;
    }
    if (!finished)
        abort();
}

void stream_core::tell_strand() noexcept
{
    auto* const s = new signal{shared_from_this()};
    if (!link_->connection()->push(*s))
        s->refuse();
}

// ---- strand

engine::pull_result stream_core::pull(std::span<std::byte> into) noexcept
{
    // Credit that other threads grant while this frame is being written is asked for now, and
    // written right after it.
    link_->connection()->apply_flows();
    std::size_t n = 0;
    auto last = false;
    {
        std::lock_guard const lock{mutex_};
        if (aborted_)
            return {.status = engine::pull_status::failed};
        n = std::min(into.size(), size_);
        auto const first = std::min(n, capacity_ - head_);
        if (n > 0) {
            std::memcpy(into.data(), buffer_.get() + head_, first);
            std::memcpy(into.data() + first, buffer_.get(), n - first);
            head_ = (head_ + n) % capacity_;
            size_ -= n;
        }
    }
    if (n > 0)
        serve_writers();
    {
        std::lock_guard const lock{mutex_};
        last = finished_ && size_ == 0 && writers_ == 0;
        if (n == 0 && !last)
            starved_ = true;
    }
    if (last)
        return {.status = engine::pull_status::end, .size = n};
    return {.status = n > 0 ? engine::pull_status::bytes : engine::pull_status::not_ready,
            .size = n};
}

void stream_core::feed_engine()
{
    if (send_ && send_->delivery && link_->engine())
        link_->engine()->body_ready(*send_->delivery);
}

/// Moves the octets of writers that wait into the room there is.
void stream_core::serve_writers()
{
    while (auto* const w = static_cast<write_request*>(waiting_.front())) {
        {
            std::lock_guard const lock{mutex_};
            if (!done_ && !w->advance())
                return;
        }
        waiting_.remove(*w);
        w->finish(code_, why_);
    }
}

void stream_core::on_done(std::error_code code, failure_ptr why, outcome o)
{
    {
        std::lock_guard const lock{mutex_};
        done_ = true;
        code_ = code;
        why_ = why;
        outcome_ = o;
    }
    serve_writers();
    if (auto* const f = static_cast<finish_request*>(std::exchange(finishing_, nullptr)))
        f->finish(code, std::move(why), std::move(o));
}

}  // namespace sluice::client::detail
