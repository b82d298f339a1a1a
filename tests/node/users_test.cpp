// Users of a node: how they log in, what each may do, and what becomes of that when the users
// change.
#include "support/node_rig.hpp"

#include <sluice/client/client.hpp>

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

net::sasl_user user(std::string name, std::string_view password,
                    std::vector<net::access_grant> grants = {})
{
    net::sasl_user u{.name = std::move(name), .keys = {}, .grants = std::move(grants)};
    for (auto const h : {net::scram_hash::sha256, net::scram_hash::sha512})
        u.keys.push_back(
            *net::derive_scram_keys(h, password, octets_of("salt of 16 bytes"), 4'096));
    return u;
}

/// ada may do everything with what begins with "orders", bob send to "inbox" and nothing else.
std::string usual_file()
{
    using net::access;
    static auto const text =
        net::sasl_user_line(user(
            "ada", "lovelace",
            {{access::read, "orders*"}, {access::write, "orders*"}, {access::manage, "orders*"}}))
        + "\n" + net::sasl_user_line(user("bob", "builder", {{access::write, "inbox"}})) + "\n";
    return text;
}

std::shared_ptr<net::sasl_users const> users_of(std::string const& text)
{
    std::string fault;
    auto users = net::sasl_users::parse(text, "users", &fault);
    EXPECT_TRUE(users) << fault;
    return std::make_shared<net::sasl_users const>(std::move(*users));
}

node::node_options with_users(std::string const& text = usual_file())
{
    node::node_options o;
    o.users = users_of(text);
    return o;
}

struct users_rig : node_rig {
    explicit users_rig(node::node_options o = with_users()) : node_rig{std::move(o)} {}

    std::unique_ptr<raw_client> login(std::string const& name, std::string const& password,
                                      std::string_view container = "peer")
    {
        auto c = std::make_unique<raw_client>(port);
        auto const response =
            octets_of(std::string(1, '\0') + name + std::string(1, '\0') + password);
        c->send_header(protocol_id::sasl);
        c->send_sasl(sasl_init{.mechanism = "PLAIN", .initial_response = bytes_view{response}});
        EXPECT_TRUE(c->until("outcome").ends_with("outcome(0)"));
        c->send_header();
        c->send(raw_client::usual_open(container));
        c->start_sessions();
        return c;
    }
    std::unique_ptr<raw_client> ada() { return login("ada", "lovelace"); }
    std::unique_ptr<raw_client> bob() { return login("bob", "builder"); }

    /// What a client of the library hears; "open" if it may come in.
    std::string connect(std::string const& who, std::string const& query = {})
    {
        client::container container;
        try {
            auto const c =
                container.connect("amqp://" + who + "@127.0.0.1:" + std::to_string(port) + query);
            c.close();
            return "open";
        } catch (boost::system::system_error const& e) {
            return e.what();
        }
    }
};

// ---- logging in

TEST(NodeUsers, AreOfferedTheStrongestMechanismFirst)
{
    users_rig n;
    raw_client c{n.port};
    c.send_header(protocol_id::sasl);
    EXPECT_EQ(c.until("mechanisms"), "SASL mechanisms(SCRAM-SHA-512 SCRAM-SHA-256 PLAIN)");
}

TEST(NodeUsers, LogInByEveryMechanismThatIsOffered)
{
    users_rig n;
    EXPECT_EQ(n.connect("ada:lovelace"), "open");
    for (auto const* const name : {"SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"}) {
        auto const query = std::string{"?sasl="} + name;
        EXPECT_EQ(n.connect("ada:lovelace", query), "open") << name;
        for (auto const* const wrong : {"ada:love", "ada:", "eve:lovelace", "bob:lovelace"})
            EXPECT_THAT(n.connect(wrong, query), AllOf(HasSubstr("refused the user or password"),
                                                       HasSubstr(name), Not(HasSubstr("love"))))
                << name << " " << wrong;
    }
    EXPECT_THAT(n.connect("ada:lovelace", "?sasl=anonymous"), HasSubstr("no common SASL"));
    EXPECT_THAT(n.connect("ada:lovelace", "?sasl=none"), HasSubstr("SASL"));
    EXPECT_THAT(n.connect("ada:lovelace", "?sasl=SCRAM-SHA-1"), HasSubstr("no common SASL"));
}

TEST(NodeUsers, LogInWithAnOrderOfTheirOwn)
{
    users_rig n;
    client::container container;
    client::connection_options o;
    o.user = "ada";
    o.password = "lovelace";
    o.sasl_mechanisms = {"EXTERNAL-X"};
    auto const url = "amqp://127.0.0.1:" + std::to_string(n.port);
    try {
        container.connect(url, o);
        ADD_FAILURE() << "it was taken";
    } catch (boost::system::system_error const& e) {
        EXPECT_THAT(e.what(),
                    AllOf(HasSubstr("'EXTERNAL-X' is unknown"), HasSubstr("OAUTHBEARER")));
    }
    o.sasl_mechanisms = {"ANONYMOUS", "SCRAM-SHA-1", "SCRAM-SHA-256"};
    EXPECT_TRUE(container.connect(url, o).valid());
}

// [5.3.2] One exchange a connection: whoever guesses connects anew for each guess.
TEST(NodeUsers, HaveOneAttemptAConnection)
{
    users_rig n;
    raw_client c{n.port};
    c.send_header(protocol_id::sasl);
    auto const wrong = octets_of(std::string{"\0ada\0wrong", 10});
    sasl_init const init{.mechanism = "PLAIN", .initial_response = bytes_view{wrong}};
    c.send_sasl(init);
    c.send_sasl(init);
    EXPECT_TRUE(c.until("outcome").ends_with("outcome(1)"));
    EXPECT_EQ(c.next(), "EOF");
    raw_client again{n.port};
    again.send_header(protocol_id::sasl);
    auto const first = octets_of("n,,n=ada,r=abc");
    again.send_sasl(sasl_init{.mechanism = "SCRAM-SHA-256", .initial_response = bytes_view{first}});
    EXPECT_THAT(again.until("challenge"), HasSubstr("challenge("));
    again.send_sasl(init);  // another in the middle of the first
    EXPECT_EQ(again.next(), "EOF");
}

// Nothing that is slow is done for more of them than a number.
TEST(NodeUsers, AreToldToComeBackWhenTooManyPasswordsWait)
{
    auto o = with_users();
    o.password_checks_max = 0;
    users_rig n{std::move(o)};
    EXPECT_THAT(n.connect("ada:lovelace", "?sasl=PLAIN"),
                AllOf(HasSubstr("sys-temp"), HasSubstr("try again later")));
    EXPECT_EQ(n.connect("ada:lovelace", "?sasl=SCRAM-SHA-256"), "open") << "that is quick";
}

TEST(NodeUsers, AppearInNoTraceWithTheirSecrets)
{
    ::setenv("SLUICE_TRACE", "frames", 1);
    testing::internal::CaptureStderr();
    {
        users_rig n;
        for (auto const* const name : {"?sasl=SCRAM-SHA-512", "?sasl=PLAIN"}) {
            EXPECT_EQ(n.connect("ada:lovelace", name), "open");
            n.connect("ada:another-secret", name);
        }
    }
    ::unsetenv("SLUICE_TRACE");
    auto const text = testing::internal::GetCapturedStderr();
    EXPECT_THAT(text, HasSubstr("sasl-init mechanism=PLAIN initial-response=<hidden>"));
    EXPECT_THAT(text, HasSubstr("sasl-challenge challenge=<hidden>"));
    EXPECT_THAT(text, HasSubstr("sasl-response response=<hidden>"));
    EXPECT_THAT(text, HasSubstr("additional-data=<hidden>"));
    for (auto const* const secret :
         {"lovelace", "another-secret", "6c6f76656c616365", "bG92ZWxhY2", "n=ada", "p=", "i=4096"})
        EXPECT_THAT(text, Not(HasSubstr(secret)));
}

// ---- what each may do

constexpr auto unauthorized = "amqp:unauthorized-access";

// [2.6.3] Attach with a null terminus, then detach.
TEST(NodeUsers, AreRefusedALinkThatTheyMayNotHave)
{
    users_rig n;
    auto c = n.bob();
    c->receiver("r", "inbox");
    EXPECT_EQ(c->wire(), std::string{"attach(r h0 sender source=null target=) detach(h0 closed "}
                             + unauthorized + ")");
    EXPECT_EQ(c->description<detach>(), "user 'bob' may not read from 'inbox'");
    c->sender("s", "elsewhere");
    EXPECT_EQ(c->wire(), std::string{"attach(s h1 receiver source= target=null) detach(h1 closed "}
                             + unauthorized + ")");
    EXPECT_FALSE(n.node.read("inbox"));
    EXPECT_FALSE(n.node.read("elsewhere")) << "nothing comes into being";
    c->sender("t", "inbox");
    EXPECT_THAT(c->wire_without_flows(), StartsWith("attach(t h2 receiver source= target=inbox)"));
    c->deliver("t", "hello");
    EXPECT_THAT(c->wire_without_flows(), HasSubstr("accepted"));
}

TEST(NodeUsers, MayUseWhatTheirPrefixCovers)
{
    users_rig n;
    auto c = n.ada();
    c->sender("s", "orders.eu");
    c->receiver("r", "orders.eu");
    EXPECT_THAT(c->wire_without_flows(), HasSubstr("source=orders.eu"));
    c->deliver("s", "hello");
    c->credit("r", 1);
    EXPECT_THAT(c->wire_without_flows(), HasSubstr("'hello'"));
}

TEST(NodeUsers, MayNotSendElsewhereByTheAnonymousTerminus)
{
    users_rig n;
    auto c = n.bob();
    c->sender("s", "", [](attach&, source&, target& t) { t.address = {}; });
    EXPECT_THAT(c->wire_without_flows(), HasSubstr("attach(s h0 receiver"));
    auto const to = [](char const* address) {
        message m{"hello"};
        m.properties.to = address;
        return encoded(m);
    };
    c->deliver("s", to("orders"));
    c->deliver("s", to("inbox"));
    EXPECT_EQ(c->wire_without_flows(), std::string{"disposition(receiver 0 settled rejected:"}
                                           + unauthorized
                                           + ") disposition(receiver 1 settled accepted)");
    EXPECT_FALSE(n.node.read("orders"));
    c->deliver("s", to("orders"), [](transfer& t) { t.settled = true; });
    EXPECT_THAT(c->wire_without_flows(),
                HasSubstr(std::string{"detach(h0 closed "} + unauthorized));
}

TEST(NodeUsers, WhoMayWriteNowhereGetsNoAnonymousTerminus)
{
    users_rig n{
        with_users(net::sasl_user_line(user("ada", "lovelace", {{net::access::read, "*"}})))};
    auto c = n.ada();
    c->sender("s", "", [](attach&, source&, target& t) { t.address = {}; });
    EXPECT_THAT(c->wire_without_flows(), HasSubstr(unauthorized));
}

TEST(NodeUsers, MayNotPostElsewhereInATransaction)
{
    users_rig n;
    client::container container;
    auto const c = container.connect("amqp://bob:builder@127.0.0.1:" + std::to_string(n.port));
    auto const session = c.begin();
    auto const sender = session.open_sender("");
    auto const transaction = session.begin_transaction();
    message m{"hello"};
    m.properties.to = "orders";
    EXPECT_FALSE(sender.send(m, transaction.posting()).accepted());
    m.properties.to = "inbox";
    EXPECT_TRUE(sender.send(m, transaction.posting()).accepted());
    transaction.commit();
    EXPECT_EQ(n.node.read("inbox")->ready, 1u);
    EXPECT_FALSE(n.node.read("orders"));
}

/// "200", "403 why" and so on: what $management answers.
std::string managed(raw_client& c, std::string const& operation, std::string const& name,
                    message* reply = nullptr, std::string const& dead_letter = {})
{
    message m;
    m.application_properties["operation"] = operation;
    m.application_properties["name"] = name;
    m.properties.reply_to = "mine";
    if (!dead_letter.empty()) {
        value_map options;
        options["dead_letter"] = dead_letter;
        m.body = value{std::move(options)};
    }
    c.deliver("requests", encoded(m));
    while (true) {
        auto const f = c.next_frame().value();
        if (f.descriptor() != 0x14)
            continue;
        transfer t;
        auto in = f.body();
        message got;
        EXPECT_FALSE(decode(in, t));
        EXPECT_FALSE(decode(in, got));
        auto const code = got.application_properties.find("statusCode")->integer().value_or(0);
        if (reply)
            *reply = got;
        return std::to_string(code);
    }
}

void attach_management(raw_client& c)
{
    auto const mine = encoded(std::string_view{"mine"});
    c.sender("requests", "$management");
    c.receiver("replies", "$management", [&](attach&, source&, target& t) { t.address = {mine}; });
    c.credit("replies", 100);
}

TEST(NodeUsers, ManageOnlyWhatTheyMay)
{
    users_rig n;
    ASSERT_FALSE(n.node.declare("inbox"));
    auto c = n.ada();
    attach_management(*c);
    std::ignore = c->wire();
    EXPECT_EQ(managed(*c, "declare", "orders.eu"), "201");
    EXPECT_EQ(managed(*c, "declare", "inbox.eu"), "403");
    EXPECT_EQ(managed(*c, "declare", "orders.us", nullptr, "inbox"), "403")
        << "rejected messages would be a way to write there";
    EXPECT_EQ(managed(*c, "declare", "orders.us", nullptr, "orders.dead"), "201");
    EXPECT_EQ(managed(*c, "delete", "inbox"), "403");
    EXPECT_EQ(managed(*c, "purge", "inbox"), "403");
    EXPECT_EQ(managed(*c, "read", "inbox"), "403");
    EXPECT_EQ(managed(*c, "read", "nowhere"), "403") << "nor whether it is there";
    EXPECT_EQ(managed(*c, "read", "orders.eu"), "200");
    message list;
    EXPECT_EQ(managed(*c, "list", "", &list), "200");
    EXPECT_EQ(list.body_value()->get_if<value_list>()->size(), 2u) << "inbox is not hers to see";
    EXPECT_EQ(managed(*c, "delete", "orders.eu"), "204");
    EXPECT_TRUE(n.node.read("inbox"));
}

TEST(NodeUsers, WhoManagesNothingIsRefusedTheManagement)
{
    users_rig n;
    auto c = n.bob();
    attach_management(*c);
    auto const text = c->wire_without_flows();
    EXPECT_THAT(text, HasSubstr(std::string{"detach(h0 closed "} + unauthorized));
    EXPECT_THAT(text, HasSubstr(std::string{"detach(h1 closed "} + unauthorized));
}

// [2.6.1] A link is its user's: calling oneself the same takes over nothing.
TEST(NodeUsers, StealNoLinkOfAnotherUser)
{
    auto const all =
        std::vector<net::access_grant>{{net::access::read, "*"}, {net::access::write, "*"}};
    users_rig n{with_users(net::sasl_user_line(user("ada", "lovelace", all)) + "\n"
                           + net::sasl_user_line(user("bob", "builder", all)))};
    auto a = n.login("ada", "lovelace", "same");
    a->receiver("r");
    std::ignore = a->wire();
    auto b = n.login("bob", "builder", "same");
    b->receiver("r");
    EXPECT_THAT(b->wire(), HasSubstr("attach(r h0 sender source=q"));
    EXPECT_EQ(a->wire(), "");
    auto again = n.login("ada", "lovelace", "same");
    again->receiver("r");
    std::ignore = again->wire();
    EXPECT_THAT(a->wire(), HasSubstr("amqp:link:stolen"));
}

TEST(NodeUsers, MayHaveDynamicNodesOfTheirOwn)
{
    users_rig n;
    auto c = n.bob();
    c->receiver("r", "", [](attach&, source& s, target&) {
        s.address = {};
        s.dynamic = true;
    });
    EXPECT_THAT(c->wire(), HasSubstr("source=dynamic-"));
}

// ---- when the users change

TEST(NodeUsers, WhoIsNotOneAnyMoreIsClosed)
{
    users_rig n;
    auto a = n.ada();
    auto b = n.bob();
    EXPECT_FALSE(n.node.set_users(users_of(net::sasl_user_line(user("bob", "new", {})))));
    EXPECT_EQ(a->until("close"), std::string{"close("} + unauthorized + ")");
    EXPECT_THAT(a->description<sluice::close>(), HasSubstr("user 'ada' is not a user"));
    EXPECT_EQ(b->wire(), "");
    EXPECT_THAT(n.connect("bob:builder"), HasSubstr("refused"));
    EXPECT_EQ(n.connect("bob:new"), "open");
}

TEST(NodeUsers, WhoIsRemovedBetweenTheLoginAndTheOpenIsClosed)
{
    users_rig n;
    raw_client c{n.port};
    auto const response = octets_of(std::string{"\0ada\0lovelace", 13});
    c.send_header(protocol_id::sasl);
    c.send_sasl(sasl_init{.mechanism = "PLAIN", .initial_response = bytes_view{response}});
    EXPECT_TRUE(c.until("outcome").ends_with("outcome(0)"));
    EXPECT_FALSE(n.node.set_users(users_of(net::sasl_user_line(user("bob", "new", {})))));
    c.send_header();
    c.send(raw_client::usual_open());
    EXPECT_THAT(c.until("close"), HasSubstr(std::string{"close("} + unauthorized + ")"));
    EXPECT_THAT(c.description<sluice::close>(), HasSubstr("user 'ada' is not a user"));
}

TEST(NodeUsers, LinksThatAreNoLongerAllowedAreDetached)
{
    users_rig n;
    auto c = n.ada();
    c->receiver("r", "orders.eu");
    c->receiver("s", "orders.us");
    std::ignore = c->wire();
    EXPECT_FALSE(n.node.set_users(users_of(
        net::sasl_user_line(user("ada", "lovelace", {{net::access::read, "orders.us"}})))));
    EXPECT_EQ(c->wire(), std::string{"detach(h0 closed "} + unauthorized + ")");
    c->receiver("t", "orders.eu");
    EXPECT_THAT(c->wire(), HasSubstr(unauthorized));
}

struct temporary_file {
    std::string path;
    explicit temporary_file(std::string_view text)
        : path{testing::TempDir() + "sluice-users-" + std::to_string(::getpid())}
    {
        write(text);
    }
    ~temporary_file() { std::filesystem::remove(path); }
    void write(std::string_view text) const { std::ofstream{path, std::ios::binary} << text; }
};

TEST(NodeUsers, AreReadFromTheirFileAgain)
{
    temporary_file const file{usual_file()};
    node::node_options o;
    o.users_file = file.path;
    users_rig n{std::move(o)};
    EXPECT_EQ(n.connect("ada:lovelace"), "open");
    std::string fault;
    file.write("ada secret\n");
    EXPECT_EQ(n.node.reload_users(&fault), make_error_code(error::invalid_argument));
    EXPECT_THAT(fault, AllOf(StartsWith(file.path + ", line 1: "), Not(HasSubstr("secret"))));
    EXPECT_EQ(n.connect("ada:lovelace"), "open") << "all stays as it was";
    file.write(net::sasl_user_line(user("eve", "1234")));
    EXPECT_FALSE(n.node.reload_users());
    EXPECT_THAT(n.connect("ada:lovelace"), HasSubstr("refused"));
    EXPECT_EQ(n.connect("eve:1234"), "open");
}

TEST(NodeUsers, WithoutTheirFileThereIsNoNode)
{
    node::node_options o;
    o.users_file = "no-such-folder/users";
    try {
        node::node const n{o};
        ADD_FAILURE() << "it was made";
    } catch (boost::system::system_error const& e) {
        EXPECT_THAT(e.what(), HasSubstr("cannot read no-such-folder/users"));
    }
    node_rig open;
    std::string fault;
    EXPECT_EQ(open.node.reload_users(&fault), make_error_code(error::invalid_state));
    EXPECT_THAT(fault, HasSubstr("was not given a file"));
}

}  // namespace
}  // namespace sluice::test
