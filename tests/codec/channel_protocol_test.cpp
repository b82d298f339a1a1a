// The messages of remote channels: each comes back as it went out, has one form on the wire, and
// whatever is wrong is named by its field.
#include "support/codec_hex.hpp"

#include <sluice/codec/channel_protocol.hpp>
#include <sluice/codec/writer.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

namespace cp = channel_protocol;

cp::handle_id handle(unsigned last)
{
    cp::handle_id h{};
    h.front() = std::byte{0xaa};
    h.back() = static_cast<std::byte>(last);
    return h;
}

template <class Message>
std::string wire_of(Message const& m)
{
    bytes out;
    cp::encode(out, m);
    return codec_to_hex(out);
}

/// The same message after a journey; its views refer to `octets`.
template <class Kind, class Message>
Message after_a_journey(Message const& m, bytes& octets)
{
    octets.clear();
    cp::encode(octets, Kind{m});
    Kind back;
    std::string fault;
    EXPECT_FALSE(cp::decode(octets, back, fault)) << fault;
    auto const* const same = std::get_if<Message>(&back);
    EXPECT_TRUE(same);
    bytes again;
    cp::encode(again, back);
    EXPECT_EQ(codec_to_hex(again), codec_to_hex(octets));
    return same ? *same : Message{};
}

/// "" if it decodes, else what is told.
template <class Kind>
std::string fault_of(bytes const& octets)
{
    Kind out;
    std::string fault;
    auto const code = cp::decode(octets, out, fault);
    EXPECT_EQ(!code, fault.empty());
    return fault;
}

/// A message with these elements behind the ubyte of its kind.
bytes with_elements(std::uint8_t kind, std::vector<bytes> const& elements)
{
    auto octets = codec_from_hex("005377");
    list_writer writer{octets};
    writer.add(kind);
    for (auto const& e : elements) writer.add(raw_value{e});
    writer.finish();
    return octets;
}

cp::channel_options const options{.capacity = 300,
                                  .codec = "json",
                                  .delivery = cp::guarantee::at_most_once,
                                  .visibility_timeout_ms = 7,
                                  .tries_max = 3,
                                  .dead_letter = "lost"};

TEST(ChannelProtocol, ASendHasThisFormOnTheWire)
{
    auto const octets = codec_from_hex("0102");
    EXPECT_EQ(wire_of(cp::request{
                  cp::select{.id = 5, .cases = {cp::send_case{7, handle(9), 256, octets}}}}),
              "005377"
              "c02904"                              // a list of 4
              "5002"                                // select
              "5305"                                // id
              "42"                                  // otherwise: no
              "c02104"                              // a case of 4 is a send
              "5307"                                // channel
              "98aa000000000000000000000000000009"  // handle
              "800000000000000100"                  // sequence
              "a0020102");                          // the value
}

TEST(ChannelProtocol, EachReplyOfTheHotPathHasThisFormOnTheWire)
{
    auto const octets = codec_from_hex("0102");
    EXPECT_EQ(wire_of(cp::reply{cp::delivered{
                  .id = 5, .index = 1, .token = 3, .wants_pickup = true, .octets = octets}}),
              "005377c0100850145305520153034341"
              "42a0020102");
    EXPECT_EQ(wire_of(cp::reply{cp::accepted{{{1, 300}, {400, 400}}}}), "005377c0200550135301"
                                                                        "80000000000000012c"
                                                                        "800000000000000190"
                                                                        "800000000000000190");
    EXPECT_EQ(wire_of(cp::request{cp::ack{{{0, 2}}}}), "005377c006035004445302");
}

TEST(ChannelProtocol, EachRequestComesBackAsItWas)
{
    bytes wire;
    auto const open = after_a_journey<cp::request>(
        cp::open{1ull << 40, "jobs", handle(1), false, 77, options}, wire);
    EXPECT_EQ(open.id, 1ull << 40);
    EXPECT_EQ(open.name, "jobs");
    EXPECT_EQ(open.handle, handle(1));
    EXPECT_FALSE(open.create);
    EXPECT_EQ(open.expected, 77u);
    EXPECT_EQ(open.options, options);

    bytes const value(1000, std::byte{5});
    auto const select =
        after_a_journey<cp::request>(cp::select{.id = 2,
                                                .otherwise = true,
                                                .cases = {cp::recv_case{3, 64, handle(5)},
                                                          cp::send_case{4, handle(2), 9, value}}},
                                     wire);
    EXPECT_EQ(select.id, 2u);
    EXPECT_TRUE(select.otherwise);
    ASSERT_EQ(select.cases.size(), 2u);
    EXPECT_EQ(std::get<cp::recv_case>(select.cases[0]).channel, 3u);
    EXPECT_EQ(std::get<cp::recv_case>(select.cases[0]).max, 64u);
    EXPECT_EQ(std::get<cp::recv_case>(select.cases[0]).handle, handle(5));
    auto const& send = std::get<cp::send_case>(select.cases[1]);
    EXPECT_EQ(send.channel, 4u);
    EXPECT_EQ(send.handle, handle(2));
    EXPECT_EQ(send.sequence, 9u);
    EXPECT_TRUE(same_bytes(send.octets, value));

    EXPECT_EQ(after_a_journey<cp::request>(cp::cancel{6}, wire).id, 6u);
    std::vector<std::pair<cp::token, cp::token>> const ranges{{1, 5}, {7, 7}, {300, 1ull << 50}};
    EXPECT_EQ(after_a_journey<cp::request>(cp::ack{ranges}, wire).ranges, ranges);
    EXPECT_EQ(after_a_journey<cp::request>(cp::pickup{ranges}, wire).ranges, ranges);
    auto const settle =
        after_a_journey<cp::request>(cp::settle{8, 9, cp::verdict::rejected, "no JSON"}, wire);
    EXPECT_EQ(settle.id, 8u);
    EXPECT_EQ(settle.token, 9u);
    EXPECT_EQ(settle.verdict, cp::verdict::rejected);
    EXPECT_EQ(settle.reason, "no JSON");
    auto const end = after_a_journey<cp::request>(cp::end{3, cp::ending::stop, 4, handle(7)}, wire);
    EXPECT_EQ(end.how, cp::ending::stop);
    EXPECT_EQ(end.channel, 4u);
    EXPECT_EQ(end.handle, handle(7));
    EXPECT_EQ(after_a_journey<cp::request>(cp::stat{3, 4}, wire).channel, 4u);
}

TEST(ChannelProtocol, EachReplyComesBackAsItWas)
{
    bytes wire;
    auto const opened = after_a_journey<cp::reply>(cp::opened{1, 2, handle(3), options}, wire);
    EXPECT_EQ(opened.channel, 2u);
    EXPECT_EQ(opened.node, handle(3));
    EXPECT_EQ(opened.options, options);
    auto const done =
        after_a_journey<cp::reply>(cp::done{4, 5, cp::status::mismatch, "16, not 8"}, wire);
    EXPECT_EQ(done.id, 4u);
    EXPECT_EQ(done.index, 5u);
    EXPECT_EQ(done.status, cp::status::mismatch);
    EXPECT_EQ(done.text, "16, not 8");
    bytes const value(70'000, std::byte{5});
    auto const delivered =
        after_a_journey<cp::reply>(cp::delivered{1, 2, 3, 4, true, true, value}, wire);
    EXPECT_EQ(delivered.token, 3u);
    EXPECT_EQ(delivered.tries, 4u);
    EXPECT_TRUE(delivered.wants_pickup);
    EXPECT_TRUE(delivered.more);
    EXPECT_TRUE(same_bytes(delivered.octets, value));
    auto const state =
        after_a_journey<cp::reply>(cp::state{1, 2, 3, 4, 5, 6, 7, true, options}, wire);
    EXPECT_EQ(state.size, 2u);
    EXPECT_EQ(state.handles, 7u);
    EXPECT_TRUE(state.closed);
    EXPECT_EQ(state.options, options);
}

TEST(ChannelProtocol, AMessageOfTheSameKindLeavesNothingOfTheOneBefore)
{
    bytes wire;
    cp::request r = cp::select{.id = 2, .otherwise = true, .cases = {cp::recv_case{3, 64}}};
    cp::encode(wire, cp::request{cp::select{.id = 3, .cases = {cp::recv_case{4}}}});
    std::string fault;
    ASSERT_FALSE(cp::decode(wire, r, fault)) << fault;
    auto const& select = std::get<cp::select>(r);
    EXPECT_FALSE(select.otherwise);
    EXPECT_EQ(select.cases.size(), 1u);
    EXPECT_EQ(std::get<cp::recv_case>(select.cases[0]).max, 1u);
}

TEST(ChannelProtocol, FieldsLeftOutMeanTheirDefaultsUnlessTheyAreMandatory)
{
    cp::request r;
    std::string fault;
    auto const wire =
        with_elements(1, {encoded(std::uint64_t{1}), encoded("jobs"), encoded(uuid{handle(1)})});
    ASSERT_FALSE(cp::decode(wire, r, fault)) << fault;
    EXPECT_TRUE(std::get<cp::open>(r).create);
    EXPECT_EQ(std::get<cp::open>(r).options, cp::channel_options{});
    EXPECT_NE(fault_of<cp::request>(with_elements(1, {encoded(std::uint64_t{1}), encoded("jobs")}))
                  .find("open.handle: "),
              std::string::npos);
}

TEST(ChannelProtocol, OtherSectionsAroundTheBodyAreAllowed)
{
    bytes list;
    cp::encode(list, cp::request{cp::cancel{6}});
    auto wire = codec_from_hex("005370c0020142");  // a header
    wire.insert(wire.end(), list.begin(), list.end());
    cp::request r;
    std::string fault;
    ASSERT_FALSE(cp::decode(wire, r, fault)) << fault;
    EXPECT_EQ(std::get<cp::cancel>(r).id, 6u);
}

TEST(ChannelProtocol, WhatIsWrongIsNamedByItsField)
{
    auto const fault = [](std::uint8_t kind, std::vector<bytes> const& elements) {
        auto const text = fault_of<cp::request>(with_elements(kind, elements));
        return text.substr(0, text.find(':'));
    };
    auto const one = encoded(std::uint64_t{1});
    auto const two = encoded(std::uint64_t{2});
    bytes recv;
    list_writer{recv}.add(std::uint64_t{1}).add(std::uint32_t{0}).finish();
    bytes send;
    list_writer{send}.add(std::uint64_t{1}).add(uuid{}).add("x").add(bytes{}).finish();
    bytes of_five;
    list_writer{of_five}.add(std::uint64_t{1}).add(uuid{}).add("x").add("y").add("z").finish();
    auto const no = encoded(false);

    EXPECT_EQ(fault(3, {encoded("x")}), "cancel.id");
    EXPECT_EQ(fault(3, {}), "cancel.id");
    EXPECT_EQ(fault(3, {one, one}), "cancel");
    EXPECT_EQ(fault(2, {one, no, recv}), "select.cases[0].max");
    EXPECT_EQ(fault(2, {one, no, send}), "select.cases[0].sequence");
    EXPECT_EQ(fault(2, {one, no, of_five}), "select.cases[0]");
    EXPECT_EQ(fault(2, {one, no, one}), "select.cases[0]");
    EXPECT_EQ(fault(4, {one}), "ack.ranges");
    EXPECT_EQ(fault(4, {two, one}), "ack.ranges");
    EXPECT_EQ(fault(6, {one, one, encoded(std::uint8_t{4})}), "settle.verdict");
    EXPECT_EQ(fault(7, {one, encoded(std::uint8_t{3})}), "end.how");
    EXPECT_EQ(fault(1, {one, encoded("a"), encoded(uuid{}), no, one, one}), "open.options");
    EXPECT_EQ(fault(0, {}), "message");
    EXPECT_EQ(fault(9, {}), "message");
    EXPECT_EQ(fault(17, {}), "message");
    EXPECT_NE(fault_of<cp::reply>(with_elements(3, {one})), "");
    EXPECT_NE(fault_of<cp::request>(codec_from_hex("005375a00101")), "") << "a data section";
    EXPECT_NE(fault_of<cp::request>(codec_from_hex("0053775001")), "") << "no list";
    EXPECT_NE(fault_of<cp::request>({}), "");
}

TEST(ChannelProtocol, LimitsAreCheckedBeforeAnythingIsAllocated)
{
    cp::select select;
    select.cases.assign(cp::cases_max, cp::recv_case{1, 1});
    bytes wire;
    cp::encode(wire, cp::request{select});
    EXPECT_EQ(fault_of<cp::request>(wire), "");
    select.cases.emplace_back(cp::recv_case{1, 1});
    wire.clear();
    cp::encode(wire, cp::request{select});
    EXPECT_EQ(fault_of<cp::request>(wire).find("select.cases: "), 0u);

    cp::ack ack;
    ack.ranges.assign(cp::ranges_max, {1, 1});
    wire.clear();
    cp::encode(wire, cp::request{ack});
    EXPECT_EQ(fault_of<cp::request>(wire), "");
    ack.ranges.emplace_back(1, 1);
    wire.clear();
    cp::encode(wire, cp::request{ack});
    EXPECT_EQ(fault_of<cp::request>(wire).find("ack.ranges: "), 0u);
}

TEST(ChannelProtocol, NoTruncatedMessageIsTakenForAWholeOne)
{
    auto const value = codec_from_hex("010203");
    std::vector<cp::request> const all{
        cp::open{1, "jobs", handle(1), false, 77, options},
        cp::select{.id = 2, .cases = {cp::recv_case{3}, cp::send_case{4, handle(2), 9, value}}},
        cp::ack{{{1, 2}, {5, 900}}}};
    for (auto const& r : all) {
        bytes whole;
        cp::encode(whole, r);
        for (std::size_t size = 0; size != whole.size(); ++size)
            EXPECT_NE(fault_of<cp::request>(
                          bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))),
                      "")
                << r.index() << " cut at " << size;
    }
}

}  // namespace
}  // namespace sluice::test
