// Octets between an engine and its stream.
#include "client/engine_stream.hpp"

#include <cstdio>

namespace sluice::client::detail {
namespace {

constexpr int rounds_max = 32;  // of events and output in a turn, before others have theirs
/// Answers that may wait while the peer does not read; then it is not read from either. Generous:
/// many clients write all they have before they read.
constexpr std::size_t answers_max = 4'096;
constexpr clock_time linger{1'000};  // for the peer to read our close before the socket goes

}  // namespace

engine_stream::engine_stream(std::shared_ptr<io_thread> io, settings const& s)
    : io_{std::move(io)}, settings_{s}, timer_{io_->context()}, now_{read_clock()}
{
    if (settings_.trace) {
        trace_in_.emplace("<- ");
        trace_out_.emplace("-> ");
    }
}

void engine_stream::start(std::unique_ptr<net::byte_stream> stream,
                          engine::connection_options options, std::vector<std::string> mechanisms)
{
    now_ = read_clock();
    stream_ = std::move(stream);
    peer_ = stream_->peer();
    engine_.emplace(std::move(options));
    engine_->sasl_offer(std::move(mechanisms));
    std::ignore = engine_->tick(now_);
    wait_to_read();
    run();
}

void engine_stream::run()
{
    if (!engine_ || std::exchange(running_, true))
        return;
    auto const self = shared_from_this();
    now_ = read_clock();
    if (stream_)
        std::ignore = engine_->tick(now_);  // first, for what is due is written now
    auto more = true;
    for (int round = 0; more && round < rounds_max; ++round) {
        more = poll_events();
        more |= write_some();
        more |= take_unread();
    }
    if (more)
        boost::asio::post(io_->context(), [self] { self->run(); });
    auto at = std::min(on_turn_end(), gone_at_);
    if (stream_)
        at = std::min(at, engine_->tick(now_));
    running_ = false;
    arm_timer(at);
}

void engine_stream::on_ready(net::readiness which, error_code ec)
{
    auto const self = shared_from_this();
    (which == net::readiness::read ? waits_to_read_ : waits_to_write_) = false;
    if (!stream_ || ec == boost::asio::error::operation_aborted)
        return;
    now_ = read_clock();
    if (ec)
        lose(make_error_code(sluice::error::connection_lost));
    else if (which == net::readiness::read)
        read();
    run();
}

void engine_stream::hold_input(bool held)
{
    held_ = held;
    if (!held_)
        wait_to_read();
}

/// One buffer a turn: who sends without end leaves the thread's other connections theirs.
void engine_stream::read()
{
    if (!stream_ || held_ || !unread_.empty())
        return;  // goes on when that is over
    auto const size = settings_.input_buffer_size;
    auto buffer = io_->borrow(size);
    error_code ec;
    auto const n = stream_->read_some(boost::asio::buffer(buffer.get(), size), ec);
    if (n > 0)
        take({buffer.get(), n});
    io_->give_back(std::move(buffer), size);
    if (ec && ec != boost::asio::error::would_block && ec != boost::asio::error::try_again)
        return lose(make_error_code(sluice::error::connection_lost));
    wait_to_read();
}

void engine_stream::take(bytes_view octets)
{
    if (trace_in_)
        trace(*trace_in_, octets);
    while (!octets.empty()) {
        auto const taken = engine_->receive(octets, now_);
        octets = octets.subspan(taken);
        poll_events();
        if (!stream_)
            return;
        if (taken > 0 && engine_->answers_waiting() <= answers_max)
            continue;
        auto const moved = write_some();
        if (!stream_)
            return;
        if (octets.empty() || (moved && !waits_to_write_))
            continue;
        unread_.assign(octets.begin(), octets.end());  // the peer has to read first
        return;
    }
}

bool engine_stream::take_unread()
{
    if (!stream_ || unread_.empty() || waits_to_write_
        || engine_->answers_waiting() > answers_max / 2)
        return false;
    auto const before = unread_.size();
    take(std::exchange(unread_, {}));
    wait_to_read();
    return unread_.size() < before;
}

void engine_stream::limit_close()
{
    gone_at_ = std::min(gone_at_, now_ + settings_.close_patience);
}

bool engine_stream::poll_events()
{
    engine::event e;
    auto any = false;
    auto const outermost = !std::exchange(in_events_, true);
    while (engine_->poll_event(e)) {
        any = true;
        if (e.kind == engine::event_kind::connection_closed)
            limit_close();  // whether or not the peer reads what there is to say
        on_event(e);
    }
    if (outermost) {
        in_events_ = false;
        on_events_done();
    }
    return any;
}

void engine_stream::wait_to_read()
{
    if (!stream_ || held_ || !unread_.empty() || std::exchange(waits_to_read_, true))
        return;
    stream_->async_wait(net::readiness::read, shared_from_this());
}

bool engine_stream::write_some()
{
    if (!stream_ || waits_to_write_ || write_shut_)
        return false;
    auto const size =
        std::max<std::size_t>(settings_.output_buffer_size, engine_->outgoing_frame_max());
    auto moved = false;
    if (output_left_.empty() && engine_->wants_write()) {
        if (!output_)
            output_ = io_->borrow(size);
        output_left_ = {output_.get(), engine_->write({output_.get(), size}, now_)};
        if (trace_out_)
            trace(*trace_out_, output_left_);
    }
    if (!output_left_.empty())
        moved = send();
    if (output_left_.empty() && output_)
        io_->give_back(std::move(output_), size);
    if (moved)
        on_written();
    if (stream_ && output_left_.empty() && engine_->output_done())
        finish_output();
    return moved;
}

bool engine_stream::send()
{
    error_code ec;
    auto const n =
        stream_->write_some(boost::asio::buffer(output_left_.data(), output_left_.size()), ec);
    output_left_ = output_left_.subspan(n);
    if (ec == boost::asio::error::would_block || ec == boost::asio::error::try_again
        || (!ec && !output_left_.empty())) {
        waits_to_write_ = true;
        stream_->async_wait(net::readiness::write, shared_from_this());
        return n > 0;
    }
    if (ec)
        lose(make_error_code(sluice::error::connection_lost));
    return true;
}

/// Everything is said. The socket stays until the peer has heard it: closing at once could destroy
/// it on the way.
void engine_stream::finish_output()
{
    if (engine_->state() != engine::connection_state::ended) {  // the peer's close is to come
        limit_close();
        return;
    }
    write_shut_ = true;
    stream_->shutdown_write();
    gone_at_ = now_ + linger;
}

void engine_stream::lose(std::error_code why)
{
    if (!stream_)
        return;
    engine_->transport_closed(why);
    output_left_ = {};
    end_stream();
}

void engine_stream::end_stream()
{
    auto const self = shared_from_this();
    auto const stream = std::move(stream_);
    if (!stream)
        return;
    stream->close();
    gone_at_ = clock_time::max();
    poll_events();
    output_.reset();
    timer_.cancel();
    timer_at_ = clock_time::max();
    on_gone();
}

void engine_stream::arm_timer(clock_time at)
{
    if (!stream_ || at >= timer_at_ || at == clock_time::max())
        return;
    timer_at_ = at;
    timer_.expires_at(std::chrono::steady_clock::time_point{at});
    timer_.async_wait([self = shared_from_this(), at](error_code ec) {
        if (ec || self->timer_at_ != at)
            return;
        self->timer_at_ = clock_time::max();
        self->now_ = read_clock();
        if (self->gone_at_ <= self->now_)
            return self->end_stream();
        self->run();
    });
}

void engine_stream::trace(engine::frame_trace& direction, bytes_view octets)
{
    std::string text;
    direction.feed(octets, text);
    std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace sluice::client::detail
