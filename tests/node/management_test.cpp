// Requests to $management and their replies.
#include "support/node_rig.hpp"

namespace sluice::test {
namespace {

/// A client with a link for requests and one for replies.
struct manager {
    node_rig n;
    std::unique_ptr<raw_client> c;

    explicit manager(node::node_options options = {}) : n{std::move(options)}, c{n.client()}
    {
        auto const mine = encoded(std::string_view{"mine"});
        c->sender("requests", "$management");
        c->receiver("replies", "$management",
                    [&](attach&, source&, target& t) { t.address = {mine}; });
        c->credit("replies", 100);
        std::ignore = c->wire();
    }

    message request(std::string const& operation, std::string const& name)
    {
        message m;
        m.application_properties["operation"] = operation;
        m.application_properties["name"] = name;
        m.properties.reply_to = "mine";
        m.properties.message_id = "id";
        return m;
    }
    /// "200 OK" and the body, or what was answered instead.
    std::string ask(message const& m)
    {
        c->deliver("requests", encoded(m));
        std::string text;
        reply = {};
        while (true) {
            auto const f = c->next_frame().value();
            if (f.descriptor() == 0x15)
                text = node_text(f);
            if (text.find("rejected") != text.npos)
                return text.substr(text.find("rejected"));
            if (f.descriptor() == 0x14) {
                transfer t;
                auto in = f.body();
                EXPECT_FALSE(decode(in, t));
                EXPECT_FALSE(decode(in, reply));
                break;
            }
        }
        EXPECT_EQ(reply.properties.correlation_id, value{"id"});
        EXPECT_EQ(reply.properties.to, "mine");
        auto const code = reply.application_properties.find("statusCode");
        auto const why = reply.application_properties.find("statusDescription");
        return std::to_string(code->integer().value_or(0)) + " "
               + std::string{why->text().value_or("")};
    }
    std::string ask(std::string const& operation, std::string const& name)
    {
        return ask(request(operation, name));
    }
    message reply;
};

TEST(NodeManagement, DeclaresReadsPurgesAndDeletes)
{
    manager m;
    EXPECT_EQ(m.ask("declare", "q"), "201 declared");
    EXPECT_TRUE(m.n.node.read("q"));
    m.c->sender("s");
    std::ignore = m.c->wire();
    m.c->deliver("s", "1");
    std::ignore = m.c->wire();
    EXPECT_EQ(m.ask("read", "q"), "200 OK");
    auto const& map = *m.reply.body_value()->get_if<value_map>();
    EXPECT_EQ(map.find("name")->text(), "q");
    EXPECT_EQ(map.find("length")->integer(), 1);
    EXPECT_EQ(map.find("ready")->integer(), 1);
    EXPECT_EQ(map.find("producers")->integer(), 1);
    EXPECT_EQ(map.find("consumers")->integer(), 0);
    EXPECT_EQ(map.find("bytes")->integer(), static_cast<std::int64_t>(text_message("1").size()));
    EXPECT_EQ(m.ask("purge", "q"), "200 OK");
    EXPECT_EQ(m.reply.body_value()->get_if<value_map>()->find("count")->integer(), 1);
    EXPECT_EQ(m.ask("delete", "q"), "204 deleted");
    EXPECT_FALSE(m.n.node.read("q"));
}

TEST(NodeManagement, Lists)
{
    manager m;
    std::ignore = m.ask("declare", "a");
    std::ignore = m.ask("declare", "b");
    EXPECT_EQ(m.ask("list", ""), "200 OK");
    EXPECT_EQ(m.reply.body_value()->get_if<value_list>()->size(), 2u);
}

TEST(NodeManagement, DeclaresWithOptions)
{
    manager m;
    auto r = m.request("declare", "q");
    value_map options;
    options["length_max"] = 1;
    options["full"] = "reject";
    r.body = value{options};
    EXPECT_EQ(m.ask(r), "201 declared");
    EXPECT_EQ(m.ask(r), "201 declared");
    options["length_max"] = 2;
    r.body = value{options};
    EXPECT_EQ(m.ask(r), "409 queue 'q' exists with other options");
    options["colour"] = "red";
    r.body = value{options};
    EXPECT_TRUE(m.ask(r).starts_with("400 option 'colour' is unknown")) << m.ask(r);
    r.body = value{"text"};
    EXPECT_EQ(m.ask(r), "400 the body has to be a map of options");
    r.body = value{value_map{{"length_max", -1}}};
    EXPECT_TRUE(m.ask(r).starts_with("400 option 'length_max'"));
    r.body = value{value_map{{"dead_letter", "$nowhere"}}};
    EXPECT_TRUE(m.ask(r).starts_with("400 option 'dead_letter'"));
}

TEST(NodeManagement, RefusesDeadLettersThatComeBack)
{
    manager m;
    auto const declare = [&](char const* name, char const* dead_letter) {
        auto r = m.request("declare", name);
        r.body = value{value_map{{"dead_letter", dead_letter}}};
        return m.ask(r);
    };
    EXPECT_EQ(declare("a", "a"),
              "400 dead letters of queue 'a' would come back to it by way of 'a'");
    EXPECT_EQ(declare("a", "b"), "201 declared");
    EXPECT_EQ(declare("b", "c"), "201 declared");
    EXPECT_EQ(declare("c", "a"),
              "400 dead letters of queue 'c' would come back to it by way of 'a'");
    EXPECT_EQ(declare("c", "d"), "201 declared");
    node::queue_options own;
    own.dead_letter = "self";
    EXPECT_EQ(m.n.node.declare("self", own), error::invalid_argument);
}

TEST(NodeManagement, AllQueuesMayHaveTheSameDeadLetters)
{
    node::node_options o;
    o.queue.dead_letter = "dead";
    manager m{o};
    EXPECT_EQ(m.ask("declare", "dead"), "201 declared");
    EXPECT_EQ(m.ask("declare", "q"), "201 declared");
}

TEST(NodeManagement, SaysWhatItDoesNotKnow)
{
    manager m;
    constexpr auto no_name =
        "400 a queue needs a name of at most 1024 octets that does not begin with '$'";
    EXPECT_EQ(m.ask("read", "nowhere"), "404 there is no queue 'nowhere'");
    EXPECT_EQ(m.ask("delete", "nowhere"), "404 there is no queue 'nowhere'");
    EXPECT_EQ(m.ask("purge", "nowhere"), "404 there is no queue 'nowhere'");
    EXPECT_EQ(m.ask("declare", "$q"), no_name);
    EXPECT_EQ(m.ask("declare", ""), no_name);
    EXPECT_EQ(m.ask("declare", std::string(1'025, 'q')), no_name);
    EXPECT_TRUE(m.ask("paint", "q").starts_with("501 operation 'paint' is unknown"));
    EXPECT_TRUE(m.ask(message{"nothing"}).starts_with("rejected:amqp:precondition-failed"));
}

TEST(NodeManagement, RefusesWhereThereAreAsManyQueuesAsMayBe)
{
    node::node_options o;
    o.queues_max = 1;
    manager m{o};
    EXPECT_EQ(m.ask("declare", "a"), "201 declared");
    EXPECT_EQ(m.ask("declare", "b"), "503 there are as many queues as may be");
}

TEST(NodeManagement, RejectsWhatIsNoRequest)
{
    manager m;
    m.c->deliver("requests", octets_of("not a message"));
    EXPECT_EQ(m.c->wire_without_flows(),
              "disposition(receiver 0 settled rejected:amqp:decode-error)");
    auto r = m.request("list", "");
    r.properties.reply_to = "nowhere";
    EXPECT_EQ(m.ask(r), "rejected:amqp:not-found)");
}

// Replies may also go to a queue, such as a dynamic one.
TEST(NodeManagement, RepliesToAQueue)
{
    manager m;
    ASSERT_FALSE(m.n.node.declare("answers"));
    auto r = m.request("list", "");
    r.properties.reply_to = "answers";
    m.c->deliver("requests", encoded(r));
    EXPECT_EQ(m.c->wire_without_flows(), "disposition(receiver 0 settled accepted)");
    EXPECT_EQ(m.n.node.read("answers")->length, 1u);
}

// Names beginning with '$' are the node's own.
TEST(NodeManagement, IsNoQueue)
{
    node_rig n;
    auto c = n.client();
    c->sender("s", "$other");
    EXPECT_EQ(c->wire(),
              "attach(s h0 receiver source= target=null) detach(h0 closed amqp:not-found)");
}

// What cannot be answered is not done either.
TEST(NodeManagement, DoesNothingWhoseReplyHasNowhereToGo)
{
    manager m;
    auto r = m.request("declare", "q");
    r.properties.reply_to = "nowhere";
    EXPECT_EQ(m.ask(r), "rejected:amqp:not-found)");
    EXPECT_FALSE(m.n.node.read("q"));
}

}  // namespace
}  // namespace sluice::test
