// Headers, frames, open and close, idle time-outs.
#include "support/audit_frames.hpp"

#include <gtest/gtest.h>

namespace sluice::audit::testing {
namespace {

using namespace std::chrono_literals;

bytes text_bytes(std::string_view t)
{
    bytes out;
    for (char const c : t) out.push_back(static_cast<std::byte>(c));
    return out;
}

TEST(ConnectionAudit, ReportsWhatIsNoProtocolHeader)
{
    tape t;
    t.send(client, text_bytes("GET / HTTP/1.1\r\n"));
    t.send(client, text_bytes("more of it"));
    EXPECT_EQ(t.findings(), "client protocol-header: expected 'AMQP', protocol id 0, 2 or 3, "
                            "version 1.0.0, actual 474554202f204854");
}

TEST(ConnectionAudit, AllowsAServerThatRefusesTheHeaderAndCloses)
{
    tape t;
    t.send(client, header_bytes(protocol_id::amqp));
    t.send(client, 0, open{.container_id = "c"});
    t.send(server, header_bytes(protocol_id::sasl));
    t.send(client, 0, close{});
    t.finish();
    EXPECT_EQ(t.findings(), "");
}

TEST(ConnectionAudit, ReportsAServerThatRefusesTheHeaderAndGoesOn)
{
    auto refused = header_bytes(protocol_id::sasl);
    auto const more = empty_frame();
    refused.insert(refused.end(), more.begin(), more.end());
    tape t;
    t.send(client, header_bytes(protocol_id::amqp));
    t.send(server, refused);
    auto const expected =
        "server header-mismatch: expected the connection closed behind the header, "
        "actual more octets";
    EXPECT_EQ(t.findings(), expected);
    EXPECT_EQ(t.replayed(1), expected);
}

TEST(ConnectionAudit, SaysNothingOfAnotherVersion)
{
    tape t;
    t.send(client, bytes{std::byte{'A'}, std::byte{'M'}, std::byte{'Q'}, std::byte{'P'},
                         std::byte{0}, std::byte{0}, std::byte{9}, std::byte{1}});
    t.send(server, text_bytes("whatever it answers"));
    EXPECT_EQ(t.findings(), "");
}

TEST(ConnectionAudit, ReportsAFrameSizeThatCannotBe)
{
    tape t;
    t.open_both();
    t.send(client, bytes(8));
    t.send(client, bytes(100));
    EXPECT_EQ(t.findings(), "client data-offset: expected a frame size of at least 8, actual 0");
}

TEST(ConnectionAudit, ReportsADataOffsetOutsideOfTheFrame)
{
    tape t;
    t.open_both();
    auto frame = empty_frame();
    frame[4] = std::byte{3};
    t.send(client, frame);
    EXPECT_EQ(t.findings(), "client data-offset: expected 2 words at least, 2 at most, actual 3");
}

TEST(ConnectionAudit, ReadsBehindAnExtendedHeader)
{
    scene s;
    s.open_both();
    auto frame = frame_of(scene::of_client, s.begin_of(client));
    frame.insert(frame.begin() + 8, 4, std::byte{0xee});
    write_frame_header(frame.data(), static_cast<std::uint32_t>(frame.size()), frame_type::amqp,
                       scene::of_client);
    frame[4] = std::byte{3};
    s.send(client, frame);
    s.send(client, scene::of_client, end{});
    EXPECT_EQ(s.findings(), "");
}

TEST(ConnectionAudit, ReportsAnUnknownFrameType)
{
    tape t;
    t.open_both();
    auto frame = empty_frame();
    frame[5] = std::byte{2};
    t.send(client, frame);
    EXPECT_EQ(t.findings(), "client frame-type: expected 0 (AMQP), actual 2");
}

TEST(ConnectionAudit, ReportsAFrameLargerThanTheOtherSideTakes)
{
    scene s;
    s.open_both({.container_id = "c"}, {.container_id = "s", .max_frame_size = 1000});
    s.send(client, scene::of_client, s.begin_of(client));
    s.send(server, scene::of_server, s.begin_of(server));
    s.attach_both();
    s.credit(10);
    auto const head = frame_of(scene::of_client, scene::first(1)).size();
    s.deliver(scene::first(1), 1000 - head);
    EXPECT_EQ(s.findings(), "");
    s.deliver(scene::first(2), 1001 - head);
    EXPECT_EQ(s.findings(), "client frame-size: expected at most 1000, actual 1001");
}

TEST(ConnectionAudit, SuspectsALargeFrameBeforeTheOtherSidesOpenAndReportsItIfItDoesNotFit)
{
    tape t;
    std::string const name(600, 'n');
    auto const size = std::to_string(frame_of(0, open{.container_id = name}).size());
    t.send(client, header_bytes(protocol_id::amqp));
    t.send(client, 0, open{.container_id = name});
    EXPECT_EQ(t.findings(), "client frame-size-early: expected at most 512, actual " + size);
    t.send(server, header_bytes(protocol_id::amqp));
    t.send(server, 0, open{.container_id = "s", .max_frame_size = 512});
    EXPECT_EQ(t.findings(), "client frame-size: expected at most 512, actual " + size);
}

TEST(ConnectionAudit, ReportsAMaxFrameSizeThatNobodyMayAskFor)
{
    tape t;
    t.open_both({.container_id = "c", .max_frame_size = 511});
    EXPECT_EQ(t.findings(), "client open-max-frame-size: expected at least 512, actual 511");
}

TEST(ConnectionAudit, ReportsAMissingMandatoryField)
{
    scene s;
    s.begin_session();
    s.send(client, raw_frame(scene::of_client, "00 53 12 c0 05 03 40 52 01 42"));
    EXPECT_EQ(s.findings().rfind("client decode-error: expected a well-formed attach, actual "
                                 "attach.name at octet",
                                 0),
              0u);
}

TEST(ConnectionAudit, ReportsATerminusThatIsMalformed)
{
    // source.timeout is a string; a target of another standard is nobody's business here.
    constexpr std::array bad{std::byte{0x00}, std::byte{0x53}, std::byte{0x28}, std::byte{0xc0},
                             std::byte{0x07}, std::byte{0x04}, std::byte{0x40}, std::byte{0x40},
                             std::byte{0x40}, std::byte{0xa1}, std::byte{0x01}, std::byte{'x'}};
    constexpr std::array foreign{std::byte{0x00}, std::byte{0x53}, std::byte{0x99},
                                 std::byte{0x45}};
    scene s;
    s.begin_session();
    s.of_receiver.target = {bytes_view{foreign}};
    s.send(server, scene::of_server, s.of_receiver);
    EXPECT_EQ(s.findings(), "");
    s.of_receiver.name = "m";
    s.of_receiver.handle = {6};
    s.of_receiver.source = {bytes_view{bad}};
    s.send(server, scene::of_server, s.of_receiver);
    EXPECT_EQ(s.findings().rfind("server decode-error: expected a well-formed attach, actual "
                                 "source.timeout at octet",
                                 0),
              0u);
}

TEST(ConnectionAudit, ReportsAFieldOfAnotherType)
{
    scene s;
    s.begin_session();
    s.send(client, raw_frame(scene::of_client, "00 53 13 c0 09 04 40 a1 01 78 52 00 52 00"));
    EXPECT_EQ(s.findings().rfind("client decode-error: expected a well-formed flow, actual "
                                 "flow.incoming-window at octet",
                                 0),
              0u);
}

TEST(ConnectionAudit, StillCountsATransferThatItCannotRead)
{
    scene s;
    s.ready();
    s.send(client, raw_frame(scene::of_client, "00 53 14 c0 02 01 41"));
    s.findings();
    s.send(client, scene::of_client, s.client_flow(11));
    EXPECT_EQ(s.findings(), "");
}

TEST(ConnectionAudit, ReportsADescriptorThatIsNoPerformative)
{
    tape t;
    t.open_both();
    t.send(client, raw_frame(0, "00 53 24 45"));
    EXPECT_EQ(
        t.findings(),
        "client decode-error: expected a performative's descriptor, 16 to 24, actual 00532445");
}

TEST(ConnectionAudit, ReportsAPayloadBehindWhatHasNone)
{
    scene s;
    s.begin_session();
    s.send(client, scene::of_client, s.client_flow(10), 5);
    EXPECT_EQ(s.findings(), "client unexpected-payload: expected 0 octets behind it, actual 5");
}

TEST(ConnectionAudit, ReportsFramesBeforeOpen)
{
    scene s;
    s.send(client, header_bytes(protocol_id::amqp));
    s.send(client, scene::of_client, s.begin_of(client));
    EXPECT_EQ(s.findings(), "client frame-before-open: expected open, actual begin");
}

TEST(ConnectionAudit, ReportsASecondOpen)
{
    tape t;
    t.open_both();
    t.send(client, 0, open{.container_id = "c"});
    EXPECT_EQ(t.findings(), "client open-twice: expected one open, actual a second one");
}

TEST(ConnectionAudit, ReportsAnOpenOnAnotherChannel)
{
    tape t;
    t.send(client, header_bytes(protocol_id::amqp));
    t.send(client, 1, open{.container_id = "c"});
    EXPECT_EQ(t.findings(), "client open-channel: expected 0, actual 1");
}

TEST(ConnectionAudit, ReportsFramesAfterCloseOnce)
{
    tape t;
    t.open_both();
    t.send(client, 0, close{});
    t.send(client, empty_frame());
    t.send(client, empty_frame());
    EXPECT_EQ(t.findings(),
              "client frame-after-close: expected nothing after close, actual frame 3");
}

TEST(ConnectionAudit, AllowsFramesThatCrossWithTheOtherSidesClose)
{
    scene s;
    s.ready();
    s.send(server, 0, close{});
    s.deliver(scene::first(0));
    s.send(client, scene::of_client, end{});
    s.send(client, 0, close{});
    s.finish();
    EXPECT_EQ(s.findings(), "");
}

TEST(ConnectionAudit, ReportsSilenceBeyondTheIdleTimeOutOnce)
{
    tape t{options{.idle_slack = 100ms}};
    t.open_both({.container_id = "c"}, {.container_id = "s", .idle_time_out = 1000});
    t.wait(900ms);
    t.send(client, empty_frame());
    t.wait(1050ms);
    EXPECT_EQ(t.findings(), "");
    t.wait(50ms);
    t.wait(3000ms);
    EXPECT_EQ(
        t.findings(),
        "client idle-time-out: expected something within 1000 ms, actual nothing for 1100 ms");
    t.send(client, empty_frame());
    t.wait(5000ms);
    EXPECT_EQ(
        t.findings(),
        "client idle-time-out: expected something within 1000 ms, actual nothing for 5000 ms");
}

TEST(ConnectionAudit, FindsTheSilenceWhenTheNextBytesCome)
{
    tape t;
    t.open_both({.container_id = "c", .idle_time_out = 1000});
    t.now = 4s;
    t.send(server, empty_frame());
    EXPECT_EQ(
        t.findings(),
        "server idle-time-out: expected something within 1000 ms, actual nothing for 4000 ms");
}

TEST(ConnectionAudit, ExpectsNothingAfterClose)
{
    tape t;
    t.open_both({.container_id = "c", .idle_time_out = 1000},
                {.container_id = "s", .idle_time_out = 0});
    t.send(server, 0, close{});
    t.wait(60s);
    EXPECT_EQ(t.findings(), "");
}

}  // namespace
}  // namespace sluice::audit::testing
