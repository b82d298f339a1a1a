// Octets into frames, frames to where they belong. [2.2, 2.3, 2.4]
#include <sluice/codec/codec.hpp>
#include <sluice/engine/connection.hpp>
#include <sluice/engine/detail/fault_of.hpp>

#include <algorithm>

namespace sluice::engine {

/// Octets that the unit starting here has in all, as far as `start` tells: 8 until its size is
/// known.
std::size_t connection::wanted(bytes_view start) const noexcept
{
    auto const header = layer_in_ == layer::header || layer_in_ == layer::sasl_header;
    if (header || start.size() < frame_header_size)
        return frame_header_size;
    return read_frame_header(start.data()).size;
}

/// A listener holds its peers to the size that SASL frames may have; what servers say may be
/// longer. [5.3.1]
std::uint32_t connection::frame_size_limit() const noexcept
{
    return layer_in_ == layer::sasl && options_.listener ? frame_size_min_max
                                                         : options_.max_frame_size;
}

/// The usual case, and within it what comes most: a transfer that lies whole in the input goes
/// straight to its session.
inline std::size_t connection::take(bytes_view in)
{
    constexpr std::size_t shortest = frame_header_size + 4;
    if (state_ != connection_state::opened || reported_ || in.size() < shortest) [[unlikely]]
        return take_any(in);
    auto const h = read_frame_header(in.data());
    auto const* const body = in.data() + frame_header_size;
    auto const is_transfer =
        body[0] == std::byte{0x00} && body[1] == std::byte{0x53} && body[2] == std::byte{0x14};
    auto const plain = h.data_offset == 2 && h.type == 0;
    auto const whole =
        h.size >= shortest && h.size <= in.size() && h.size <= options_.max_frame_size;
    auto* const s = find_remote(h.channel);
    if (!is_transfer || !plain || !whole || !s)
        return take_any(in);
    ++counters_.frames_received;
    if (s->takes_frames())
        s->on_transfer({body, h.size - frame_header_size});
    return h.size;
}

std::size_t connection::receive(bytes_view in, time_point now)
{
    if (!clock_started_)
        std::ignore = tick(now);
    if (!output_started_)
        start_output();
    last_received_ = now;
    std::size_t taken = 0;
    auto const between = options_.writes_between;
    while (taken < in.size() && events_.size() < options_.events_max && !(between && must_wait()))
        taken += partial_.empty() ? take(in.subspan(taken)) : take_partial(in.subspan(taken));
    counters_.bytes_received += taken;
    return taken;
}

/// Whole frames lie in the input and are used where they lie; the start of one is kept.
std::size_t connection::take_any(bytes_view in)
{
    if (state_ == connection_state::ended || output_ended_)
        return in.size();  // nothing is said any more
    auto const size = wanted(in);
    if (in.size() >= frame_header_size && size < frame_header_size) {
        fail(error::frame_too_small, condition::framing_error,
             "frame of " + std::to_string(size) + " octets; the header alone has 8 [2.3.1]");
        return in.size();
    }
    if (in.size() >= frame_header_size && size > frame_size_limit()) {
        fail(error::frame_too_large, condition::framing_error,
             "frame of " + std::to_string(size) + " octets; max-frame-size is "
                 + std::to_string(frame_size_limit()) + " [2.7.1, 5.3.1]");
        return in.size();
    }
    if (in.size() < size) {
        partial_.assign(in.begin(), in.end());
        return in.size();
    }
    on_octets(in.first(size));
    return size;
}

/// The rest of a unit that came in pieces. Its size is checked before more than a header is kept.
std::size_t connection::take_partial(bytes_view in)
{
    if (state_ == connection_state::ended || output_ended_)
        return in.size();
    auto const had = partial_.size();
    auto const fill = [&](std::size_t size) {
        auto const missing = size > partial_.size() ? size - partial_.size() : 0;
        auto const n = std::min(missing, in.size() - (partial_.size() - had));
        auto const from = in.begin() + static_cast<std::ptrdiff_t>(partial_.size() - had);
        partial_.insert(partial_.end(), from, from + static_cast<std::ptrdiff_t>(n));
    };
    fill(frame_header_size);
    if (partial_.size() < frame_header_size)
        return in.size();
    auto const size = wanted(partial_);
    if (size >= frame_header_size && size <= frame_size_limit())
        fill(size);
    auto const used = partial_.size() - had;
    if (partial_.size() < size && size <= frame_size_limit())
        return used;
    auto whole = std::move(partial_);
    partial_.clear();
    take_any(whole);
    whole.clear();
    if (partial_.empty())
        partial_ = std::move(whole);  // keeps its capacity
    return used;
}

void connection::on_octets(bytes_view whole)
{
    if (layer_in_ == layer::header || layer_in_ == layer::sasl_header)
        return on_protocol_header(whole);
    on_frame(whole);
}

void connection::refuse_header(std::string text, sluice::error code)
{
    // "…sends the protocol header that it supports and closes" [2.2]
    auto const after_sasl = layer_in_ == layer::sasl_header;
    if (options_.listener && (!header_sent_ || after_sasl))
        queue_header(options_.sasl == sasl_mode::none || after_sasl ? protocol_id::amqp
                                                                    : protocol_id::sasl);
    error_ = {.condition = condition::framing_error, .description = std::move(text), .info = {}};
    state_ = connection_state::ended;
    finish(make_error_code(code));
}

void connection::on_protocol_header(bytes_view header)
{
    if (same_bytes(header, protocol_header(protocol_id::sasl)) && layer_in_ == layer::header)
        return on_sasl_header();
    if (same_bytes(header, protocol_header(protocol_id::amqp)))
        return on_amqp_header();
    static constexpr char digits[] = "0123456789abcdef";
    std::string hex;
    for (auto const b : header) {
        hex += digits[std::to_integer<unsigned>(b) >> 4];
        hex += digits[std::to_integer<unsigned>(b) & 15];
    }
    refuse_header("the peer's first octets are " + hex
                  + (hex.starts_with("48545450") ? " (HTTP; is the port for ws:// or wss://?)" : "")
                  + ", no protocol header of AMQP 1.0 [2.2]");
}

void connection::on_sasl_header()
{
    if (options_.sasl == sasl_mode::none)
        return refuse_header("the peer wants a SASL layer, and we have none [5.3.1]",
                             options_.listener ? error::invalid_protocol_header
                                               : error::sasl_required);
    layer_in_ = layer::sasl;
    if (!options_.listener) {
        sasl_ = sasl_step::wait_mechanisms;
        return;
    }
    queue_header(protocol_id::sasl);
    std::vector<symbol> offered(sasl_offer_.begin(), sasl_offer_.end());
    queue_sasl(
        sluice::sasl_mechanisms{.sasl_server_mechanisms = {std::span<symbol const>{offered}}});
    sasl_ = sasl_step::wait_init;
}

void connection::on_amqp_header()
{
    auto const without_sasl = sasl_ == sasl_step::none;
    if (without_sasl && options_.sasl == sasl_mode::required && options_.listener)
        return refuse_header(
            "the peer speaks without a SASL layer, which is required here [5.3.1]");
    if (without_sasl && options_.sasl != sasl_mode::none && !options_.listener)
        return refuse_header(
            "the peer answers the SASL header with one of AMQP: it has no SASL layer [5.3.1]");
    layer_in_ = layer::amqp;
    step(connection_event::receive_header);
    if (options_.listener)
        queue_header(protocol_id::amqp);
}

void connection::on_frame(bytes_view frame)
{
    ++counters_.frames_received;
    auto const h = read_frame_header(frame.data());
    auto const body_at = std::size_t{h.data_offset} * 4;
    if (body_at < frame_header_size || body_at > frame.size())
        return fail(error::frame_too_small, condition::framing_error,
                    "data offset " + std::to_string(h.data_offset) + " in a frame of "
                        + std::to_string(frame.size()) + " octets [2.3.1]");
    auto const body = frame.subspan(body_at);
    auto const expected = layer_in_ == layer::sasl ? frame_type::sasl : frame_type::amqp;
    if (h.type != static_cast<std::uint8_t>(expected))
        return fail(error::unknown_frame_type, condition::framing_error,
                    "frame of type " + std::to_string(h.type) + "; expected "
                        + (expected == frame_type::sasl ? "1, SASL" : "0, AMQP") + " [2.3.1]");
    if (layer_in_ == layer::sasl)
        return on_sasl_frame(body);
    if (body.empty())
        return;  // a heartbeat [2.4.5]
    on_amqp_frame(h.channel, body);
}

void connection::on_amqp_frame(std::uint16_t channel, bytes_view body)
{
    auto const descriptor = peek_descriptor(body);
    if (descriptor == 0x18)
        return on_close(body);
    if (close_sent_ || reported_)
        return;  // dropped until the peer's close [2.4.6]
    if (descriptor == 0x10)
        return on_open(body);
    if (descriptor < 0x11 || descriptor > 0x17)
        return fail(error::invalid_descriptor, condition::decode_error,
                    descriptor == 0 ? "frame body without a descriptor [2.3.2]"
                                    : "descriptor " + std::to_string(descriptor)
                                          + " names no performative [2.7]");
    if (remote_bytes_.empty())
        return fail(error::frame_out_of_state, condition::illegal_state,
                    "performative with descriptor " + std::to_string(descriptor)
                        + " before open [2.4.1]");
    if (descriptor == 0x11)
        return on_begin(channel, body);
    auto* const s = find_remote(channel);
    if (!s)
        return fail(error::frame_out_of_state, condition::illegal_state,
                    "performative with descriptor " + std::to_string(descriptor) + " on channel "
                        + std::to_string(channel) + ", which has no session [2.5.1]");
    s->on_frame(descriptor, body);
}

void connection::on_open(bytes_view body)
{
    if (!remote_bytes_.empty())
        return fail(error::frame_out_of_state, condition::illegal_state, "a second open [2.4.1]");
    remote_bytes_.assign(body.begin(), body.end());
    if (auto text = detail::fault_of(remote_bytes_, remote_); !text.empty())
        return fail(error::invalid_value, condition::decode_error, std::move(text));
    if (remote_.max_frame_size < frame_size_min_max)
        return fail(error::invalid_value, condition::invalid_field,
                    "open.max-frame-size is " + std::to_string(remote_.max_frame_size)
                        + "; at least 512 is required [2.7.1]");
    outgoing_frame_max_ = std::min(remote_.max_frame_size, options_.outgoing_frame_max);
    channel_max_ = std::min(options_.channel_max, remote_.channel_max);
    // Half of what the peer gives, so that a late timer does no harm. [2.4.5]
    auto const idle = remote_.idle_time_out.value_or(0);
    heartbeat_ms_ = idle == 0 ? 0 : std::max(1u, idle / 2);
    if (!step(connection_event::receive_open))
        return fail(error::frame_out_of_state, condition::illegal_state,
                    "open out of turn [2.4.6]");
    if (state_ == connection_state::opened)
        emit({.kind = event_kind::connection_opened});
    else if (state_ == connection_state::open_received && !open_wanted_)
        emit({.kind = event_kind::connection_requested});
    // Sessions that were begun beyond the channel-max that is known only now end unsent. [2.7.1]
    for (std::size_t i = local_channels_.size(); i-- > std::size_t{channel_max_} + 1;)
        if (auto* const s = local_channels_[i])
            s->on_connection_lost(make_error_code(error::channel_max_exceeded), {});
    for (std::size_t i = sessions_.size(); i-- > 0;) sessions_[i]->drop_too_large();
}

void connection::on_begin(std::uint16_t channel, bytes_view body)
{
    sluice::begin b;
    if (auto text = detail::fault_of(body, b); !text.empty())
        return fail(error::invalid_value, condition::decode_error, std::move(text));
    if (channel > options_.channel_max)
        return fail(error::channel_max_exceeded, condition::framing_error,
                    "begin on channel " + std::to_string(channel) + "; channel-max is "
                        + std::to_string(options_.channel_max) + " [2.7.1]");
    if (find_remote(channel))
        return fail(error::frame_out_of_state, condition::illegal_state,
                    "begin on channel " + std::to_string(channel)
                        + ", which has a session [2.5.1]");
    session* s = nullptr;
    if (b.remote_channel) {
        s = *b.remote_channel < local_channels_.size() ? local_channels_[*b.remote_channel]
                                                       : nullptr;
        if (!s || s->has_remote_channel_ || s->state_ == session_state::unmapped)
            return fail(error::frame_out_of_state, condition::invalid_field,
                        "begin with remote-channel " + std::to_string(*b.remote_channel)
                            + ", on which no begin of ours waits for an answer [2.7.2]");
    } else {
        s = &keep(std::unique_ptr<session>{new session{*this, {}}});
    }
    if (channel >= remote_channels_.size())
        remote_channels_.resize(std::size_t{channel} + 1);
    remote_channels_[channel] = s;
    s->remote_channel_ = channel;
    s->has_remote_channel_ = true;
    s->on_begin(b, body);
    pause_if_numbers_are_used_up(nullptr);
    if (!b.remote_channel)
        emit({.kind = event_kind::session_requested, .session = s});
}

void connection::on_close(bytes_view body)
{
    sluice::close c;
    if (auto text = detail::fault_of(body, c); !text.empty())
        return fail(error::invalid_value, condition::decode_error, std::move(text));
    if (options_.listener && remote_bytes_.empty() && !reported_)
        return fail(error::frame_out_of_state, condition::illegal_state,
                    "close before open [2.4.6]");
    if (c.error)
        error_ = amqp_error::from(c.error);
    closed_by_peer_ = !close_sent_;
    auto const in_state = step(connection_event::receive_close);
    if (!in_state && remote_bytes_.empty())
        return fail(error::frame_out_of_state, condition::illegal_state,
                    "close before open [2.4.6]");
    if (!in_state)
        return;  // a second close
    if (state_ == connection_state::ended) {
        return finish(c.error ? make_error_code(error::connection_closed_by_peer)
                              : std::error_code{});
    }
    close_wanted_ = true;
    close_overtakes_ = true;
    close_error_ = {};
    finish(make_error_code(error::connection_closed_by_peer));
}

}  // namespace sluice::engine
