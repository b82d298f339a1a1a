// Exact flow state under any interleaving: the peer here counts transfer frames on the wire and
// knows the standard only.
//
// The engine under test has two senders and a receiver on one session and talks to a scripted peer
// that moves windows and credit at will. A step is one command, one frame of the peer, or one pull
// of the engine's output.
#include "support/engine_pair.hpp"
#include "support_shares.hpp"
#include "support_wire.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>

namespace {

using namespace sluice;
using namespace sluice::prop;
namespace e = sluice::engine;

enum class act {
    send,
    send_settled,
    stream,
    ready,
    cancel,
    flow_session,
    flow_link,
    credit,
    drain_in,
    write_one,
    write_all,
    peer_window,
    peer_credit,
    peer_drain,
    peer_echo,
    peer_transfer,
    peer_settles,
    count_
};

struct step {
    act what = act::write_one;
    unsigned n = 0;
};

std::ostream& operator<<(std::ostream& out, step const& s)
{
    return out << static_cast<int>(s.what) << ':' << s.n;
}

/// The peer's books, kept from the bytes: [2.5.6] and rule W3 of the write queue.
struct strict_peer {
    transfer_id next_incoming_id{0};
    transfer_id window_edge{0};  // the first id that we may not use
    std::string objection;       // to a number
    std::string impatience;      // a flow came too late
    std::size_t flows = 0;
    std::size_t transfers = 0;
    std::map<std::uint32_t, sequence_number>
        limit;  // the highest one granted, by handle of the sender
    std::map<std::uint32_t, sequence_number> counted;  // deliveries begun, by handle
    std::map<std::uint32_t, bool> half;
    std::map<std::uint32_t, std::size_t> asked;  // flows asked for: transfers written by then
    bool wrapped = false;

    static constexpr std::uint32_t session = 999;

    /// @param written transfer frames written by now, which may not have reached these books yet
    void ask(std::uint32_t link, std::size_t written) { asked.try_emplace(link, written); }

    void on_transfer(transfer const& t)
    {
        if (distance(next_incoming_id, window_edge) <= 0 && objection.empty())
            objection = "transfer beyond the window";
        ++next_incoming_id;
        ++transfers;
        wrapped = wrapped || next_incoming_id.value() == 0;
        for (auto const& [link, at] : asked)
            if (transfers > at + 1 && impatience.empty())
                impatience = "a flow for link " + std::to_string(link)
                             + " waited for more than one transfer";
        auto& begun = half[t.handle.value];
        if (!begun) {
            if (!t.delivery_id && objection.empty())
                objection = "first frame without delivery-id";
            ++counted[t.handle.value];
            if (precedes(limit[t.handle.value], counted[t.handle.value]) && objection.empty())
                objection = "delivery beyond the credit";
        } else if (t.delivery_id && objection.empty()) {
            objection = "continuation with a delivery-id";
        }
        begun = t.more && !t.aborted;
    }

    void on_flow(flow const& f)
    {
        ++flows;
        if (f.next_outgoing_id != next_incoming_id && objection.empty())
            objection = "flow says " + std::to_string(f.next_outgoing_id.value())
                        + ", the wire has " + std::to_string(next_incoming_id.value());
        asked.erase(session);  // any flow carries the session's fields
        if (f.handle)
            asked.erase(f.handle->value);
        if (f.handle && f.handle->value < 2 && f.drain
            && f.delivery_count) {  // the sender gives its credit back [2.6.7]
            auto const beyond = precedes(limit[f.handle->value], *f.delivery_count);
            if ((precedes(*f.delivery_count, counted[f.handle->value]) || beyond)
                && objection.empty())
                objection = "a drain that gives back more than there was";
            counted[f.handle->value] = *f.delivery_count;
        }
    }
};

/// Answers a scripted sequence: chunks, "not ready" and a failure, and asks for flows in mid-frame.
struct scripted_source final : e::body_source {
    std::deque<unsigned> script;
    std::function<void()> meanwhile = [] {};
    e::pull_result pull(std::span<std::byte> into) noexcept override
    {
        meanwhile();
        if (script.empty())
            return {e::pull_status::end, 0};
        auto const next = script.front();
        script.pop_front();
        if (next % 16 == 0)
            return {e::pull_status::failed, 0};
        if (next % 5 == 0)
            return {e::pull_status::not_ready, 0};
        auto const size = std::min<std::size_t>(into.size(), 1 + next * 7 % 900);
        std::fill_n(into.begin(), size, std::byte{0x2a});
        return {e::pull_status::bytes, size};
    }
};

class rig {
public:
    rig(std::uint32_t first_id, unsigned seed) : random_{seed | 1u}
    {
        a_.context = this;
        peer.next_incoming_id = transfer_id{first_id};
        peer.window_edge = transfer_id{first_id} + 4u;
        reader_.on_frame = [this](auto, auto descriptor, auto body) { on_frame(descriptor, body); };
        std::ignore = a_.open();
        session_ = *a_.begin({.next_outgoing_id = transfer_id{first_id},
                              .next_delivery_id = delivery_number{first_id}});
        bytes in;
        auto const header = protocol_header(protocol_id::amqp);
        in.assign(header.begin(), header.end());
        put_frame(in, 0, open{.container_id = "peer", .max_frame_size = 512});
        give(in);
        write(true);
        in.clear();
        put_frame(in, 0,
                  begin{.remote_channel = 0,
                        .next_outgoing_id = theirs_,
                        .incoming_window = 4,
                        .outgoing_window = 100});
        give(in);
        for (auto h : {0u, 1u})
            links_[h] =
                *session_->attach_sender({.name = h == 0 ? "a" : "b",
                                          .source = test::encoded_source("x"),
                                          .target = test::encoded_target("q"),
                                          .initial_delivery_count = sequence_number{first_id}});
        receiver_ = *session_->attach_receiver({.name = "r",
                                                .source = test::encoded_source("q"),
                                                .target = test::encoded_target("x")});
        write(true);
        in.clear();
        for (auto h : {0u, 1u}) {
            put_frame(in, 0,
                      attach{.name = h == 0 ? "a" : "b",
                             .handle = {h},
                             .role = role::receiver,
                             .target = {test::encoded_target("q")}});
            peer.counted[h] = peer.limit[h] = sequence_number{first_id};
        }
        put_frame(in, 0,
                  attach{.name = "r",
                         .handle = {2},
                         .role = role::sender,
                         .source = {test::encoded_source("q")},
                         .initial_delivery_count = sequence_number{5}});
        give(in);
    }

    void run(std::vector<step> const& steps)
    {
        for (auto const& s : steps) {
            apply(s);
            if (!peer.objection.empty())
                return;
        }
        // Everything that was asked for comes out at last.
        grant_window(500);
        for (auto h : {0u, 1u}) grant_credit(h, 500, false);
        for (int i = 0; i < 200; ++i) {
            for (auto& s : sources_) wake(*s);
            write(true);
            grant_window(500);
        }
        if (peer.impatience.empty() && !peer.asked.empty())
            peer.impatience = "a flow that was asked for never came";
    }

    strict_peer peer;
    bool window_was_shut = false;
    bool flow_in_mid_frame = false;

private:
    struct stream {
        scripted_source source;
        e::outgoing_delivery* delivery = nullptr;
    };

    unsigned next_random() { return random_ = random_ * 1664525u + 1013904223u; }

    void on_frame(std::uint64_t descriptor, bytes_view body)
    {
        if (descriptor == 0x14) {
            transfer t;
            RC_ASSERT(!decode(body, t));
            peer.on_transfer(t);
        } else if (descriptor == 0x13) {
            flow f;
            RC_ASSERT(!decode(body, f));
            peer.on_flow(f);
        } else if (descriptor == 0x12) {
            attach a;
            RC_ASSERT(!decode(body, a));
            names_[std::string{a.name}] = a.handle.value;
        } else if (descriptor == 0x17 || descriptor == 0x18) {
            if (peer.objection.empty())
                peer.objection = "the engine ended the session or connection";
        }
    }

    void give(bytes const& in)
    {
        RC_ASSERT(a_.receive(in, now_) == in.size());
        events();
    }

    void events()
    {
        for (e::event ev; a_.poll_event(ev);) {
            if (ev.kind == e::event_kind::aborted
                || (ev.kind == e::event_kind::outcome && ev.final))
                for (auto& s : sources_)
                    if (s->delivery == ev.outgoing)
                        s->delivery = nullptr;
            if (ev.kind == e::event_kind::sent && ev.final)
                for (auto& s : sources_)
                    if (s->delivery == ev.outgoing)
                        s->delivery = nullptr;
            if (ev.kind == e::event_kind::delivery)
                std::ignore = receiver_->settle(*ev.incoming);
        }
    }

    void write(bool all)
    {
        static std::vector<std::byte> buffer(4096);
        do {
            auto const waiting = links_[1] && links_[0]->queued() + links_[1]->queued() > 0;
            window_was_shut =
                window_was_shut || (waiting && session_->remote_incoming_window() == 0);
            auto const n = a_.write({buffer.data(), all ? buffer.size() : 520}, now_);
            reader_.feed({buffer.data(), n});
            events();
            if (n == 0)
                return;
        } while (all);
    }

    void ask(e::link* l, std::uint32_t key, bool within_frame)
    {
        peer.ask(key, written() + (within_frame ? 1u : 0u));
        if (!l)
            session_->request_flow(next_random() % 2 == 0);
        else
            static_cast<e::receiver*>(l)->request_flow(next_random() % 2 == 0);
        flow_in_mid_frame = flow_in_mid_frame || within_frame;
    }

    std::size_t written() const
    {
        return static_cast<std::size_t>(session_->counters().transfers_written);
    }

    void send(unsigned n, bool settled)
    {
        static bytes const body(4000, std::byte{0x11});
        auto const size = n % 3 == 0 ? n % 40 : n * 31 % 2500;
        std::ignore =
            links_[n % 2]->send({.head = bytes_view{body}.first(size)}, {.settled = settled});
    }

    void start_stream(unsigned n)
    {
        sources_.push_back(std::make_unique<stream>());
        auto& s = *sources_.back();
        for (unsigned i = 0; i < n % 6; ++i) s.source.script.push_back(1 + next_random() % 97);
        s.source.meanwhile = [this, n] {
            if (next_random() % 3 != 0)
                return;
            if (n % 2 == 0)
                ask(nullptr, strict_peer::session, true);
            else
                ask(receiver_, 2, true);
        };
        auto const sent =
            links_[n % 2]->send(s.source, {.settled = n % 4 == 0, .notify_sent = true});
        if (sent)
            s.delivery = *sent;
    }

    void wake(stream& s)
    {
        if (s.delivery)
            s.delivery->link().body_ready(*s.delivery);
    }

    void grant_window(unsigned frames)
    {
        auto const edge = peer.next_incoming_id + frames;
        peer.window_edge = edge;  // the peer may shrink it: what it says last counts
        bytes in;
        put_frame(in, 0,
                  flow{.next_incoming_id = peer.next_incoming_id,
                       .incoming_window = frames,
                       .next_outgoing_id = theirs_,
                       .outgoing_window = 100});
        give(in);
    }

    void grant_credit(std::uint32_t h, unsigned credit, bool drain)
    {
        if (precedes(peer.limit[h], peer.counted[h] + credit))
            peer.limit[h] = peer.counted[h] + credit;
        bytes in;
        auto const window = static_cast<std::uint32_t>(
            std::max(0, distance(peer.next_incoming_id, peer.window_edge)));
        put_frame(in, 0,
                  flow{.next_incoming_id = peer.next_incoming_id,
                       .incoming_window = window,
                       .next_outgoing_id = theirs_,
                       .outgoing_window = 100,
                       .handle = handle{h},
                       .delivery_count = peer.counted[h],
                       .link_credit = credit,
                       .drain = drain});
        give(in);
    }

    void peer_transfer()
    {
        if (receiver_->credit() == 0)
            return;
        write(true);  // the credit is on the wire before it is used
        bytes in;
        std::array<std::byte, 4> const tag{};
        put_frame(in, 0,
                  transfer{.handle = {2},
                           .delivery_id = their_delivery_,
                           .delivery_tag = bytes_view{tag},
                           .settled = true},
                  bytes_view{tag});
        ++theirs_;
        ++their_delivery_;
        give(in);
    }

    void apply(step const& s)
    {
        switch (s.what) {
        case act::send: return send(s.n, false);
        case act::send_settled: return send(s.n, true);
        case act::stream: return start_stream(s.n);
        case act::ready:
            for (auto& x : sources_) wake(*x);
            return;
        case act::cancel:
            if (!sources_.empty())
                cancel(*sources_[s.n % sources_.size()]);
            return;
        case act::flow_session: return ask(nullptr, strict_peer::session, false);
        case act::flow_link: return ask(receiver_, 2, false);
        case act::credit: peer.ask(2, written()); return receiver_->add_credit(1 + s.n % 3);
        case act::drain_in: return drain_in();
        case act::write_one: return write(false);
        case act::write_all: return write(true);
        case act::peer_window: return grant_window(s.n % 7);
        case act::peer_credit: return grant_credit(s.n % 2, s.n % 5, false);
        case act::peer_drain: return grant_credit(s.n % 2, s.n % 5, true);
        case act::peer_echo: return peer_echo();
        case act::peer_transfer: return peer_transfer();
        case act::peer_settles: return settle_all();
        case act::count_: return;
        }
    }

    void cancel(stream& s)
    {
        if (s.delivery)
            std::ignore = s.delivery->link().cancel(*s.delivery);
        events();
    }

    void drain_in()
    {
        if (receiver_->credit() > 0)
            peer.ask(2, written());
        receiver_->drain();
        events();
    }

    void peer_echo()
    {
        peer.ask(strict_peer::session, written());
        bytes in;
        auto const window = static_cast<std::uint32_t>(
            std::max(0, distance(peer.next_incoming_id, peer.window_edge)));
        put_frame(in, 0,
                  flow{.next_incoming_id = peer.next_incoming_id,
                       .incoming_window = window,
                       .next_outgoing_id = theirs_,
                       .outgoing_window = 100,
                       .echo = true});
        give(in);
    }

    void settle_all()
    {
        bytes in;
        put_frame(in, 0,
                  disposition{.role = role::receiver,
                              .first = delivery_number{peer.next_incoming_id.value() - 50},
                              .last = delivery_number{peer.next_incoming_id.value()},
                              .settled = true,
                              .state = {encoded_accepted}});
        give(in);
    }

    e::connection a_{{}};
    e::time_point now_{0};
    e::session* session_ = nullptr;
    std::array<e::sender*, 2> links_{};
    e::receiver* receiver_ = nullptr;
    frame_reader reader_;
    transfer_id theirs_{4294967290u};
    delivery_number their_delivery_{0};
    std::vector<std::unique_ptr<stream>> sources_;
    std::map<std::string, std::uint32_t> names_;
    unsigned random_;
};

template <class Judge>
void for_any_interleaving(Judge judge)
{
    shares met;
    auto const ok = rc::check([&] {
        auto const first = *rc::gen::weightedOneOf<std::uint32_t>(
            {{2, rc::gen::inRange(0xffff'fff0u, 0xffff'ffffu)},
             {1, rc::gen::arbitrary<std::uint32_t>()}});
        auto const steps = *rc::gen::container<std::vector<step>>(rc::gen::apply(
            [](int what, unsigned n) {
                return step{static_cast<act>(what), n};
            },
            rc::gen::weightedOneOf<int>(
                {{3, rc::gen::inRange(0, 4)},
                 {4, rc::gen::inRange(static_cast<int>(act::write_one),
                                      static_cast<int>(act::peer_credit) + 1)},
                 {2, rc::gen::inRange(0, static_cast<int>(act::count_))}}),
            rc::gen::inRange(0u, 1000u)));
        rig r{first, *rc::gen::arbitrary<unsigned>()};
        r.run(steps);
        met.one_case();
        met.met("wraps", r.peer.wrapped);
        met.met("meets a shut window", r.window_was_shut);
        met.met("gets a flow in the middle of a frame", r.flow_in_mid_frame);
        std::string const objection = judge(r.peer);
        if (!objection.empty())
            RC_FAIL(objection);
    });
    EXPECT_TRUE(ok);
    met.expect_each(10);
}

TEST(NextOutgoingId, IsExactInEveryFlowUnderAnyInterleaving)
{
    for_any_interleaving([](strict_peer const& p) { return p.objection; });
}

TEST(NextOutgoingId, AFlowWaitsForOneTransferFrameAtMost)
{
    for_any_interleaving([](strict_peer const& p) { return p.impatience; });
}

}  // namespace
