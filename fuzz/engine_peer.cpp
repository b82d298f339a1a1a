// Any bytes, in any pieces, into an engine of either role whose owner answers everything: no crash,
// no growth without limit, and every event loop ends. What it writes back must be frames.
#include "support/engine_pair.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace sluice;
namespace e = sluice::engine;

void check(bool ok, char const* what)
{
    if (ok)
        return;
    std::fprintf(stderr, "engine_peer: %s\n", what);
    std::abort();
}

/// Accepts, sends, settles and forgets, as a user would.
void answer(e::connection& c, e::event const& ev)
{
    static bytes const body(700, std::byte{0x61});
    switch (ev.kind) {
    case e::event_kind::sasl_mechanisms:
        std::ignore = c.sasl_init("ANONYMOUS", std::nullopt);
        break;
    case e::event_kind::sasl_init:
        std::ignore = c.sasl_bytes().size() % 2 == 1 ? c.sasl_challenge(c.sasl_bytes())
                                                     : c.sasl_outcome(sasl_code::ok);
        break;
    case e::event_kind::sasl_response: std::ignore = c.sasl_outcome(sasl_code::ok); break;
    case e::event_kind::sasl_challenge: std::ignore = c.sasl_response({}); break;
    case e::event_kind::connection_requested: std::ignore = c.open(); break;
    case e::event_kind::session_requested:
        std::ignore = ev.session->begin({.incoming_window = 8});
        break;
    case e::event_kind::link_requested:
        if (ev.link->name().size() % 5 == 4) {
            std::ignore = ev.link->refuse(
                {.condition = condition::not_found, .description = "no", .info = {}});
        } else {
            std::ignore = ev.link->attach({.source = test::encoded_source("s"),
                                           .target = test::encoded_target("t"),
                                           .rcv_settle_mode = receiver_settle_mode::second,
                                           .max_message_size = 4096,
                                           .credit_window = 5,
                                           .streamed = ev.link->name().size() % 2 == 1});
        }
        break;
    case e::event_kind::link_attached:
        if (ev.link->role() == role::sender)
            for (int i = 0; i < 3; ++i)
                std::ignore =
                    static_cast<e::sender*>(ev.link)->send({.head = body}, {.settled = i == 0});
        break;
    case e::event_kind::delivery:
        if (ev.incoming->complete())
            std::ignore = ev.incoming->link().settle(*ev.incoming);
        break;
    case e::event_kind::delivery_part:
        ev.incoming->link().consume(*ev.incoming, ev.incoming->body().size());
        if (ev.incoming->complete())
            std::ignore = ev.incoming->link().settle(*ev.incoming);
        break;
    case e::event_kind::delivery_aborted:
        std::ignore = ev.incoming->link().settle(*ev.incoming);
        break;
    case e::event_kind::delivery_settled:
        if (!ev.final)
            std::ignore = ev.incoming->link().settle(*ev.incoming);
        break;
    case e::event_kind::link_detached: ev.session->forget(*ev.link); break;
    case e::event_kind::session_ended: c.forget(*ev.session); break;
    default: break;
    }
}

void write_all(e::connection& c, e::time_point now)
{
    static std::vector<std::byte> out(70'000);
    for (std::size_t rounds = 0;; ++rounds) {
        check(rounds < 10'000, "write() never ends");
        auto const n = c.write(out, now);
        if (n == 0)
            break;
        // Whole frames, or protocol headers, and nothing else.
        for (std::size_t at = 0; at < n;) {
            check(n - at >= 8, "a torn frame was written");
            if (out[at] == std::byte{'A'}) {
                at += 8;
                continue;
            }
            auto const h = read_frame_header(out.data() + at);
            check(h.size >= 8 && h.size <= n - at, "a frame with a wrong size was written");
            at += h.size;
        }
    }
    check(!c.wants_write(), "wants_write() after write() answered 0");
}

/// Records of kind, channel, length and the fields' octets become frames: so that most inputs get
/// past the framing. An open and a begin that are in order go first.
void frame_records(bytes_view in, bytes& out)
{
    auto const frame = [&](std::uint16_t channel, bytes_view body) {
        auto const at = out.size();
        out.resize(at + frame_header_size);
        out.insert(out.end(), body.begin(), body.end());
        write_frame_header(out.data() + at,
                           static_cast<std::uint32_t>(body.size() + frame_header_size),
                           frame_type::amqp, channel);
    };
    bytes body;
    append(body, open{.container_id = "fuzz", .max_frame_size = 512});
    frame(0, body);
    body.clear();
    begin b{
        .next_outgoing_id = transfer_id{4294967290u}, .incoming_window = 4, .outgoing_window = 4};
    if (in.size() % 2 == 0)
        b.remote_channel = 0;
    append(body, b);
    frame(0, body);
    while (in.size() >= 3) {
        auto const kind = std::to_integer<unsigned>(in[0]) % 9 + 0x10;
        auto const channel = static_cast<std::uint16_t>(std::to_integer<unsigned>(in[1]) % 3);
        auto const length = std::min<std::size_t>(std::to_integer<unsigned>(in[2]), in.size() - 3);
        body.assign({std::byte{0}, std::byte{0x53}, static_cast<std::byte>(kind)});
        body.insert(body.end(), in.begin() + 3,
                    in.begin() + 3 + static_cast<std::ptrdiff_t>(length));
        frame(channel, body);
        in = in.subspan(3 + length);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    if (size < 2)
        return 0;
    auto const flags = data[0];
    auto const cut = std::size_t{data[1]} + 1;
    e::connection_options o;
    o.listener = (flags & 1) != 0;
    o.sasl = (flags & 2) == 0 ? e::sasl_mode::none
             : o.listener     ? e::sasl_mode::accepted
                              : e::sasl_mode::required;
    o.events_max = (flags & 4) != 0 ? 1 : 64;
    o.max_frame_size = 1024;
    o.channel_max = 7;
    e::connection c{o};
    if (!o.listener) {
        std::ignore = c.open();
        auto const s = c.begin(
            {.next_outgoing_id = transfer_id{4294967290u},
             .policy = (flags & 8) != 0 ? e::flow_policy::strict : e::flow_policy::tolerant});
        std::ignore = (*s)->attach_sender({.name = "S",
                                           .source = test::encoded_source("a"),
                                           .target = test::encoded_target("b")});
        std::ignore = (*s)->attach_receiver({.name = "R",
                                             .source = test::encoded_source("a"),
                                             .target = test::encoded_target("b"),
                                             .credit_window = 4});
    }
    bytes_view in{reinterpret_cast<std::byte const*>(data + 2), size - 2};
    bytes input;
    if ((flags & 16) != 0) {  // straight past the headers, where most of the code is
        auto const header = protocol_header(protocol_id::amqp);
        input.assign(header.begin(), header.end());
    }
    if ((flags & 64) != 0)
        frame_records(in, input);
    else
        input.insert(input.end(), in.begin(), in.end());
    e::time_point now{0};
    bytes_view left{input};
    while (!left.empty()) {
        auto const piece = left.first(std::min(cut, left.size()));
        auto const taken = c.receive(piece, now);
        left = left.subspan(taken);
        std::size_t events = 0;
        for (e::event ev; c.poll_event(ev); ++events) {
            check(events < 100'000, "events never end");
            answer(c, ev);
        }
        check(taken > 0 || events > 0, "receive() neither takes nor says why");
        write_all(c, now);
        now += e::time_point{1};
        std::ignore = c.tick(now);
    }
    if ((flags & 32) != 0)
        std::ignore = c.close();
    write_all(c, now);
    c.transport_closed();
    for (e::event ev; c.poll_event(ev);) answer(c, ev);
    write_all(c, now);
    return 0;
}
