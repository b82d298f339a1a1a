// A server made with the library, asked by a client made with it. [2.4.1, 2.5.1, 2.6.3]
#include "support/client_rig.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <deque>
#include <future>

namespace sluice::test {
namespace {

using namespace std::chrono_literals;
using client::connection;
using client::connection_request;
using client::delivery;
using client::link_request;
using client::receiver;
using client::sender;
using client::session;
using client::session_request;
using testing::AllOf;
using testing::HasSubstr;

/// What a server keeps, from whichever thread.
template <class T>
class kept {
public:
    void add(T one)
    {
        std::lock_guard const lock{mutex_};
        all_.push_back(std::move(one));
        come_.notify_all();
    }
    T next()
    {
        std::unique_lock lock{mutex_};
        if (!come_.wait_for(lock, 20s, [&] { return !all_.empty(); }))
            throw std::runtime_error{"nothing came within 20 s"};
        auto one = std::move(all_.front());
        all_.pop_front();
        return one;
    }

private:
    std::mutex mutex_;
    std::condition_variable come_;
    std::deque<T> all_;
};

struct Listener : testing::Test {
    client::listener& listen(client::server_handlers handlers = {},
                             client::listener_options options = {})
    {
        listening = server.listen("127.0.0.1", 0, std::move(options), std::move(handlers));
        return listening;
    }
    std::string url(std::string const& who = {}, std::string const& options = {}) const
    {
        return "amqp://" + who + listening.address() + options;
    }
    connection connect(std::string const& who = {}, std::string const& options = {})
    {
        return user.connect(url(who, options));
    }
    std::string failure_of(auto call)
    {
        try {
            call();
        } catch (boost::system::system_error const& e) {
            return e.what();
        }
        return "no failure";
    }

    kept<connection_request> connections;
    kept<session_request> sessions;
    kept<link_request> links;
    kept<client::failure_ptr> ends;
    kept<sender> senders;  // here, so that they outlive the handlers that fill them
    kept<receiver> receivers;
    client::container server{"server"};
    client::container user{"user"};
    client::listener listening;
};

TEST_F(Listener, TakesMessagesFromALinkThatItAccepts)
{
    listen({.on_link = [&](link_request r) { receivers.add(r.accept_receiver()); }});
    auto const out = connect().open_sender("orders");
    auto const in = receivers.next();
    EXPECT_EQ(out.address(), "orders");
    auto sending = in_background([&] { return out.send("one"); });
    auto const d = in.receive(20s);
    EXPECT_EQ(d.message().body_text(), "one");
    d.reject({.condition = "app:no", .description = "not today", .info = {}});
    auto const outcome = get(sending).value.value();
    EXPECT_TRUE(outcome.rejected());
    EXPECT_EQ(outcome.error().to_string(), "app:no: not today");
}

TEST_F(Listener, SendsByTheCreditOfItsPeer)
{
    listen({.on_link = [&](link_request r) { senders.add(r.accept_sender()); }});
    client::receiver_options by_hand;
    by_hand.credit_window = 0;
    auto const in = connect().open_receiver("prices", by_hand);
    auto const out = senders.next();
    EXPECT_THAT(failure_of([&] { std::ignore = out.try_send("early"); }), HasSubstr("credit"));
    auto sending = in_background([&] { return out.send("one"); });
    in.add_credit(1);
    in.receive(20s).accept();
    EXPECT_TRUE(get(sending).value.value().accepted());
}

TEST_F(Listener, TellsWhatItsPeerAsksFor)
{
    listen({.on_connection = [&](connection_request r) { connections.add(r); },
            .on_session = [&](session_request r) { sessions.add(r); },
            .on_link = [&](link_request r) { links.add(r); }});
    auto asking = in_background([&] {
        client::receiver_options o;
        o.source.distribution_mode = "copy";
        o.rcv_settle_mode = receiver_settle_mode::second;
        return connect("anna:secret@").open_receiver("there", o);
    });
    auto const asked = connections.next();
    EXPECT_EQ(asked.container_id(), "user");
    EXPECT_EQ(asked.hostname(), "127.0.0.1");
    EXPECT_EQ(asked.user(), "anna");
    EXPECT_THAT(asked.peer(), HasSubstr("127.0.0.1:"));
    auto const accepted = asked.accept();
    auto const begun = sessions.next().accept();
    auto const link = links.next();
    EXPECT_FALSE(link.peer_sends());
    EXPECT_EQ(link.source().address, "there");
    EXPECT_EQ(link.source().distribution_mode, "copy");
    EXPECT_EQ(link.rcv_settle_mode(), receiver_settle_mode::second);
    auto const out = link.accept_sender();
    EXPECT_EQ(get(asking).value.value().address(), "there");
    EXPECT_FALSE(link.accept_sender().valid()) << "the first answer counts";
}

TEST_F(Listener, KeepsWhatComesBeforeItHasAnswered)
{
    listen({.on_connection = [&](connection_request r) { connections.add(r); },
            .on_session = [&](session_request r) { sessions.add(r); },
            .on_link = [&](link_request r) { links.add(r); }});
    scripted_peer peer;
    peer.connect_to(listening.port());
    peer.send_header(protocol_id::amqp);
    peer.send(open{.container_id = "eager"});
    peer.send(begin{.incoming_window = 10, .outgoing_window = 10});
    bytes const nowhere = encoded(target{});
    auto const link = [&](char const* name, std::uint32_t number) {
        peer.send(attach{.name = name,
                         .handle = handle{number},
                         .role = role::sender,
                         .target = {nowhere},
                         .initial_delivery_count = sequence_number{0}});
    };
    link("first", 0);
    link("second", 1);
    auto const c = connections.next().accept();
    auto const s = sessions.next().accept();
    auto const first = links.next();
    auto const second = links.next();
    EXPECT_EQ(first.name() + " " + second.name(), "first second");
    auto const b = second.accept_receiver();
    auto const a = first.accept_receiver();
    peer.expect_header(protocol_id::amqp);
    EXPECT_EQ(peer.skip_to<attach>()->name, "second");
    EXPECT_EQ(peer.skip_to<attach>()->name, "first");
}

TEST_F(Listener, RefusesALinkAsTheStandardAsks)
{
    listen({.on_link = [](link_request r) {
        r.refuse({.condition = condition::unauthorized_access,
                  .description = "not for you",
                  .info = {}});
    }});
    auto const c = connect();
    EXPECT_THAT(failure_of([&] { std::ignore = c.open_sender("x"); }),
                HasSubstr("amqp:unauthorized-access: not for you"));
    EXPECT_THAT(failure_of([&] { std::ignore = c.open_receiver("x"); }),
                HasSubstr("amqp:unauthorized-access: not for you"));
    EXPECT_FALSE(c.error()) << "only the link suffers";
}

TEST_F(Listener, RefusesWhatNobodyAnswers)
{
    listen({.on_link = [](link_request const&) {}});
    auto const c = connect();
    EXPECT_THAT(failure_of([&] { std::ignore = c.open_sender("x"); }),
                HasSubstr("amqp:not-allowed"));
}

TEST_F(Listener, WithoutAHandlerTakesNoLinks)
{
    listen();
    auto const c = connect();
    EXPECT_THAT(failure_of([&] { std::ignore = c.open_sender("x"); }), HasSubstr("amqp:not-found"));
}

TEST_F(Listener, RefusesASession)
{
    listen({.on_session = [](session_request r) {
        r.refuse({.condition = "app:full", .description = {}, .info = {}});
    }});
    auto const c = connect();
    auto const s = c.begin();
    EXPECT_THAT(failure_of([&] { std::ignore = s.open_sender("x"); }), HasSubstr("app:full"));
}

TEST_F(Listener, RefusesAConnection)
{
    listen({.on_connection = [](connection_request r) {
        r.refuse({.condition = "app:closed-today", .description = {}, .info = {}});
    }});
    EXPECT_THAT(failure_of([&] {
                    auto const c = connect();
                    std::ignore = c.begin();
                }),
                HasSubstr("app:closed-today"));
}

TEST_F(Listener, ChecksAPassword)
{
    client::listener_options o;
    o.check_password = [](std::string_view name, std::string_view password) {
        if (name == "bad")
            throw std::runtime_error{"no users today"};
        return name == "anna" && password == "secret";
    };
    listen({.on_connection = [&](connection_request r) { connections.add(r); }}, std::move(o));
    auto asking = in_background([&] { return connect("anna:secret@"); });
    auto const asked = connections.next();
    EXPECT_EQ(asked.user(), "anna");
    auto const held = asked.accept();
    EXPECT_TRUE(get(asking).value.value().valid());
    EXPECT_THAT(failure_of([&] { connect("anna:wrong@"); }), HasSubstr("refused the user"));
    EXPECT_THAT(failure_of([&] { connect("bad:secret@"); }), HasSubstr("refused the user"));
    EXPECT_THAT(failure_of([&] { connect(); }), HasSubstr("PLAIN"));
    EXPECT_THAT(failure_of([&] { connect("", "?sasl=none"); }), HasSubstr("SASL"));
}

// Nothing that is slow is done for more of them than a number.
TEST_F(Listener, TellsAPeerToComeBackWhenTooManyPasswordsWait)
{
    std::promise<void> asked;
    std::promise<void> answer;
    std::atomic<int> calls{0};
    client::listener_options o;
    o.password_checks_max = 1;
    o.check_password = [&, last = answer.get_future().share()](std::string_view,
                                                               std::string_view password) {
        if (calls++ == 0)
            asked.set_value();
        last.wait_for(20s);
        return password == "secret";
    };
    listen({}, std::move(o));
    auto slow = in_background([&] { return connect("anna:secret@"); });
    ASSERT_EQ(asked.get_future().wait_for(20s), std::future_status::ready);
    EXPECT_THAT(failure_of([&] { connect("eve:guess@"); }),
                AllOf(HasSubstr("sys-temp"), HasSubstr("try again later")));
    EXPECT_EQ(calls, 1);
    answer.set_value();
    EXPECT_TRUE(get(slow).value.value().valid());
    EXPECT_TRUE(connect("anna:secret@").valid()) << "there is room again";
}

TEST_F(Listener, TakesPeersWithAndWithoutSasl)
{
    listen();
    EXPECT_TRUE(connect("", "?sasl=none").valid());
    EXPECT_TRUE(connect("", "?sasl=anonymous").valid());
    EXPECT_TRUE(connect("any:body@").valid());
}

TEST_F(Listener, GivesALinkOfItsOwnToItsPeer)
{
    listen({.on_link = [&](link_request r) { links.add(r); }});
    auto const c = connect();
    auto asking = in_background([&] { return c.open_sender("requests"); });
    auto const asked = links.next();
    auto const in = asked.accept_receiver();
    auto const out = get(asking).value.value();
    EXPECT_THAT(failure_of([&] { std::ignore = asked.session().open_sender("back"); }),
                HasSubstr("amqp:not-allowed"))
        << "a client takes no links from its peer";
}

TEST_F(Listener, NamesADynamicAddress)
{
    listen({.on_link = [&](link_request r) {
        auto o = r.sender_defaults();
        o.source.address = "made-up-7";
        senders.add(r.accept_sender(o));
    }});
    client::receiver_options o;
    o.source.dynamic = true;
    EXPECT_EQ(connect().open_receiver("ignored", o).address(), "made-up-7");
}

TEST_F(Listener, LearnsThatAConnectionIsOver)
{
    listen({.on_closed = [&](connection const&, client::failure_ptr why) { ends.add(why); }});
    connect().close();
    EXPECT_EQ(ends.next()->code, error::connection_closed_by_peer);
}

TEST_F(Listener, ClosesASocketThatSaysNothing)
{
    client::listener_options o;
    o.handshake_timeout = 50ms;
    listen({}, std::move(o));
    scripted_peer peer;
    peer.connect_to(listening.port());
    EXPECT_TRUE(peer.at_end());
}

TEST_F(Listener, LetsTheNextWaitBeyondItsConnections)
{
    client::listener_options o;
    o.connections_max = 1;
    listen({}, std::move(o));
    auto first = connect();
    auto asking = in_background([&] { return connect(); });
    EXPECT_EQ(asking.wait_for(100ms), std::future_status::timeout);
    first.close();
    EXPECT_TRUE(get(asking).value.value().valid());
}

TEST_F(Listener, WaitsForSendsAsLongAsTheyTakeWithoutATimeOut)
{
    for (auto const limit :
         {client::no_timeout, std::chrono::milliseconds{1'000'000'000'000'000}}) {
        client::listener_options o;
        o.stop_timeout = limit;
        listen({.on_link = [&](link_request r) { senders.add(r.accept_sender()); }}, std::move(o));
        auto const in = connect().open_receiver("x");
        auto const out = senders.next();
        auto sending = in_background([&] { return out.send("last words"); });
        auto const d = in.receive(20s);
        auto stopping = in_background([&] { listening.stop(); });
        EXPECT_EQ(stopping.wait_for(50ms), std::future_status::timeout) << limit.count();
        d.accept();
        auto const sent = get(sending);
        ASSERT_TRUE(sent.value) << sent.what;
        EXPECT_TRUE(sent.value->accepted());
        get(std::move(stopping));
    }
}

TEST_F(Listener, StopsWithAReasonOnceSendsAreDone)
{
    listen({.on_link = [&](link_request r) { senders.add(r.accept_sender()); }});
    auto const in = connect().open_receiver("x");
    auto const out = senders.next();
    auto sending = in_background([&] { return out.send("last words"); });
    auto const d = in.receive(20s);
    auto stopping = in_background([&] { listening.stop(); });
    EXPECT_EQ(stopping.wait_for(50ms), std::future_status::timeout) << "a send is under way";
    d.accept();
    EXPECT_TRUE(get(sending).value.value().accepted());
    get(std::move(stopping));
    EXPECT_THAT(failure_of([&] { std::ignore = in.receive(20s); }),
                HasSubstr("amqp:connection:forced: the server is stopping"));
    EXPECT_THAT(failure_of([&] { connect(); }), HasSubstr("cannot connect"));
}

TEST_F(Listener, ThatGoesTakesNoMoreButKeepsWhatIsOpen)
{
    listen();
    auto const c = connect();
    auto const where = url();
    listening = {};
    EXPECT_NO_THROW(std::ignore = c.begin());
    EXPECT_FALSE(c.error());
}

TEST_F(Listener, CannotListenWhereSomebodyElseDoes)
{
    listen();
    EXPECT_THAT(failure_of([&] { std::ignore = user.listen("127.0.0.1", listening.port()); }),
                HasSubstr("is the port in use"));
}

TEST_F(Listener, BoundsTheOctetsOfUnfinishedMessages)
{
    client::listener_options o;
    o.connection_buffered_max = 1u << 20;
    o.session.buffered_bytes_max = 64u << 20;
    listen({.on_link = [&](link_request r) { receivers.add(r.accept_receiver()); }}, std::move(o));
    auto const c = connect();
    auto const out = c.open_sender("x");
    auto const held = receivers.next();
    client::encoded_message big;
    message_writer{big.octets}.data(bytes(16u << 20));
    EXPECT_THAT(failure_of([&] { std::ignore = out.send(std::move(big)); }),
                HasSubstr("amqp:resource-limit-exceeded"));
}

}  // namespace
}  // namespace sluice::test
