// Frames out, pulled into the owner's buffer: headers and SASL, open, sessions in turn, close.
// [2.2, 2.4]
#include <sluice/codec/codec.hpp>
#include <sluice/engine/connection.hpp>
#include <sluice/engine/detail/put.hpp>

#include <algorithm>
#include <cassert>
#include <cstring>

namespace sluice::engine {

template <class Performative>
std::size_t connection::put(frame_type type, std::uint16_t channel, Performative const& p,
                            std::span<std::byte> out)
{
    auto const size = detail::put_frame(type, channel, p, out);
    if (size != 0)
        ++counters_.frames_written;
    return size;
}

void connection::queue_header(protocol_id id)
{
    auto const header = protocol_header(id);
    preamble_.insert(preamble_.end(), header.begin(), header.end());
    header_sent_ = true;
    if (id == protocol_id::amqp)
        step(connection_event::send_header);
}

/// An initiator speaks first: with its SASL header, or with its AMQP header and, pipelined, its
/// open. [2.4.2]
void connection::start_output()
{
    output_started_ = true;
    if (options_.listener)
        return;
    queue_header(options_.sasl == sasl_mode::none ? protocol_id::amqp : protocol_id::sasl);
    if (options_.sasl != sasl_mode::none)
        layer_in_ = layer::header;
}

std::size_t connection::write_preamble(std::span<std::byte> out)
{
    auto const n = std::min(out.size(), preamble_.size());
    std::memcpy(out.data(), preamble_.data(), n);
    preamble_.erase(preamble_.begin(), preamble_.begin() + static_cast<std::ptrdiff_t>(n));
    return n;
}

bool connection::open_is_due() const noexcept
{
    if (open_sent_ || !(open_wanted_ || close_wanted_))
        return false;
    return connection_table.allows(state_, connection_event::send_open);
}

bool connection::close_is_due() const noexcept
{
    if (!close_wanted_ || close_sent_ || !open_sent_)
        return false;
    if (close_overtakes_)
        return true;
    return std::none_of(sessions_.begin(), sessions_.end(), [](auto const& s) {
        return s->state_ == session_state::mapped || s->state_ == session_state::begin_sent
               || s->begin_queued_ || s->state_ == session_state::end_received;
    });
}

/// A refused open says no more than it has to.
bytes connection::open_frame() const
{
    std::vector<symbol> const offered(options_.offered_capabilities.begin(),
                                      options_.offered_capabilities.end());
    std::vector<symbol> const desired(options_.desired_capabilities.begin(),
                                      options_.desired_capabilities.end());
    sluice::open o{.container_id = options_.container_id,
                   .max_frame_size = options_.max_frame_size,
                   .channel_max = options_.channel_max};
    if (open_wanted_) {
        o.offered_capabilities = {std::span<symbol const>{offered}};
        o.desired_capabilities = {std::span<symbol const>{desired}};
        o.properties = {options_.properties};
    }
    if (!options_.hostname.empty())
        o.hostname = options_.hostname;
    // Half of our patience, so that a peer that keeps it exactly is never cut off. [2.4.5]
    if (options_.idle_timeout_ms != 0)
        o.idle_time_out = std::max(1u, options_.idle_timeout_ms / 2);
    return detail::whole_frame(0, o);
}

std::size_t connection::write_open(std::span<std::byte> out)
{
    auto const frame = open_frame();
    if (frame.size() > outgoing_frame_max_) {  // refused, by a container with a name beyond measure
        end_output(error::too_large, "our open does not fit a frame of the peer's [2.7.1]");
        return 0;
    }
    auto const size = detail::put_whole(frame, out);
    if (size == 0)
        return 0;
    ++counters_.frames_written;
    open_sent_ = true;
    step(connection_event::send_open);
    // A refused open is answered by open and close, and was never open for the owner.
    if (state_ == connection_state::opened && !close_wanted_)
        emit({.kind = event_kind::connection_opened});
    return size;
}

std::size_t connection::write_close(std::span<std::byte> out)
{
    sluice::close const c{.error = close_error_.view()};
    auto const size = put(frame_type::amqp, 0, c, out);
    if (size == 0)
        return 0;
    close_sent_ = true;
    step(close_error_.empty() ? connection_event::send_close
                              : connection_event::send_close_with_error);
    if (state_ == connection_state::ended)
        finish(make_error_code(error::connection_closed_by_peer));
    return size;
}

bool connection::may_write_sessions() const noexcept
{
    return state_ == connection_state::opened && !close_sent_
           && !(close_wanted_ && close_overtakes_);
}

/// Sessions take turns, a frame each. [rule W6: one that may not write holds nobody back]
std::size_t connection::write_sessions(std::span<std::byte> out)
{
    std::size_t used = 0;
    while (auto* const s = active_.front()) {
        auto const room = out.subspan(used);
        writing_ = s;  // its end may be the last thing it has to say: see free()
        auto const written =
            active_.size() == 1 ? s->queue_.write_many(room) : s->queue_.write_next(room);
        writing_ = nullptr;
        used += written.size;
        if (written.status == write_status::no_room)
            break;
        if (written.status == write_status::idle) {
            active_.remove(*s);
            s->active_ = false;
            if (s->forgotten_ && s->state_ == session_state::ended)
                free(*s);
        } else if (active_.size() > 1) {
            active_.remove(*s);
            active_.push_back(*s);
        }
    }
    return used;
}

std::size_t connection::write(std::span<std::byte> out, time_point now)
{
    if (!output_started_ && !output_ended_)
        start_output();
    std::size_t used = 0;
    if (!preamble_.empty())
        used += write_preamble(out);
    if (output_ended_ || !preamble_.empty())
        return used;
    if (open_is_due())
        used += write_open(out.subspan(used));
    if (may_write_sessions() && !active_.empty())
        used += write_sessions(out.subspan(used));
    if (close_is_due())
        used += write_close(out.subspan(used));
    if (heartbeat_due_ && used == 0 && open_sent_ && !close_sent_
        && out.size() >= frame_header_size) {
        write_frame_header(out.data(), frame_header_size, frame_type::amqp, 0);
        ++counters_.frames_written;
        used = frame_header_size;
    }
    if (must_write_first_)
        must_write_first_ = may_write_sessions() && numbers_are_used_up();
    if (used > 0) {
        heartbeat_due_ = false;
        last_written_ = now;
        counters_.bytes_written += used;
    }
    return used;
}

bool connection::wants_write() const noexcept
{
    if (!output_started_ && !options_.listener)
        return !output_ended_;
    if (!preamble_.empty())
        return true;
    if (output_ended_)
        return false;
    if (open_is_due() || close_is_due() || (heartbeat_due_ && open_sent_ && !close_sent_))
        return true;
    if (!may_write_sessions())
        return false;
    for (auto* s = active_.front(); s; s = session::active_list::after(s))
        if (s->queue_.wants_write())
            return true;
    return false;
}

bool connection::output_done() const noexcept
{
    if (!preamble_.empty())
        return false;
    return output_ended_ || close_sent_ || (state_ == connection_state::ended && !close_wanted_);
}

}  // namespace sluice::engine
