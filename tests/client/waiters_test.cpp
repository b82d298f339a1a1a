// Whoever waits is woken, once and with the cause, when link, session, connection or transport
// ends.
#include "support/client_rig.hpp"

#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using client::delivery;
using client::outcome;

/// One call of every kind, each waiting for something that does not come.
struct waiting_calls {
    client_rig rig;
    client::sender without_credit = rig.sender();
    client::sender without_outcome = rig.sender(1);
    client::receiver receiver = rig.receiver();
    client::receiver drained = rig.receiver();
    std::map<std::string, std::future<ended<bool>>> calls;

    waiting_calls()
    {
        add("send without credit", [this] { without_credit.send("x"); });
        add("send without outcome", [this] { without_outcome.send("x"); });
        rig.peer.skip_to<transfer>();
        add("receive", [this] { receiver.receive(); });
        add("receive with deadline",
            [this] { receiver.receive(std::chrono::milliseconds{60'000}); });
        add("drain", [this] { drained.drain(); });
        while (!rig.peer.skip_to<flow>()->drain) {}
        add("open link", [this] { rig.session.open_sender("never"); });
        rig.peer.skip_to<attach>();
        add("begin", [this] { rig.connection.begin(); });
        rig.peer.skip_to<begin>();
    }
    ~waiting_calls() { rig.peer.shut(); }

    template <class F>
    void add(std::string name, F f)
    {
        calls.emplace(std::move(name), in_background([f = std::move(f)] { f(); }));
    }

    ended<bool> end_of(std::string const& name)
    {
        auto const at = calls.find(name);
        auto out = get(at->second);
        calls.erase(at);
        return out;
    }
    /// All that are left end with `code` and a text that contains `part`.
    void all_end_with(error code, std::string_view part)
    {
        for (auto& [name, call] : calls) {
            auto const r = get(call);
            auto const expected = name == "send without outcome" ? error::outcome_unknown : code;
            EXPECT_EQ(r.code, expected) << name << ": " << r.what;
            EXPECT_NE(r.what.find(part), std::string::npos) << name << ": " << r.what;
        }
        calls.clear();
    }
};

error_view oops() { return {.condition = "amqp:internal-error", .description = "oops"}; }

TEST(Waiters, WakeWhenTheTransportIsReset)
{
    waiting_calls w;
    w.rig.peer.reset();
    w.all_end_with(error::connection_lost, "lost");
    EXPECT_EQ(w.rig.connection.error()->code, make_error_code(error::connection_lost));
    EXPECT_EQ(w.without_credit.error()->code, make_error_code(error::connection_lost));
}

TEST(Waiters, WakeWhenThePeerCloses)
{
    waiting_calls w;
    w.rig.peer.send(close{.error = oops()});
    w.all_end_with(error::connection_closed_by_peer, "amqp:internal-error: oops");
    EXPECT_EQ(w.rig.session.error()->error.condition, "amqp:internal-error");
    w.rig.peer.skip_to<close>();  // answered
}

TEST(Waiters, WakeWhenThePeerEndsTheSession)
{
    waiting_calls w;
    w.rig.peer.send(end{.error = oops()});
    w.rig.peer.skip_to<end>();  // answered
    auto begun = std::move(w.calls.at("begin"));
    w.calls.erase("begin");
    w.all_end_with(error::session_ended_by_peer, "amqp:internal-error: oops");
    EXPECT_EQ(w.rig.connection.error(), nullptr);
    w.rig.peer.send(begin{.remote_channel = 1, .incoming_window = 10, .outgoing_window = 10}, 1);
    EXPECT_TRUE(get(begun).value);  // another session is none the worse
}

TEST(Waiters, WakeWhenThePeerDetaches)
{
    client_rig rig;
    auto const sender = rig.sender();
    auto waiting = in_background([&] { return sender.send("x"); });
    rig.peer.send(detach{.handle = handle{0}, .closed = true, .error = oops()});
    auto const r = get(waiting);
    EXPECT_EQ(r.code, error::link_detached_by_peer);
    EXPECT_NE(r.what.find("sender to 'q' detached by the peer: amqp:internal-error: oops"),
              std::string::npos)
        << r.what;
    EXPECT_EQ(rig.session.error(), nullptr);
    rig.peer.skip_to<detach>();
    EXPECT_EQ(get(in_background([&] { return sender.send("y"); })).code,
              error::link_detached_by_peer);
}

TEST(Waiters, LearnTheReasonOfAnEndThatFollowsABareDetach)
{
    waiting_calls w;
    w.rig.peer.send(detach{.handle = handle{0}, .closed = true});
    w.rig.peer.send(end{.error = error_view{.condition = "amqp:session:window-violation",
                                            .description = "too low"}});
    auto const r = w.end_of("send without credit");
    EXPECT_EQ(r.code, error::session_ended_by_peer);
    EXPECT_NE(r.what.find("amqp:session:window-violation: too low"), std::string::npos) << r.what;
    auto begun = std::move(w.calls.at("begin"));
    w.calls.erase("begin");
    w.all_end_with(error::session_ended_by_peer, "window-violation");
    w.rig.peer.send(begin{.remote_channel = 1, .incoming_window = 10, .outgoing_window = 10}, 1);
    EXPECT_TRUE(get(begun).value);
}

TEST(Waiters, LearnThatABareDetachHasNoReason)
{
    client_rig rig;
    auto const sender = rig.sender();
    auto waiting = in_background([&] { return sender.send("x"); });
    rig.peer.send(detach{.handle = handle{0}, .closed = true});
    EXPECT_EQ(get(waiting).code, error::link_detached_by_peer);
}

TEST(Waiters, AReceiverStillGivesWhatCameBeforeTheEnd)
{
    client_rig rig;
    auto const receiver = rig.receiver();
    rig.peer.deliver(0, data_message("x"));
    auto const first = get(in_background([&] { return receiver.receive(); })).value.value();
    rig.peer.deliver(1, data_message("y"));
    rig.peer.send(detach{.handle = handle{0}, .closed = true, .error = oops()});
    rig.peer.skip_to<detach>();
    auto const second = get(in_background([&] { return receiver.receive(); })).value.value();
    EXPECT_EQ(second.message().body_text(), "y");
    EXPECT_EQ(get(in_background([&] { return receiver.receive(); })).code,
              error::link_detached_by_peer);
    EXPECT_EQ(get(in_background([&] { second.accept(); })).code, error::stale_delivery);
    EXPECT_EQ(get(in_background([&] { first.settle(); })).code, error::stale_delivery);
}

TEST(Waiters, ARefusedLinkNeverOpens)
{
    client_rig rig;
    auto opening = in_background([&] { return rig.session.open_sender("q"); });
    auto const theirs = rig.peer.expect<attach>();
    auto ours = theirs.value;
    ours.role = role::receiver;
    ours.target = {};
    rig.peer.send(ours);
    rig.peer.send(
        detach{.handle = handle{0},
               .closed = true,
               .error = error_view{.condition = "amqp:not-found", .description = "no such queue"}});
    auto const r = get(opening);
    EXPECT_EQ(r.code, error::link_refused);
    EXPECT_NE(r.what.find("sender to 'q' refused by the peer: amqp:not-found: no such queue"),
              std::string::npos)
        << r.what;
    rig.peer.skip_to<detach>();
}

TEST(Waiters, ALateCallFailsWithTheSameCause)
{
    client_rig rig;
    auto const sender = rig.sender();
    auto const receiver = rig.receiver();
    auto waiting = in_background([&] { return sender.send("x"); });
    rig.peer.send(close{.error = oops()});
    EXPECT_EQ(get(waiting).code, error::connection_closed_by_peer);
    for (auto const& what : {get(in_background([&] { sender.send("y"); })).what,
                             get(in_background([&] { receiver.receive(); })).what,
                             get(in_background([&] { rig.session.open_sender("z"); })).what,
                             get(in_background([&] { rig.connection.begin(); })).what})
        EXPECT_NE(what.find("amqp:internal-error: oops"), std::string::npos) << what;
    EXPECT_TRUE(get(in_background([&] { rig.connection.close(); })).value);  // harmless
}

TEST(Waiters, ClosingTheirOwnConnectionWakesThem)
{
    client_rig rig;
    auto const sender = rig.sender();
    auto const receiver = rig.receiver();
    auto sending = in_background([&] { sender.send("x"); });
    auto receiving = in_background([&] { receiver.receive(); });
    auto closing = in_background([&] { rig.connection.close(); });
    rig.peer.skip_to<end>();
    rig.peer.send(end{});
    rig.peer.skip_to<close>();
    rig.peer.send(close{});
    EXPECT_TRUE(get(closing).value);
    EXPECT_EQ(get(sending).code, error::closed_locally);
    EXPECT_EQ(get(receiving).code, error::closed_locally);
}

TEST(Waiters, CallsMadeWhileTheConnectionClosesAreToldSo)
{
    client_rig rig;
    auto const sender = rig.sender(1);
    auto closing = in_background([&] { rig.connection.close(); });
    rig.peer.skip_to<end>();  // not answered yet
    EXPECT_EQ(get(in_background([&] { sender.send("x"); })).code, error::closed_locally);
    EXPECT_EQ(get(in_background([&] { rig.session.open_sender("z"); })).code,
              error::closed_locally);
    EXPECT_EQ(get(in_background([&] { rig.connection.begin(); })).code, error::closed_locally);
    rig.peer.send(end{});
    rig.peer.skip_to<close>();
    rig.peer.send(close{});
    EXPECT_TRUE(get(closing).value);
}

/// Those that wait for the peer's last word: a settlement, a detach, a declaration, a fact.
TEST(Waiters, OfTheRarerKindsWakeHoweverItEnds)
{
    for (auto const how : {0, 1, 2}) {
        client_rig rig;
        client::receiver_options second;
        second.rcv_settle_mode = receiver_settle_mode::second;
        auto const receiver = rig.receiver(second);
        auto const sender = rig.sender();
        rig.peer.deliver(0, data_message("x"));
        auto const held = get(in_background([&] { return receiver.receive(); })).value.value();
        auto settling = in_background([&] { held.settle(); });
        rig.peer.skip_to<disposition>();
        auto declaring = in_background([&] { return rig.session.begin_transaction(); });
        rig.peer.skip_to<attach>();
        auto const detached = receiver.detached();
        auto noticing = in_background([&] { return detached.next().has_value(); });
        auto detaching = in_background([&] { sender.close(); });
        rig.peer.skip_to<detach>();
        if (how == 0)
            rig.peer.reset();
        else if (how == 1)
            rig.peer.send(close{.error = oops()});
        else
            rig.peer.send(end{.error = oops()});
        EXPECT_TRUE(get(settling).code) << how;
        auto const declared = get(declaring);
        EXPECT_TRUE(declared.code) << how;
        EXPECT_NE(declared.what.find(how == 0 ? "lost" : "amqp:internal-error: oops"),
                  std::string::npos)
            << declared.what;
        EXPECT_TRUE(get(noticing).value.value()) << how;
        std::ignore = get(detaching);  // it wanted to be over, and is
    }
}

TEST(Waiters, CallsThatStartInTheSameInstantWakeToo)
{
    for (int round = 0; round < 50; ++round) {
        client_rig rig;
        auto const sender = rig.sender(1);
        auto const receiver = rig.receiver();
        auto sending = in_background([&] { sender.send("x"); });
        auto receiving = in_background([&] { receiver.receive(); });
        auto opening = in_background([&] { rig.session.open_sender("z"); });
        rig.peer.reset();
        EXPECT_TRUE(get(sending).code);
        EXPECT_TRUE(get(receiving).code);
        EXPECT_TRUE(get(opening).code);
    }
}

}  // namespace
}  // namespace sluice::test
