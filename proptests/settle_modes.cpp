// Settlement against a model of ten lines: who settles when, for each settle mode of the sender and
// of the receiver. [2.6.12, 2.8.2, 2.8.3]
#include "support/engine_pair.hpp"
#include "support_shares.hpp"
#include "support_wire.hpp"

#include <rapidcheck/gtest.h>

#include <deque>

namespace sluice::prop {
namespace {

namespace e = sluice::engine;

enum class act { send, send_settled, receive_update, receiver_settle, sender_settle, count_ };

/// A delivery as the standard sees it.
struct item {
    bool settled_by_sender = false;
    bool settled_by_receiver = false;
    bool stated = false;  // mode second: the receiver has said its outcome
    e::outcome_kind told = e::outcome_kind::none;
    bool ended() const { return settled_by_sender && settled_by_receiver; }
};

struct rig {
    rig(sender_settle_mode snd, receiver_settle_mode rcv, bool automatic)
        : second{rcv == receiver_settle_mode::second}, auto_settle{automatic}, mode{snd}
    {
        net.open_session({.policy = e::flow_policy::strict}, {.policy = e::flow_policy::strict});
        net.on_initiator = [this](e::event const& v) { return heard(v); };
        net.on_listener = [this](e::event const& v) { return arrived(v); };
        net.a_to_b = [this](bytes_view b) { from_sender.feed(b); };
        net.b_to_a = [this](bytes_view b) { from_receiver.feed(b); };
        auto const count = [](auto& what) {
            return [&what](auto, auto descriptor, auto) { what += descriptor == 0x15 ? 1u : 0u; };
        };
        from_sender.on_frame = count(sender_dispositions);
        from_receiver.on_frame = count(receiver_dispositions);
        s = *net.a.begin();
        net.run();
        link = *s->attach_sender({.name = "L",
                                  .source = test::encoded_source("s"),
                                  .target = test::encoded_target("t"),
                                  .snd_settle_mode = snd,
                                  .rcv_settle_mode = rcv,
                                  .auto_settle = automatic});
        net.run();
        r = static_cast<e::receiver*>(net.b_link);
        r->set_credit(1000);
        net.run();
    }

    bool heard(e::event const& v)
    {
        if (v.kind == e::event_kind::outcome && v.outgoing) {
            auto const at = reinterpret_cast<std::uintptr_t>(v.outgoing->context);
            outcomes[at] = v.outgoing->outcome();
            if (v.final)
                out.erase(at);
        }
        if (v.kind == e::event_kind::sent && v.final)
            out.erase(reinterpret_cast<std::uintptr_t>(v.outgoing->context));
        return v.kind >= e::event_kind::credit;
    }
    bool arrived(e::event const& v)
    {
        if (v.kind == e::event_kind::delivery)
            in[next_in++] = v.incoming;
        if (v.kind == e::event_kind::delivery_settled && v.final)
            std::erase_if(in, [&](auto const& x) { return x.second == v.incoming; });
        return v.kind >= e::event_kind::credit;
    }

    void apply(act what, unsigned n)
    {
        switch (what) {
        case act::send:
        case act::send_settled: return send(what == act::send_settled);
        case act::receive_update: return update(n);
        case act::receiver_settle: return receiver_settles(n);
        default: return sender_settles(n);
        }
    }

    void send(bool settled)
    {
        static bytes const body(20, std::byte{1});
        auto const at = model.size();
        auto* const d = *link->send(
            {.head = body},
            {.settled = settled, .notify_sent = true, .context = reinterpret_cast<void*>(at)});
        out[at] = d;
        item i;
        i.settled_by_sender =
            mode == sender_settle_mode::settled || (settled && mode == sender_settle_mode::mixed);
        model.push_back(i);
        net.run();
    }

    void update(unsigned n)
    {
        auto const at = chosen(in, n);
        if (!at || model[*at].settled_by_sender || model[*at].stated)
            return;
        auto const state = encoded(delivery_state{received{}});
        RC_ASSERT(!r->update(*in[*at], {state}));
        ++expected_from_receiver;
        model[*at].told = e::outcome_kind::received;
        net.run();
    }

    void receiver_settles(unsigned n)
    {
        auto const at = chosen(in, n);
        if (!at || model[*at].stated)
            return;
        auto const states = {encoded(delivery_state{accepted{}}),
                             encoded(delivery_state{rejected{}}),
                             encoded(delivery_state{released{}}),
                             encoded(delivery_state{modified{.delivery_failed = true}})};
        auto const state = *(states.begin() + n % 4);
        auto& m = model[*at];
        std::ignore = r->settle(*in[*at], {state});
        if (m.settled_by_sender) {  // nothing to say
            m.settled_by_receiver = true;
            in.erase(*at);
        } else {
            ++expected_from_receiver;
            m.told = e::kind_of({state});
            m.stated = true;
            m.settled_by_receiver = !second;
            if (!second) {
                in.erase(*at);
                m.settled_by_sender = true;
            } else if (auto_settle) {
                ++expected_from_sender;
                m.settled_by_sender = m.settled_by_receiver = true;
            }
        }
        net.run();
    }

    void sender_settles(unsigned n)
    {
        auto const at = chosen(out, n);
        if (!at)
            return;
        RC_ASSERT(!link->settle(*out[*at]));
        out.erase(*at);
        ++expected_from_sender;
        auto& m = model[*at];
        m.settled_by_sender = true;
        m.settled_by_receiver = m.stated;  // it waited for this only
        net.run();
    }

    void check() const
    {
        std::size_t unsettled_out = 0;
        std::size_t here = 0;
        for (std::size_t i = 0; i < model.size(); ++i) {
            auto const& m = model[i];
            unsettled_out += m.settled_by_sender ? 0u : 1u;
            here += m.settled_by_receiver ? 0u : 1u;
            auto const told = outcomes.find(i);
            RC_ASSERT((told == outcomes.end() ? e::outcome_kind::none : told->second) == m.told);
        }
        RC_ASSERT(link->unsettled() == unsettled_out);
        RC_ASSERT(out.size() == unsettled_out);
        std::size_t at_receiver = 0;
        r->for_each_delivery([&](e::incoming_delivery&) { ++at_receiver; });
        RC_ASSERT(at_receiver == here);
        RC_ASSERT(in.size() == here);
        RC_ASSERT(sender_dispositions == expected_from_sender);
        RC_ASSERT(receiver_dispositions == expected_from_receiver);
    }

    template <class Map>
    static std::optional<std::size_t> chosen(Map const& from, unsigned n)
    {
        if (from.empty())
            return std::nullopt;
        return std::next(from.begin(), static_cast<std::ptrdiff_t>(n % from.size()))->first;
    }

    bool second;
    bool auto_settle;
    sender_settle_mode mode;
    test::engine_pair net;
    e::session* s = nullptr;
    e::sender* link = nullptr;
    e::receiver* r = nullptr;
    frame_reader from_sender;
    frame_reader from_receiver;
    std::size_t sender_dispositions = 0;
    std::size_t receiver_dispositions = 0;
    std::size_t expected_from_sender = 0;
    std::size_t expected_from_receiver = 0;
    std::deque<item> model;
    std::map<std::size_t, e::outgoing_delivery*> out;  // that the sender has not settled
    std::map<std::size_t, e::incoming_delivery*> in;   // that the receiver has not
    std::map<std::size_t, e::outcome_kind> outcomes;
    std::size_t next_in = 0;
};

TEST(SettleModes, AreWhatTheModelSays)
{
    shares met;
    auto const ok = rc::check([&] {
        auto const snd = *rc::gen::element(sender_settle_mode::unsettled,
                                           sender_settle_mode::settled, sender_settle_mode::mixed);
        auto const rcv =
            *rc::gen::element(receiver_settle_mode::first, receiver_settle_mode::second);
        auto const automatic = *rc::gen::element(true, false);
        rig it{snd, rcv, automatic};
        auto const steps = *rc::gen::container<std::vector<std::pair<int, unsigned>>>(rc::gen::pair(
            rc::gen::inRange(0, static_cast<int>(act::count_)), rc::gen::inRange(0u, 1000u)));
        for (auto const& [what, n] : steps) {
            it.apply(static_cast<act>(what), n);
            it.check();
        }
        met.one_case();
        met.met("sender unsettled", snd == sender_settle_mode::unsettled);
        met.met("sender settled", snd == sender_settle_mode::settled);
        met.met("sender mixed", snd == sender_settle_mode::mixed);
        met.met("receiver second, sender settles by itself", it.second && automatic);
        met.met("receiver second, its owner settles", it.second && !automatic);
        met.met("an outcome was stated", it.expected_from_receiver > 0);
    });
    EXPECT_TRUE(ok);
    met.expect_each(10);
}

}  // namespace
}  // namespace sluice::prop
