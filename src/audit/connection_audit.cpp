// Protocol headers, phases, frames of the wrong size or type: what stands before a performative.
#include "connection_audit.hpp"

#include <algorithm>

namespace sluice::audit::detail {

connection_audit::connection_audit(options const& o)
    : options_{o},
      report_{o.findings_max},
      budget_{o.unsettled_max},
      sides_{side{o.frame_bytes_max}, side{o.frame_bytes_max}}
{
    if (!o.mid_stream)
        return;
    sasl_.learn();
    for (auto& s : sides_) {
        s.frames.expects = framer::mode::seeking;
        s.learned = true;
    }
}

void connection_audit::feed(direction d, bytes_view in, time_point now)
{
    if (finished_)
        return;
    report_.now = now;
    if (now >= next_check_)
        check_time();
    auto& s = of(d);
    s.last_bytes = now;
    s.idle_reported = false;
    report_.totals.directions[index(d)].bytes += in.size();
    unit u;
    for (;;) {
        if (s.is == side::silent && !in.empty()) {
            report_.at = {.direction = d, .offset = s.frames.total()};
            report_.report(rule::header_mismatch, "the connection closed behind the header",
                           "more octets");
            stop();
        }
        if (!s.frames.next(in, u))
            break;
        on_unit(d, u);
    }
}

void connection_audit::lost(direction d, time_point now)
{
    if (finished_ || !following_)
        return;
    report_.now = now;
    auto& s = of(d);
    s.frames.seek_again();
    s.learned = true;
    s.opened = true;
    sasl_.learn();
    loose_ = true;  // channels may have been mapped and unmapped meanwhile
    for (auto& any : sides_) any.channels.clear();
    while (!sessions_.empty()) drop_session(sessions_.back().get());
}

void connection_audit::advance(time_point now)
{
    if (finished_)
        return;
    report_.now = now;
    if (now >= next_check_)
        check_time();
}

/// What follows cannot be understood: another protocol, TLS, or no frames at all.
void connection_audit::stop()
{
    following_ = false;
    for (auto& s : sides_) {
        s.is = side::opaque;
        s.frames.expects = framer::mode::ignore;
    }
}

void connection_audit::finish(ending how)
{
    if (finished_)
        return;
    if (following_ && how == ending::complete) {
        for (auto const d : {direction::from_client, direction::from_server}) {
            auto const& s = of(d);
            if (s.frames.pending() == 0 || s.learned || s.closed)
                continue;
            report_.at = {.direction = d,
                          .frame = report_.totals.directions[index(d)].frames + 1,
                          .offset = s.frames.total() - s.frames.pending()};
            report_.report(rule::truncated_stream, "whole frames",
                           text(s.frames.pending()) + " octets of one");
        }
        check_answers(true);
    }
    finished_ = true;
}

void connection_audit::on_unit(direction d, unit const& u)
{
    switch (u.is) {
    case unit::header: return on_header(d, u);
    case unit::frame: return on_frame(d, u);
    case unit::malformed: return on_malformed(d, u);
    }
}

void connection_audit::on_malformed(direction d, unit const& u)
{
    if (of(d).learned) {  // the start of a frame was a guess
        ++report_.totals.directions[index(d)].unchecked;
        return of(d).frames.seek_again();
    }
    report_.at = {.direction = d,
                  .frame = report_.totals.directions[index(d)].frames + 1,
                  .offset = u.offset};
    report_.report(rule::data_offset, "a frame size of at least 8", text(u.head.size));
    stop();
}

void connection_audit::on_header(direction d, unit const& u)
{
    auto& s = of(d);
    auto const& other = of(opposite(d));
    report_.at = {
        .direction = d, .frame = report_.totals.directions[index(d)].frames, .offset = u.offset};
    auto const amqp = protocol_header(protocol_id::amqp);
    auto const id = std::to_integer<unsigned>(u.octets[4]);
    bool const known = std::equal(amqp.begin(), amqp.begin() + 4, u.octets.begin());
    bool const version_1 = std::equal(amqp.begin() + 5, amqp.end(), u.octets.begin() + 5);
    if (!known || (version_1 && id != 0 && id != 2 && id != 3)) {
        report_.report(rule::protocol_header, "'AMQP', protocol id 0, 2 or 3, version 1.0.0",
                       hex(u.octets));
        return stop();
    }
    if (!version_1 || id == 2)
        return stop();  // another version or TLS: nothing to be read

    s.learned = false;  // this side is seen from its start
    if (s.headers++ == 0) {
        s.first_id = static_cast<std::uint8_t>(id);
        if (other.headers != 0 && other.first_id != id) {
            auto& client = of(direction::from_client);
            auto& server = of(direction::from_server);
            client.is = side::opaque;  // what it sent in advance is lost
            client.frames.expects = framer::mode::ignore;
            server.is = side::silent;
            server.frames.expects = framer::mode::ignore;
            return;
        }
    } else if (id != 0 || s.is == side::amqp) {
        report_.report(rule::sasl_order, "the AMQP header after SASL", hex(u.octets));
        return stop();
    }
    if (s.is == side::sasl)
        sasl_.on_amqp_header(report_, d);
    s.is = id == 3 ? side::sasl : side::amqp;
    s.frames.expects = id == 3 ? framer::mode::either : framer::mode::frames;
}

void connection_audit::on_frame(direction d, unit const& u)
{
    auto& s = of(d);
    auto& counted = report_.totals.directions[index(d)];
    auto& at = report_.at;
    at.direction = d;
    at.frame = ++counted.frames;
    at.offset = u.offset;
    at.channel = -1;
    at.handle = -1;
    at.performative = {};
    if (s.is == side::start) {  // the first frame of a recording that starts in the middle
        s.is = u.head.type == 1 ? side::sasl : side::amqp;
        s.frames.expects = u.head.type == 1 ? framer::mode::either : framer::mode::frames;
    }
    auto const type = s.is == side::sasl ? frame_type::sasl : frame_type::amqp;
    if (u.head.type != static_cast<std::uint8_t>(type)) [[unlikely]] {
        if (s.learned)
            return s.frames.seek_again();
        report_.report(rule::frame_type, type == frame_type::sasl ? "1 (SASL)" : "0 (AMQP)",
                       text(std::uint32_t{u.head.type}));
        return;
    }
    if (u.head.data_offset == 2) [[likely]] {
        if (type == frame_type::amqp)
            return on_amqp_frame(d, u);
        return sasl_.on_frame(report_, d, u);
    }
    auto const body_at = std::uint32_t{u.head.data_offset} * 4;
    if (body_at < frame_header_size || body_at > u.head.size) {
        report_.report(rule::data_offset, "2 words at least, " + text(u.head.size / 4) + " at most",
                       text(std::uint32_t{u.head.data_offset}));
        loose_ = true;
        return;
    }
    auto inner = u;  // behind an extended header, which has no meaning yet
    inner.octets =
        u.octets.subspan(std::min<std::size_t>(body_at - frame_header_size, u.octets.size()));
    if (type == frame_type::amqp)
        return on_amqp_frame(d, inner);
    sasl_.on_frame(report_, d, inner);
}

}  // namespace sluice::audit::detail
