// Requests and replies through a node: dynamic reply addresses and the anonymous relay are its.
#include <sluice/client/client.hpp>
#include <sluice/client/requester.hpp>
#include <sluice/client/responder.hpp>
#include <sluice/node/node.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace sluice::test {
namespace {

using client::requester;
using client::requester_options;
using client::responder;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct rig {
    node::node broker;
    client::container container;
    client::connection connection;

    rig()
    {
        auto const port = broker.listen("127.0.0.1", 0).value();
        connection = container.connect("amqp://127.0.0.1:" + std::to_string(port));
    }
    client::session session() const { return connection.begin(); }
};

template <class F>
void eventually(F holds)
{
    auto const until = std::chrono::steady_clock::now() + seconds{10};
    while (!holds() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    EXPECT_TRUE(holds());
}

message doubled(message const& m) { return message{*m.body_text() + *m.body_text()}; }

template <class F>
client::error_code code_of(F f)
{
    try {
        f();
    } catch (boost::system::system_error const& e) {
        return e.code();
    }
    return {};
}

TEST(Requests, GetTheirOwnReply)
{
    rig const r;
    auto const serving = responder::open(r.session(), "double", doubled);
    auto const service = requester::open(r.session(), "double");
    EXPECT_FALSE(service.reply_address().empty());
    EXPECT_EQ(service.request(message{"ab"}).body_text(), "abab");

    std::vector<std::future<message>> replies;
    for (int i = 0; i < 200; ++i)
        replies.push_back(
            service.async_request(message{std::to_string(i)}, boost::asio::use_future));
    for (int i = 0; i < 200; ++i)
        EXPECT_EQ(replies[static_cast<std::size_t>(i)].get().body_text(),
                  std::to_string(i) + std::to_string(i));
    auto const counted = service.counters();
    EXPECT_EQ(counted.requests, 201u);
    EXPECT_EQ(counted.replies, 201u);
    EXPECT_EQ(counted.waiting, 0u);
    EXPECT_EQ(serving.served(), 201u);
}

TEST(Requests, KeepAnIdOfYoursAndAnAddressOfYours)
{
    rig const r;
    auto const serving = responder::open(
        r.session(), "ids", [](message const& m) { return message{m.properties.message_id}; });
    requester_options options;
    options.reply_to = "my.replies";
    auto const service = requester::open(r.session(), "ids", options);
    EXPECT_EQ(service.reply_address(), "my.replies");
    message m{"x"};
    m.properties.message_id = std::uint64_t{42};
    EXPECT_EQ(*service.request(m).body_value(), value{std::uint64_t{42}});
}

TEST(Requests, EndAtTheirDeadlineAndDropTheLateReply)
{
    rig const r;
    std::promise<client::incoming_request> kept;
    auto const serving = responder::open(
        r.session(), "slow",
        responder::handler{[&](client::incoming_request const& asked) { kept.set_value(asked); }});
    auto const service = requester::open(r.session(), "slow");
    EXPECT_EQ(code_of([&] { service.request(message{"x"}, milliseconds{500}); }), error::timed_out);
    kept.get_future().get().reply(message{"late"});
    eventually([&] { return service.counters().late == 1; });
    EXPECT_EQ(service.counters().waiting, 0u);
}

TEST(Requests, WaitForTheirReplyWhateverIsLongerThanAClockCounts)
{
    constexpr auto huge = milliseconds::max() - milliseconds{1};
    rig const r;
    auto const serving = responder::open(r.session(), "double", doubled);
    requester_options options;
    options.timeout = huge;
    auto const service = requester::open(r.session(), "double", options);
    EXPECT_EQ(service.request(message{"ab"}).body_text(), "abab");
    EXPECT_EQ(service.request(message{"cd"}, huge).body_text(), "cdcd");
}

TEST(Requests, CanBeCancelled)
{
    rig const r;
    auto const service = requester::open(r.session(), "nobody");
    boost::asio::cancellation_signal signal;
    std::promise<client::error_code> code;
    service.async_request(message{"x"}, boost::asio::bind_cancellation_slot(
                                            signal.slot(), [&](client::error_code c, message) {
                                                code.set_value(c);
                                            }));
    eventually([&] { return service.counters().waiting == 1; });
    signal.emit(boost::asio::cancellation_type::terminal);
    EXPECT_EQ(code.get_future().get(), error::operation_aborted);
    // The next one is served as if nothing had been.
    auto const serving = responder::open(r.session(), "nobody", doubled);
    EXPECT_EQ(service.request(message{"y"}).body_text(), "yy");
}

TEST(Requests, AreRejectedAndNotAskedAgainWhenTheirFunctionThrows)
{
    rig const r;
    std::atomic<int> asked{0};
    auto const serving =
        responder::open(r.session(), "angry", responder::function{[&](message const& m) -> message {
                            ++asked;
                            if (m.body_text() == "x")
                                throw std::runtime_error{"no such tea"};
                            throw 7;
                        }});
    auto const service = requester::open(r.session(), "angry");
    // The broker has taken the request; that its server rejects it is between those two.
    for (auto const* text : {"x", "y"})
        EXPECT_EQ(code_of([&] { service.request(message{text}, milliseconds{500}); }),
                  error::timed_out);
    // Before the second is in the queue, it is as empty as after.
    eventually([&] { return asked == 2 && r.broker.read("angry").value().length == 0; });
}

TEST(Requests, AreBoundedInNumber)
{
    rig const r;
    requester_options options;
    options.waiting_max = 1;
    auto const service = requester::open(r.session(), "nobody", options);
    auto first = service.async_request(message{"x"}, boost::asio::use_future);
    EXPECT_EQ(code_of([&] { service.request(message{"y"}); }), error::queue_full);
    service.close();
    EXPECT_EQ(code_of([&] { first.get(); }), error::closed_locally);
    EXPECT_EQ(code_of([&] { service.request(message{"z"}); }), error::closed_locally);
}

TEST(Requests, EndWithTheirConnection)
{
    rig r;
    auto const service = requester::open(r.session(), "nobody");
    auto waiting = service.async_request(message{"x"}, boost::asio::use_future);
    eventually([&] { return service.counters().waiting == 1; });
    r.broker.stop();
    EXPECT_TRUE(code_of([&] { waiting.get(); }));
}

TEST(Requests, EndWhenTheLastHandleGoes)
{
    rig const r;
    auto service = requester::open(r.session(), "nobody");
    auto waiting = service.async_request(message{"x"}, boost::asio::use_future);
    service = {};
    EXPECT_EQ(code_of([&] { waiting.get(); }), error::operation_aborted);
}

TEST(Requests, MayBlockInAHandlerOfTheSameSession)
{
    rig const r;
    auto const session = r.session();
    auto const serving = responder::open(r.session(), "double", doubled);
    auto const service = requester::open(session, "double");
    std::promise<std::string> got;
    auto const in = session.open_receiver("in");
    in.on_message([&](client::delivery const& d) {
        got.set_value(service.request(d.message()).body_text().value_or(""));
        d.accept();
    });
    session.open_sender("in").send("z");
    EXPECT_EQ(got.get_future().get(), "zz");
}

}  // namespace
}  // namespace sluice::test
