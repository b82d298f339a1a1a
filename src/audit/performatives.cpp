// From an AMQP frame to what its performative means; open and close. [2.4]
#include "connection_audit.hpp"

#include <sluice/codec/reader.hpp>

#include <algorithm>

namespace sluice::audit::detail {
namespace {

enum descriptor : std::uint64_t {
    open_code = 0x10,
    begin_code,
    attach_code,
    flow_code,
    transfer_code,
    disposition_code,
    detach_code,
    end_code,
    close_code,
};

/// As peek_descriptor() does, but at once for the form that everybody writes.
std::uint64_t descriptor_of(bytes_view body) noexcept
{
    if (body.size() >= 3 && body[0] == std::byte{0} && body[1] == std::byte{0x53}) [[likely]]
        return std::to_integer<std::uint64_t>(body[2]);
    return body.empty() ? 0 : peek_descriptor(body);
}

constexpr std::array<std::string_view, 9> names{
    "open", "begin", "attach", "flow", "transfer", "disposition", "detach", "end", "close"};

}  // namespace

void connection_audit::on_amqp_frame(direction d, unit const& u)
{
    auto& s = of(d);
    auto const channel = u.head.channel;
    report_.at.channel = channel;
    auto const code = descriptor_of(u.octets);
    bool const known = code - open_code < names.size();
    if (known) [[likely]]
        report_.at.performative = names[code - open_code];
    if ((!s.opened || s.closed) && !check_phase(d, code))
        return;
    if (u.head.size > s.unsuspected) [[unlikely]]
        check_size(d, u);
    if (code == transfer_code) [[likely]]
        return on_transfer_frame(d, u);
    if (code == begin_code || code == 0)
        check_channel(d, channel);
    if (known)
        return on_body(d, u, code);
    if (u.octets.empty() && !u.cut)
        return;  // an empty frame keeps the connection alive [2.4.5]
    report_.report(rule::decode_error, "a performative's descriptor, 16 to 24",
                   hex(u.octets.first(std::min<std::size_t>(u.octets.size(), 8))));
    loose_ = true;
}

/// @returns whether the frame is to be looked at.
bool connection_audit::check_phase(direction d, std::uint64_t code)
{
    auto& s = of(d);
    if (s.closed) {
        if (!s.reported_after_close)
            report_.report(rule::frame_after_close, "nothing after close",
                           "frame " + text(report_.at.frame),
                           "close was frame " + text(s.close_frame));
        s.reported_after_close = true;
        return false;
    }
    if (code == open_code)
        return true;
    if (!s.learned)
        report_.report(rule::frame_before_open, "open",
                       report_.at.performative.empty() ? "another frame"
                                                       : std::string{report_.at.performative});
    s.opened = true;  // once is enough
    s.learned = true;
    return true;
}

void connection_audit::check_size(direction d, unit const& u)
{
    auto const& taker = of(opposite(d));
    auto& s = of(d);
    if (taker.frame_size_max != 0) {
        if (u.head.size > taker.frame_size_max)
            report_.report(rule::frame_size, "at most " + text(taker.frame_size_max),
                           text(u.head.size), "octets, the other side's max-frame-size");
        return;
    }
    if (u.head.size <= frame_size_min_max || taker.learned || taker.opened)
        return;
    if (s.frame_size_sent == 0)
        report_.report(rule::frame_size_early, "at most 512", text(u.head.size),
                       "octets, before the other side's open");
    s.frame_size_sent = std::max(s.frame_size_sent, u.head.size);
}

void connection_audit::check_channel(direction d, channel_number channel)
{
    auto const& taker = of(opposite(d));
    if (!taker.opened) {
        of(d).channel_used = std::max(of(d).channel_used, channel);
    } else if (channel > taker.channel_max) [[unlikely]] {
        report_.report(rule::channel_max, "at most " + text(std::uint32_t{taker.channel_max}),
                       text(std::uint32_t{channel}), "the other side's channel-max");
    }
}

/// A performative that cannot be read leaves a gap in what is known, so that less is checked behind
/// it.
void connection_audit::unreadable(direction d, unit const& u, decode_fault const& fault)
{
    if (u.cut)
        ++report_.totals.directions[index(d)].unchecked;
    else
        report_.report(rule::decode_error, "a well-formed " + std::string{report_.at.performative},
                       fault.message());
    auto const& channels = of(d).channels;
    auto* const s = u.head.channel < channels.size() ? channels[u.head.channel].current : nullptr;
    if (s != nullptr)
        s->loose = true;
    if (report_.at.performative == "begin" || report_.at.performative == "end")
        loose_ = true;
}

/// A delivery state is decoded as a value of any type, so that it is looked at here. [3.4]
void connection_audit::check_state(raw_value state)
{
    if (state.empty() || same_bytes(state.encoded, encoded_accepted)) [[likely]]
        return;
    delivery_state read;
    if (auto const e = decode(state, read))
        report_.report(rule::decode_error, "a well-formed delivery state", e.message());
}

template <class T>
bool connection_audit::read(direction d, unit const& u, T& out, std::size_t* payload)
{
    auto in = u.octets;
    if (decode(in, out)) [[unlikely]] {
        decode_fault fault;
        in = u.octets;
        if (decode(in, out, &fault))
            unreadable(d, u, fault);
        return false;
    }
    if (payload != nullptr) {
        *payload = in.size() + (u.cut ? u.head.size - frame_header_size - u.octets.size() : 0);
    } else if (!in.empty() || u.cut) [[unlikely]] {
        report_.report(rule::unexpected_payload, "0 octets behind it",
                       text(std::uint64_t{in.size()}) + (u.cut ? " at least" : ""));
    }
    return true;
}

void connection_audit::on_body(direction d, unit const& u, std::uint64_t code)
{
    auto const channel = u.head.channel;
    if (code == open_code) {
        open o;
        if (read(d, u, o))
            on_open(d, o);
        else
            of(d).opened = of(d).learned = true;
        return;
    }
    if (code == close_code) {
        close c;
        read(d, u, c);
        return on_close(d);
    }
    if (code == begin_code) {
        begin b;
        if (read(d, u, b))
            on_begin(d, channel, b);
        return;
    }
    auto* const s = find_session(d, channel);
    if (s == nullptr)
        return;
    switch (code) {
    case flow_code: {
        flow f;
        if (read(d, u, f))
            on_flow(d, *s, f);
        return;
    }
    case disposition_code: {
        disposition f;
        if (read(d, u, f))
            on_disposition(d, *s, f);
        return;
    }
    case attach_code: {
        attach a;
        if (read(d, u, a))
            on_attach(d, *s, a);
        return;
    }
    case detach_code: {
        detach f;
        if (read(d, u, f))
            on_detach(d, *s, f);
        return;
    }
    default: {
        end e;
        read(d, u, e);
        return on_end(d, channel);
    }
    }
}

void connection_audit::on_transfer_frame(direction d, unit const& u)
{
    auto* const s = find_session(d, u.head.channel);
    if (s == nullptr)
        return;
    std::size_t payload = 0;
    if (read(d, u, transfer_, &payload)) [[likely]]
        return on_transfer(d, *s, transfer_, payload);
    count_transfer(d, *s);  // a transfer frame it is all the same
}

void connection_audit::on_open(direction d, open const& o)
{
    auto& s = of(d);
    if (s.opened && !s.learned)
        return report_.report(rule::open_twice, "one open", "a second one");
    if (report_.at.channel != 0)
        report_.report(rule::open_channel, "0", text(std::int64_t{report_.at.channel}));
    if (o.max_frame_size < frame_size_min_max)
        report_.report(rule::open_max_frame_size, "at least 512", text(o.max_frame_size));
    s.opened = true;
    s.learned = false;
    s.frame_size_max = std::max(o.max_frame_size, frame_size_min_max);
    s.channel_max = o.channel_max;
    s.opened_at = report_.now;
    map_reader const properties{o.properties};
    s.who = {printable(o.container_id),
             printable(as_text(properties.find("product")).value_or(std::string_view{})),
             printable(as_text(properties.find("version")).value_or(std::string_view{}))};
    s.idle_us = std::int64_t{o.idle_time_out.value_or(0)} * 1000;
    if (s.idle_us != 0)
        next_check_ =
            std::min(next_check_, report_.now + time_point{s.idle_us} + options_.idle_slack);

    of(opposite(d)).unsuspected = s.frame_size_max;
    // What the other side sent in advance had to conform to this. [2.4.2]
    auto& other = of(opposite(d));
    place const early{.direction = opposite(d),
                      .frame = report_.totals.directions[index(opposite(d))].frames};
    if (other.frame_size_sent > s.frame_size_max)
        report_.report(rule::frame_size, early, "at most " + text(s.frame_size_max),
                       text(other.frame_size_sent), "octets, sent before the other side's open");
    if (other.channel_used > s.channel_max)
        report_.report(rule::channel_max, early, "at most " + text(std::uint32_t{s.channel_max}),
                       text(std::uint32_t{other.channel_used}),
                       "used before the other side's open");
}

void connection_audit::on_close(direction d)
{
    of(d).closed = true;
    of(d).close_frame = report_.at.frame;
}

}  // namespace sluice::audit::detail
