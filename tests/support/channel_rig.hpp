// A hub with clients in memory: what each port is told, as text.
#pragma once

#include "node/channel_hub.hpp"

#include <map>
#include <string>

namespace sluice::test {

namespace protocol = channel_protocol;
using node::detail::channel_hub;
using node::detail::channel_port;
using node::detail::clock_time;

inline bytes_view channel_octets(std::string_view text) { return std::as_bytes(std::span{text}); }
inline std::string channel_text(bytes_view b)
{
    return {reinterpret_cast<char const*>(b.data()), b.size()};
}

/// What the hub needs of its surroundings: counted, and bounded.
struct channel_surroundings final : node::detail::channel_outside {
    std::size_t stored = 0;
    std::size_t stored_max = 1u << 30;
    std::string letters;  // "queue:channel:tries:reason:octets "

    bool reserve(std::size_t octets) override
    {
        if (stored + octets > stored_max)
            return false;
        stored += octets;
        return true;
    }
    void release(std::size_t octets) noexcept override { stored -= octets; }
    void dead_letter(letter const& l) override
    {
        letters += std::string{l.queue} + ":" + std::string{l.channel} + ":"
                   + std::to_string(l.tries) + ":" + std::string{l.reason} + ":"
                   + channel_text(l.octets) + " ";
    }
};

/// One client's port. `told` is "7:ok 8=value#1 9=value#2? ..." since it was last taken; `#` gives
/// the token, `*` earlier tries, `?` that a pickup is wanted, `+` that more follows, `@` the case
/// if it is not the first.
struct channel_client final : node::detail::port_sink {
    std::string told;
    unsigned access = may_receive | may_send;
    protocol::channel_id opened = 0;
    channel_port* port = nullptr;

    unsigned may(std::string_view) const override { return access; }
    void send(protocol::reply const& r) override
    {
        std::visit([this](auto const& m) { say(m); }, r);
    }
    std::string take()
    {
        if (!told.empty())
            told.pop_back();
        return std::exchange(told, {});
    }

private:
    static std::string index(std::uint32_t i) { return i == 0 ? "" : "@" + std::to_string(i); }
    void say(protocol::opened const& m)
    {
        opened = m.channel;
        told += std::to_string(m.id) + ":opened ";
    }
    void say(protocol::done const& m)
    {
        static char const* const names[] = {"ok",        "otherwise",   "withdrawn", "closed",
                                            "destroyed", "stopped",     "expired",   "mismatch",
                                            "not_found", "not_allowed", "limit",     "malformed"};
        told += std::to_string(m.id) + index(m.index) + ":" + names[static_cast<int>(m.status)]
                + (m.text.empty() ? "" : "(" + m.text + ")") + " ";
    }
    void say(protocol::accepted const& m)
    {
        for (auto const& [first, last] : m.ranges)
            told += std::to_string(first) + (first == last ? "" : "-" + std::to_string(last))
                    + ":accepted ";
    }
    void say(protocol::delivered const& m)
    {
        told += std::to_string(m.id) + index(m.index) + "=" + channel_text(m.octets)
                + (m.token ? "#" + std::to_string(m.token) : "")
                + (m.tries ? "*" + std::to_string(m.tries) : "") + (m.wants_pickup ? "?" : "")
                + (m.more ? "+" : "") + " ";
    }
    void say(protocol::state const& m)
    {
        told += std::to_string(m.id) + ":size=" + std::to_string(m.size) + ",buffered="
                + std::to_string(m.buffered) + ",unacknowledged=" + std::to_string(m.unacknowledged)
                + ",senders=" + std::to_string(m.waiting_senders)
                + ",receivers=" + std::to_string(m.waiting_receivers)
                + ",handles=" + std::to_string(m.handles) + (m.closed ? ",closed " : " ");
    }
};

/// Handles are numbers here; each has one channel, and counts its sends.
struct channel_rig {
    channel_surroundings outside;
    node::detail::channel_limits limits{};
    channel_hub hub{outside, 1, protocol::handle_id{std::byte{1}}, limits};
    std::map<unsigned, protocol::channel_id> channels{};
    std::map<unsigned, std::uint64_t> sequences{};
    clock_time now{0};

    static protocol::handle_id id_of(unsigned handle)
    {
        protocol::handle_id h{};
        h[0] = std::byte{0xaa};
        h[1] = static_cast<std::byte>(handle);
        h[2] = static_cast<std::byte>(handle >> 8);
        return h;
    }
    void join(channel_client& c) { c.port = &hub.add_port(c); }
    void lose(channel_client& c)
    {
        hub.on_port_lost(*std::exchange(c.port, nullptr));
        hub.flush();
    }
    void ask(channel_client& c, protocol::request const& r)
    {
        hub.on_request(*c.port, r);
        hub.flush();
    }
    std::string open(channel_client& c, unsigned handle, std::string name,
                     protocol::channel_options o, bool create = true,
                     protocol::channel_id expected = 0)
    {
        ask(c, protocol::open{1, std::move(name), id_of(handle), create, expected, o});
        channels[handle] = c.opened;
        return c.take();
    }
    protocol::send_case to(unsigned handle, std::string_view value, std::uint64_t sequence = 0)
    {
        return {channels.at(handle), id_of(handle), sequence != 0 ? sequence : ++sequences[handle],
                channel_octets(value)};
    }
    protocol::recv_case from(unsigned handle, std::uint32_t max = 1)
    {
        return {channels.at(handle), max, id_of(handle)};
    }
    void select(channel_client& c, protocol::request_id id,
                std::vector<protocol::select_case> cases, bool otherwise = false)
    {
        ask(c, protocol::select{id, otherwise, std::move(cases)});
    }
    void send(channel_client& c, protocol::request_id id, unsigned handle, std::string_view value)
    {
        select(c, id, {to(handle, value)});
    }
    void recv(channel_client& c, protocol::request_id id, unsigned handle, std::uint32_t max = 1)
    {
        select(c, id, {from(handle, max)});
    }
    void ack(channel_client& c, protocol::token first, protocol::token last)
    {
        ask(c, protocol::ack{{{first, last}}});
    }
    void pickup(channel_client& c, protocol::token t) { ask(c, protocol::pickup{{{t, t}}}); }
    void end(channel_client& c, protocol::request_id id, unsigned handle, protocol::ending how)
    {
        ask(c, protocol::end{id, how, channels.at(handle), id_of(handle)});
    }
    void pass(int milliseconds)
    {
        now += clock_time{milliseconds};
        hub.on_time(now);
        hub.flush();
    }
    std::string state(channel_client& c, unsigned handle)
    {
        ask(c, protocol::stat{99, channels.at(handle)});
        return c.take().substr(3);
    }
    /// Everything that is left when all ports are lost and the memory of handles is over.
    std::string left(std::initializer_list<channel_client*> clients)
    {
        for (auto* const c : clients)
            if (c->port)
                lose(*c);
        pass(60'000);
        auto const& n = hub.count();
        return std::to_string(n.channels) + " channels, " + std::to_string(n.handles) + " handles, "
               + std::to_string(n.ports) + " ports, " + std::to_string(n.waiting) + " requests, "
               + std::to_string(n.values) + " values, " + std::to_string(outside.stored)
               + " octets";
    }
};

inline constexpr char const* nothing_of_channels =
    "0 channels, 0 handles, 0 ports, 0 requests, 0 values, 0 octets";

}  // namespace sluice::test
