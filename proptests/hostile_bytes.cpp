// Octets that were changed, cut, doubled or made up: an engine and an auditor answer with an error
// or take them for what they say, in bounded time and memory, and never write half a frame.
#include "support_steps.hpp"

#include <malloc.h>

namespace sluice::prop {
namespace {

/// Octets that the program holds, as its allocator counts them; a sanitizer's counts nothing.
std::size_t in_use() { return mallinfo2().uordblks; }

/// An end whose user accepts, sends, reads, settles and forgets whatever comes.
class answering_end {
public:
    explicit answering_end(bool listener)
        : engine{{.listener = listener, .max_frame_size = 1200, .channel_max = 9}}
    {
        if (listener)
            return;
        std::ignore = engine.open();
        for (int i = 0; i < 2; ++i)
            if (auto const s = engine.begin())
                for (int k = 0; k < 2; ++k) attach(**s, i * 2 + k + 1);
    }

    e::connection engine;
    std::string objection;
    bool failed = false;  // an error was reported, of whatever

    void receive(bytes_view in)
    {
        for (std::size_t rounds = 0; !in.empty(); ++rounds) {
            if (rounds > 100'000)
                return object("receive() never takes all");
            in = in.subspan(engine.receive(in, now));
            poll();
            write();
        }
    }
    void transport_ends()
    {
        engine.transport_closed();
        poll();
        if (engine.state() != e::connection_state::ended)
            object("the transport is gone, and the connection is not");
        if (!closed_)
            object("no connection_closed after the transport is gone");
    }

private:
    void object(char const* what)
    {
        if (objection.empty())
            objection = what;
    }

    void attach(e::session& s, int n)
    {
        e::link_options o{.name = "L" + std::to_string(n),
                          .source = test::encoded_source("s"),
                          .target = test::encoded_target("t")};
        if (n % 2 == 0)
            std::ignore = s.attach_sender(o);
        else
            std::ignore = s.attach_receiver(o);
    }

    void write()
    {
        for (std::size_t rounds = 0;; ++rounds) {
            if (rounds > 10'000)
                return object("write() never ends");
            auto const n = engine.write(buffer_, now);
            for (std::size_t at = 0; at < n;) {
                auto const is_header = buffer_[at] == std::byte{'A'};
                auto const size = is_header ? 8u : read_frame_header(buffer_.data() + at).size;
                if (size < 8 || size > n - at)
                    return object("half a frame was written");
                at += size;
            }
            poll();
            if (n == 0)
                return;
        }
    }

    void poll()
    {
        std::size_t rounds = 0;
        for (e::event ev; engine.poll_event(ev); ++rounds) {
            if (rounds > 100'000)
                return object("events never end");
            failed = failed || (ev.code && ev.kind >= e::event_kind::connection_closed);
            if (ev.code && ev.code.message().empty())
                object("an error without a text");
            on_event(ev);
        }
    }

    void on_event(e::event const& ev)
    {
        static bytes const body(700, std::byte{0x61});
        switch (ev.kind) {
        case e::event_kind::connection_requested: std::ignore = engine.open(); return;
        case e::event_kind::connection_closed: closed_ = true; return;
        case e::event_kind::session_requested: std::ignore = ev.session->begin({}); return;
        case e::event_kind::session_ended: return engine.forget(*ev.session);
        case e::event_kind::link_requested:
            std::ignore =
                ev.link->attach({.source = test::encoded_source("s"),
                                 .target = test::encoded_target("t"),
                                 .rcv_settle_mode = ev.link->remote_attach().rcv_settle_mode,
                                 .max_message_size = 1u << 16,
                                 .credit_window = 1000,
                                 .streamed = ev.link->name().size() % 2 == 1});
            return;
        case e::event_kind::link_attached:
            if (ev.link->role() == role::sender)
                for (int i = 0; i < 2; ++i)
                    std::ignore = static_cast<e::sender*>(ev.link)->send({.head = body});
            return;
        case e::event_kind::link_detached: return ev.session->forget(*ev.link);
        case e::event_kind::delivery:
        case e::event_kind::delivery_part:
            ev.incoming->link().consume(*ev.incoming, ev.incoming->body().size());
            if (ev.incoming->complete())
                std::ignore = ev.incoming->link().settle(*ev.incoming);
            return;
        case e::event_kind::delivery_aborted:
            if (!ev.final)
                std::ignore = ev.incoming->link().settle(*ev.incoming);
            return;
        case e::event_kind::delivery_settled:
            if (!ev.final)
                std::ignore = ev.incoming->link().settle(*ev.incoming);
            return;
        default: return;
        }
    }

    std::vector<std::byte> buffer_ = std::vector<std::byte>(70'000);
    e::time_point now{0};
    bool closed_ = false;
};

/// What two engines have said to each other, each side whole.
std::array<bytes, 2> conversation()
{
    world it{{.first_id = some_first_id(),
              .seed = *rc::gen::arbitrary<unsigned>(),
              .sessions = *rc::gen::inRange(1u, 3u),
              .keep_octets = true}};
    it.open();
    it.run(*steps_of(usual_weights() + weights{{1, act::attach}, {1, act::detach}}, 1.0));
    it.conclude();
    return it.octets;
}

/// A few octets changed, removed or put in, or a piece of it left out or doubled.
bytes mutated(bytes wire)
{
    auto const changes = *rc::gen::inRange(1, 6);
    for (int i = 0; i < changes && !wire.empty(); ++i) {
        auto const at = *rc::gen::inRange<std::size_t>(0, wire.size());
        auto const where = wire.begin() + static_cast<std::ptrdiff_t>(at);
        auto const octet = static_cast<std::byte>(*rc::gen::inRange(0, 256));
        auto const piece = std::min<std::size_t>(wire.size() - at, *rc::gen::inRange(1u, 80u));
        auto const till = where + static_cast<std::ptrdiff_t>(piece);
        switch (*rc::gen::inRange(0, 6)) {
        case 0: wire.insert(where, octet); break;
        case 1: wire.erase(where, till); break;
        case 2: {
            bytes const again(where, till);
            wire.insert(where, again.begin(), again.end());
            break;
        }
        default: *where = octet;
        }
    }
    return wire;
}

struct met_by {
    bool error = false;
    bool finding = false;
    std::string objection;
};

/// Feeds both sides to an engine's end and to an auditor, in pieces.
met_by feed(std::array<bytes, 2> const& said, std::size_t to, std::size_t piece)
{
    met_by out;
    auto const before = in_use();
    auto most = before;
    {
        answering_end end{to == 1};
        audit::checker auditor;
        std::array<std::size_t, 2> at{};
        while (at[0] < said[0].size() || at[1] < said[1].size())
            for (std::size_t side : {0u, 1u}) {
                auto const n = std::min(piece, said[side].size() - at[side]);
                auto const octets = bytes_view{said[side]}.subspan(at[side], n);
                at[side] += n;
                auditor.feed(side == 0 ? audit::direction::from_client
                                       : audit::direction::from_server,
                             octets, {});
                if (side != to)
                    end.receive(octets);
                most = std::max(most, in_use());
            }
        auditor.finish(audit::ending::cut);
        for (audit::finding f; auditor.poll_finding(f);) {
            out.finding = true;
            if (f.text().empty() || f.json().empty())
                out.objection = "a finding without a text";
        }
        out.error = end.failed;
        end.transport_ends();
        if (out.objection.empty())
            out.objection = end.objection;
    }
    auto const octets = said[0].size() + said[1].size();
    if (most - before > 2'000'000 + 100 * octets)
        out.objection = std::to_string(most - before) + " octets held for " + std::to_string(octets)
                        + " of input";
    return out;
}

TEST(HostileBytes, ThatWereChangedGiveAnErrorAndNeverAHangOrRunawayMemory)
{
    shares met;
    for_all(met, [&] {
        auto said = conversation();
        auto const to = *rc::gen::element<std::size_t>(0, 1);
        said[1 - to] = mutated(std::move(said[1 - to]));
        auto const got = feed(said, to, *rc::gen::element<std::size_t>(1, 7, 100, 1u << 20));
        met.met("gives an error", got.error);
        met.met("is found by the auditor", got.finding);
        if (!got.objection.empty())
            RC_FAIL(got.objection);
    });
    met.expect_each(10);
}

TEST(HostileBytes, ThatAreMadeUpGiveAnErrorAndNeverAHangOrRunawayMemory)
{
    shares met;
    for_all(met, [&] {
        std::array<bytes, 2> said;
        for (auto& side : said) {
            auto const header = protocol_header(protocol_id::amqp);
            if (*rc::gen::element(true, true, false))
                side.assign(header.begin(), header.end());
            auto const frames = *rc::gen::inRange(0, 12);
            for (int i = 0; i < frames; ++i) {
                auto const octets = *rc::gen::container<std::vector<std::uint8_t>>(
                    rc::gen::arbitrary<std::uint8_t>());
                auto const framed = *rc::gen::element(true, true, true, false);
                auto const size = side.size();
                auto const kind = *rc::gen::inRange(0x10, 0x19);
                if (framed) {
                    side.resize(size + frame_header_size);
                    for (auto const b : {0x00, 0x53, kind})
                        side.push_back(static_cast<std::byte>(b));
                }
                for (auto const b : octets) side.push_back(static_cast<std::byte>(b));
                if (framed)
                    write_frame_header(side.data() + size,
                                       static_cast<std::uint32_t>(side.size() - size),
                                       frame_type::amqp, *rc::gen::inRange<std::uint16_t>(0, 3));
            }
        }
        auto const to = *rc::gen::element<std::size_t>(0, 1);
        auto const got = feed(said, to, *rc::gen::element<std::size_t>(1, 7, 1u << 20));
        met.met("gives an error", got.error);
        met.met("is found by the auditor", got.finding);
        if (!got.objection.empty())
            RC_FAIL(got.objection);
    });
    met.expect_each(10);
}

}  // namespace
}  // namespace sluice::prop
