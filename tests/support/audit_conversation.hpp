// A short AMQP connection as bytes, with a flow that can be wrong: what goes through a proxy, or
// into a capture.
#pragma once

#include "support/audit_frames.hpp"

#include <vector>

namespace sluice::audit::testing {

struct piece {
    direction way;
    bytes octets;
};

/// Three transfers from 2^32 - 2 on and a flow that should say 1 and says `flow_says`: it is the
/// client's frame 7 on channel 1.
inline std::vector<piece> conversation(std::uint32_t flow_says = 1)
{
    constexpr auto c = scene::of_client;
    constexpr auto v = scene::of_server;
    std::vector<piece> out;
    auto const say = [&](direction d, std::uint16_t channel, auto const& body,
                         std::size_t payload = 0) {
        out.push_back({d, frame_of(channel, body, payload)});
    };
    auto const exact = transfer_id{flow_says};
    for (auto const d : {client, server}) out.push_back({d, header_bytes(protocol_id::amqp)});
    say(client, 0, open{.container_id = "the client"});
    say(server, 0, open{.container_id = "the server"});
    say(client, c,
        begin{.next_outgoing_id = transfer_id{4294967294},
              .incoming_window = 100,
              .outgoing_window = 100});
    say(server, v,
        begin{.remote_channel = c,
              .next_outgoing_id = transfer_id{500},
              .incoming_window = 100,
              .outgoing_window = 100});
    say(client, c,
        attach{.name = "l",
               .handle = {scene::sender},
               .role = role::sender,
               .initial_delivery_count = sequence_number{0}});
    say(server, v, attach{.name = "l", .handle = {scene::receiver}, .role = role::receiver});
    say(server, v,
        flow{.next_incoming_id = transfer_id{4294967294},
             .incoming_window = 100,
             .next_outgoing_id = transfer_id{500},
             .outgoing_window = 100,
             .handle = handle{scene::receiver},
             .delivery_count = sequence_number{0},
             .link_credit = 10});
    for (std::uint32_t id = 0; id != 3; ++id) say(client, c, scene::settled(id), 40);
    say(client, c,
        flow{.next_incoming_id = transfer_id{500},
             .incoming_window = 100,
             .next_outgoing_id = exact,
             .outgoing_window = 100});
    say(client, c, end{});
    say(server, v, end{});
    say(client, 0, close{});
    say(server, 0, close{});
    return out;
}

/// The finding about that flow, as far as it does not depend on where and when it was seen.
inline constexpr auto stale_flow_finding =
    "client->server frame 7 channel 1 flow: next-outgoing-id [2.5.6] violation: expected 1 "
    "(initial 4294967294 + 3 transfer frames), actual 0";

}  // namespace sluice::audit::testing
