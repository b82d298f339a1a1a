// Octets between the engine and the stream.
#include "client/connection_requests.hpp"

#include <sluice/net/tls.hpp>

namespace sluice::client::detail {
namespace {

constexpr std::chrono::milliseconds linger{
    1'000};  // for the peer to read our close before the socket goes

}  // namespace

void connection_core::on_ready(net::readiness which, error_code ec)
{
    turn_guard const guard{*this};
    (which == net::readiness::read ? waits_to_read_ : waits_to_write_) = false;
    if (stream_ && ec && ec != boost::asio::error::operation_aborted) {
        on_stream_end(ec);
        turn();
    } else if (stream_ && !ec) {
        scheduled_.store(true,
                         std::memory_order_seq_cst);  // this turn takes what is pushed from here on
        if (which == net::readiness::read)
            read();
        turn();
    }
}

/// One buffer a turn: who sends without end leaves the thread's other connections theirs.
void connection_core::read()
{
    auto const size = options_.input_buffer_size;
    auto buffer = io_->borrow(size);
    error_code ec;
    auto const n = stream_->read_some(boost::asio::buffer(buffer.get(), size), ec);
    if (n > 0)
        take({buffer.get(), n});
    io_->give_back(std::move(buffer), size);
    if (!stream_)
        return;
    if (ec && ec != boost::asio::error::would_block && ec != boost::asio::error::try_again)
        return on_stream_end(ec);
    wait_to_read();
}

void connection_core::take(bytes_view octets)
{
    now_ = read_clock();
    if (trace_in_)
        trace(*trace_in_, octets);
    watch(true, octets);
    while (!octets.empty()) {
        octets = octets.subspan(engine_->receive(octets, now_));
        poll_events();
    }
    act_on_audit();
}

/// Each octet both ways, in the order in which the engine has them: the auditor of debug builds.
void connection_core::watch(bool incoming, bytes_view octets)
{
    if (audit_watch::mode_of(options_) == audit_mode::off)
        return;
    if (!watch_)
        watch_ = std::make_unique<audit_watch>(options_, server_ != nullptr, where(),
                                               completions_->get_executor(), audit_tally_);
    watch_->feed(incoming, octets, now_);
}

void connection_core::act_on_audit()
{
    auto text = watch_ ? watch_->take_fatal() : std::string{};
    if (text.empty() || ended())
        return;
    begin_close({.condition = std::string{condition::internal_error},
                 .description = "audit: " + text,
                 .info = {}},
                true);
    failure_code_ = make_error_code(sluice::error::audit_violation);
    failure_text_ = "the auditor of the connection to " + where() + " found: " + text;
}

failure_ptr connection_core::why_closing() const
{
    return phase() == detail::phase::closing && failure_code_
               ? make_failure(failure_code_, failure_text_)
               : nullptr;
}

void connection_core::on_stream_end(error_code ec)
{
    if (ended())
        return end_stream();
    auto const silent = ec == boost::asio::error::eof && !server_ && engine_
                        && engine_->counters().bytes_received == 0;
    auto const text = silent && !url().tls
                          ? "the peer closed the transport before it said anything; does it want "
                            "TLS (amqps://) on this port?"
                      : ec == boost::asio::error::eof ? "the peer closed the transport"
                                                      : ec.message();
    lose(net::why_lost(ec), "connection to " + where() + " lost: " + text);
    poll_events();  // before the calls that wait: they are for the next engine, if there is one
}

void connection_core::wait_to_read()
{
    if (!stream_ || std::exchange(waits_to_read_, true))
        return;
    stream_->async_wait(net::readiness::read, shared_from_this());
}

/// Fills the buffer and empties it into the stream. @returns true if octets moved.
bool connection_core::write_some()
{
    if (!stream_ || waits_to_write_ || write_shut_)
        return false;
    auto const size =
        std::max<std::size_t>(options_.output_buffer_size, engine_->outgoing_frame_max());
    auto moved = false;
    if (output_left_.empty() && engine_->wants_write()) {
        if (!output_)
            output_ = io_->borrow(size);
        output_left_ = {output_.get(), engine_->write({output_.get(), size}, now_)};
        if (trace_out_)
            trace(*trace_out_, output_left_);
        watch(false, output_left_);
        act_on_audit();
    }
    if (!output_left_.empty())
        moved = send();
    if (!stream_)
        return moved;
    if (output_left_.empty() && output_)
        io_->give_back(std::move(output_), size);
    if (output_left_.empty() && ended() && engine_->output_done())
        finish_output();
    return moved;
}

bool connection_core::send()
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
    if (ec) {
        output_left_ = {};
        if (ended()) {
            end_stream();
        } else {
            lose(net::why_lost(ec),
                 "connection to " + where() + " lost while writing: " + ec.message());
            poll_events();
        }
    }
    return true;
}

/// Everything is said. The socket stays until the peer has heard it: closing at once could destroy
/// it on the way.
void connection_core::finish_output()
{
    write_shut_ = true;
    stream_->shutdown_write();
    deadlines_.arm(lingering_, linger, now_);
}

void connection_core::end_stream() noexcept
{
    deadlines_.disarm(lingering_);
    if (auto const stream = std::move(stream_))
        stream->close();
    timer_.cancel();
    timer_at_ = clock_time::max();
    output_left_ = {};
    output_.reset();
}

/// The transport is no use any more: the engine ends everything, and its events tell everybody.
void connection_core::lose(std::error_code code, std::string text)
{
    if (failure_text_.empty()) {
        failure_text_ = std::move(text);
        failure_code_ = code;
    }
    if (engine_)
        engine_->transport_closed(code);
    end_stream();
}

}  // namespace sluice::client::detail
