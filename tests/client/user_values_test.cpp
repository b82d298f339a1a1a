// Values that a peer would close the connection for, and settings that cannot work: refused where
// they are handed over, by name, with the connection as it was.
#include "support/client_rig.hpp"

#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace sluice::test {
namespace {

using client::connection_options;
using std::chrono::milliseconds;

bool has(std::string const& text, std::string_view part) { return text.find(part) != text.npos; }

constexpr char not_utf8[] = "a\xff";
constexpr char not_ascii[] = "\xc3\xa4";

bytes junk() { return {std::byte{0xd1}, std::byte{0}, std::byte{0}, std::byte{0}}; }

/// Two values where one has to be.
bytes too_much() { return {std::byte{0x40}, std::byte{0x40}}; }

/// What a call says that refuses its argument.
template <class F>
std::string refused(F f)
{
    auto const r = get(in_background(std::move(f)));
    EXPECT_EQ(r.code, error::invalid_argument) << r.what;
    return r.what;
}

template <class Change>
std::string refused_connection(Change change, std::string const& url = "amqp://127.0.0.1:1")
{
    client::container c;
    connection_options o;
    change(o);
    return refused([&] { return c.connect(url, o); });
}

template <class Change>
std::string refused_sender(client_rig& rig, Change change)
{
    client::sender_options o;
    change(o);
    return refused([&] { return rig.session.open_sender("q", o); });
}

template <class Change>
std::string refused_receiver(client_rig& rig, Change change)
{
    client::receiver_options o;
    change(o);
    return refused([&] { return rig.session.open_receiver("q", o); });
}

/// Still there, and nothing came before this.
void expect_as_it_was(client_rig& rig)
{
    auto call = in_background([&] { return rig.session.open_sender("good"); });
    rig.peer.expect<attach>();
    rig.peer.shut();
    get(call);
}

TEST(UserValues, AContainersIdIsText)
{
    EXPECT_TRUE(
        has(refused([] { client::container{not_utf8}; }), "container_options::id is not UTF-8"));
}

TEST(UserValues, OptionsOfConnectionsThatCannotGoOutAreNamed)
{
    using o = connection_options;
    EXPECT_TRUE(has(refused_connection([](o& c) { c.hostname = not_utf8; }),
                    "connection_options::hostname is not UTF-8"));
    EXPECT_TRUE(has(refused_connection([](o& c) {
                        c.offered_capabilities = {"a", not_ascii};
                    }),
                    "offered_capabilities has other than ASCII"));
    EXPECT_TRUE(has(refused_connection([](o& c) { c.desired_capabilities = {not_ascii}; }),
                    "desired_capabilities"));
    EXPECT_TRUE(has(refused_connection([](o& c) { c.properties = junk(); }),
                    "properties is not an encoded value"));
    EXPECT_TRUE(has(refused_connection([](o& c) { c.properties = too_much(); }),
                    "properties has 1 octets after its value"));
    EXPECT_TRUE(has(refused_connection([](o& c) { c.properties = encoded(true); }),
                    "properties is not an encoded map"));
    EXPECT_TRUE(has(refused_connection([](o& c) {
                        c.properties = encoded(value{value_map{{value{"text"}, value{1}}}});
                    }),
                    "properties has a key that is no symbol"));
}

TEST(UserValues, AHostThatIsNotTextIsNoUrlWhereverItIsGiven)
{
    client::container c;
    auto const first = get(in_background([&] { return c.connect("amqp://a%ff"); }));
    EXPECT_EQ(first.code, error::invalid_url);
    EXPECT_TRUE(has(first.what, "host of the URL is not UTF-8")) << first.what;
    connection_options o;
    o.reconnect.emplace().urls = {"a%ff"};
    auto const next = get(in_background([&] { return c.connect("amqp://127.0.0.1:1", o); }));
    EXPECT_EQ(next.code, error::invalid_url);
    EXPECT_TRUE(has(next.what, "host of the URL is not UTF-8")) << next.what;
}

TEST(UserValues, OptionsOfConnectionsThatCannotWorkAreNamed)
{
    using o = connection_options;
    EXPECT_TRUE(has(refused_connection([](o& c) { c.input_buffer_size = 0; }),
                    "input_buffer_size is 0; 1 at least"));
    EXPECT_TRUE(
        has(refused_connection([](o& c) { c.output_buffer_size = 0; }), "output_buffer_size"));
    EXPECT_TRUE(has(refused_connection([](o& c) { c.max_frame_size = 511; }),
                    "max_frame_size is 511; 512 at least"));
    EXPECT_TRUE(
        has(refused_connection([](o& c) { c.outgoing_frame_max = 1; }), "outgoing_frame_max"));
    EXPECT_TRUE(has(refused_connection([](o& c) { c.timeout = milliseconds{-1}; }),
                    "connection_options::timeout is negative"));
    EXPECT_TRUE(
        has(refused_connection([](o& c) { c.idle_timeout = milliseconds{-1}; }), "idle_timeout"));
    auto const back = [](auto change) {
        return refused_connection([&](o& c) { change(c.reconnect.emplace()); });
    };
    using r = client::reconnect_options;
    EXPECT_TRUE(has(back([](r& b) { b.initial_delay = milliseconds{-1}; }),
                    "reconnect_options::initial_delay is negative"));
    EXPECT_TRUE(has(back([](r& b) { b.max_delay = milliseconds{-1}; }), "max_delay"));
    EXPECT_TRUE(has(back([](r& b) { b.give_up_after = milliseconds{-1}; }), "give_up_after"));
    EXPECT_TRUE(has(back([](r& b) { b.keep_links = std::chrono::seconds{-1}; }), "keep_links"));
    EXPECT_TRUE(has(back([](r& b) { b.factor = 0.5; }), "factor"));
    EXPECT_TRUE(has(back([](r& b) { b.jitter = 2; }), "jitter"));
}

TEST(UserValues, ATimeOfZeroIsTheDefaultOfAConnection)
{
    auto options = strict();
    options.timeout = milliseconds{0};
    client_rig rig{{.next_outgoing_id = transfer_id{0}, .next_delivery_id = delivery_number{0}},
                   options};
    EXPECT_EQ(rig.connection.error(), nullptr);
    EXPECT_TRUE(rig.sender().valid());
}

TEST(UserValues, AListenersOptionsAreLookedAtAsWell)
{
    client::container c;
    client::listener_options o;
    o.connection.input_buffer_size = 0;
    EXPECT_TRUE(has(refused([&] { return c.listen("127.0.0.1", 0, o); }),
                    "connection_options::input_buffer_size"));
    o = {};
    o.stop_timeout = milliseconds{-1};
    EXPECT_TRUE(has(refused([&] { return c.listen("127.0.0.1", 0, o); }), "stop_timeout"));
    o = {};
    o.password_checks_max = 0;  // every login would be told to come again later
    EXPECT_TRUE(has(refused([&] { return c.listen("127.0.0.1", 0, o); }),
                    "password_checks_max is 0; 1 at least"));
}

TEST(UserValues, OptionsOfSessionsAreNamed)
{
    client_rig rig;
    client::session_options o;
    o.properties = junk();
    EXPECT_TRUE(has(refused([&] { return rig.connection.begin(o); }),
                    "session_options::properties is not an encoded value"));
    o = {};
    o.timeout = milliseconds{-1};
    EXPECT_TRUE(has(refused([&] { return rig.connection.begin(o); }), "timeout is negative"));
    expect_as_it_was(rig);
}

TEST(UserValues, OptionsOfLinksAreNamedAndNothingGoesOut)
{
    client_rig rig;
    using s = client::sender_options;
    using r = client::receiver_options;
    EXPECT_TRUE(has(refused_sender(rig, [](s& o) { o.name = not_utf8; }),
                    "sender_options::name is not UTF-8"));
    EXPECT_TRUE(has(refused_sender(rig, [](s& o) { o.properties = junk(); }), "properties"));
    EXPECT_TRUE(has(refused_sender(rig, [](s& o) { o.encoded_target = junk(); }),
                    "encoded_target is not an encoded value"));
    EXPECT_TRUE(has(refused_sender(rig, [](s& o) { o.encoded_target = encoded(true); }),
                    "encoded_target is not a described value"));
    EXPECT_TRUE(has(refused_sender(rig, [](s& o) { o.desired_capabilities = {not_ascii}; }),
                    "desired_capabilities"));
    EXPECT_TRUE(has(refused_sender(rig, [](s& o) { o.target.capabilities = {not_ascii}; }),
                    "sender_options::target.capabilities has other than ASCII"));
    EXPECT_TRUE(has(refused([&] { return rig.session.open_sender(not_utf8); }),
                    "sender_options::target.address is not UTF-8"));
    EXPECT_TRUE(has(refused_receiver(rig, [](r& o) { o.source.filter = junk(); }),
                    "receiver_options::source.filter is not an encoded value"));
    EXPECT_TRUE(has(refused_receiver(rig, [](r& o) { o.source.expiry_policy = not_ascii; }),
                    "source.expiry_policy"));
    EXPECT_TRUE(has(refused_receiver(rig, [](r& o) { o.source.default_outcome = junk(); }),
                    "source.default_outcome"));
    EXPECT_TRUE(
        has(refused_receiver(rig, [](r& o) { o.inbox_max = 0; }), "inbox_max is 0; 1 at least"));
    EXPECT_TRUE(has(refused_receiver(rig, [](r& o) { o.timeout = milliseconds{-1}; }),
                    "timeout is negative"));
    expect_as_it_was(rig);
}

TEST(UserValues, ALinkThatWasRefusedTellsWhyAndItsNoticesEnd)
{
    client_rig rig;
    client::sender_options o;
    o.name = not_utf8;
    std::promise<client::sender> opened;
    rig.session.async_open_sender("q", o, [&](error_code code, client::sender s) {
        EXPECT_EQ(code, error::invalid_argument);
        opened.set_value(std::move(s));
    });
    auto const sender = get(opened.get_future());
    EXPECT_TRUE(has(sender.error()->text, "sender_options::name"));
    EXPECT_TRUE(sender.detached().closed());
    EXPECT_EQ(get(in_background([&] { sender.send("x"); })).code, error::invalid_argument);
}

TEST(UserValues, ASendsStateAndTagAreLookedAt)
{
    client_rig rig;
    auto const sender = rig.sender(10);
    auto const said = [&](client::send_options const& o) {
        return refused([&] { return sender.send("x", o); });
    };
    EXPECT_TRUE(has(said({.state = junk()}), "send_options::state is not an encoded value"));
    EXPECT_TRUE(has(said({.state = encoded(true)}), "state is not a described value"));
    auto const inner = encoded(true);
    EXPECT_TRUE(has(said({.state = encoded(delivery_state{transactional_state{
                              .txn_id = bytes_view{encoded_accepted}, .outcome = {inner}}})}),
                    "send_options::state has an outcome that is not a described value"));
    EXPECT_TRUE(has(said({.tag = bytes(33)}), "send_options::tag has 33 octets; 32 at most"));
    EXPECT_TRUE(has(said({.timeout = milliseconds{-1}}), "send_options::timeout is negative"));
    EXPECT_TRUE(has(refused([&] { return sender.stream({.state = junk()}); }), "state"));
    auto good = in_background([&] {
        return sender.async_send("text", {.tag = bytes(32)}, boost::asio::use_future).get();
    });
    EXPECT_EQ(rig.peer.expect<transfer>()->delivery_tag->size(), 32u);
    rig.peer.settle(0, 0);
    EXPECT_TRUE(get(good).value->accepted());
}

TEST(UserValues, AnAnswerThatCannotBeSentLeavesTheDeliveryWithoutOne)
{
    client_rig rig;
    auto const receiver = rig.receiver();
    auto receiving = in_background([&] { return receiver.receive(); });
    rig.peer.skip_to<flow>();
    rig.peer.send(transfer{.handle = handle{0},
                           .delivery_id = delivery_number{0},
                           .delivery_tag = bytes_view{encoded_accepted}},
                  0, data_message("x"));
    auto const delivery = get(receiving).value.value();
    EXPECT_TRUE(has(refused([&] { delivery.answer(junk()); }), "encoded_state"));
    EXPECT_TRUE(has(refused([&] { delivery.settle(encoded(true)); }), "not a described value"));
    EXPECT_TRUE(has(refused([&] { delivery.modify({.message_annotations = junk()}); }),
                    "modification::message_annotations"));
    EXPECT_TRUE(has(refused([&] { delivery.reject({.condition = not_ascii}); }),
                    "amqp_error::condition has other than ASCII"));
    EXPECT_TRUE(has(refused([&] {
                        delivery.reject({.condition = "amqp:not-allowed", .description = not_utf8});
                    }),
                    "amqp_error::description is not UTF-8"));
    EXPECT_TRUE(
        has(refused([&] { delivery.reject({.condition = "amqp:not-allowed", .info = junk()}); }),
            "amqp_error::info"));
    EXPECT_FALSE(delivery.answered());
    delivery.accept();
    EXPECT_TRUE(rig.peer.skip_to<disposition>()->settled);
}

TEST(UserValues, AnErrorThatCannotBeSentClosesNothing)
{
    client_rig rig;
    auto const sender = rig.sender();
    amqp_error const bad{.condition = "amqp:internal-error", .description = not_utf8};
    EXPECT_TRUE(has(refused([&] { sender.close(bad); }), "amqp_error::description"));
    EXPECT_TRUE(has(refused([&] { rig.session.end(bad); }), "amqp_error::description"));
    EXPECT_TRUE(has(refused([&] { rig.connection.close(bad); }), "amqp_error::description"));
    EXPECT_EQ(sender.error(), nullptr);
    expect_as_it_was(rig);
}

// ---- connectors

TEST(UserValues, AConnectorThatGivesNothingBackFailsTheConnect)
{
    client::container c;
    connection_options o;
    o.connector = [](auto&&, auto&&, auto&&, auto&&) { return nullptr; };
    auto const r = get(in_background([&] { return c.connect("amqp://h", o); }));
    EXPECT_EQ(r.code, error::connect_failed);
    EXPECT_TRUE(has(r.what, "connection_options::connector gave nothing back")) << r.what;
}

TEST(UserValues, AConnectorThatThrowsFailsTheConnectWithWhatItThrew)
{
    client::container c;
    connection_options o;
    o.connector = [](auto&&, auto&&, auto&&, auto&&) -> std::shared_ptr<net::tcp_connect> {
        throw std::runtime_error{"no way out"};
    };
    auto const r = get(in_background([&] { return c.connect("amqp://h", o); }));
    EXPECT_EQ(r.code, error::connect_failed);
    EXPECT_TRUE(has(r.what, "connector threw: no way out")) << r.what;
    o.connector = [](auto&&, auto&&, auto&&, auto&&) -> std::shared_ptr<net::tcp_connect> {
        throw 7;
    };
    EXPECT_EQ(get(in_background([&] { return c.connect("amqp://h", o); })).code,
              error::connect_failed);
}

TEST(UserValues, ARecoveryOutlivesConnectorsThatFail)
{
    auto const calls = std::make_shared<std::atomic<int>>(0);
    auto options = strict();
    options.reconnect =
        client::reconnect_options{.initial_delay = milliseconds{1}, .max_delay = milliseconds{2}};
    options.connector = [calls](auto&& on, auto&& host, auto port,
                                auto&& done) -> std::shared_ptr<net::tcp_connect> {
        switch (calls->fetch_add(1)) {
        case 1: throw std::runtime_error{"not now"};
        case 2: return nullptr;
        default: return net::connect_tcp(on, host, port, {}, done);
        }
    };
    client_rig rig{{}, options};
    rig.peer.shut();
    rig.peer.open_connection();
    rig.peer.begin_session();
    EXPECT_EQ(calls->load(), 4);
}

}  // namespace
}  // namespace sluice::test
