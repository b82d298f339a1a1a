// The fields of the messages of remote channels, listed once: a counter, a writer and a reader walk
// over these lists.
#pragma once

#include <sluice/codec/channel_protocol.hpp>

#include <array>
#include <concepts>

namespace sluice::channel_protocol::detail {

template <class T, class U>
concept is = std::same_as<std::remove_const_t<T>, U>;

// The fields of each message, in the order of the wire.

template <class F>
void fields(F& f, is<channel_options> auto& m)
{
    f.optional("capacity", m.capacity);
    f.optional("codec", m.codec);
    f.choice("delivery", m.delivery, guarantee::at_most_once);
    f.optional("visibility-timeout", m.visibility_timeout_ms);
    f.optional("tries-max", m.tries_max);
    f.optional("dead-letter", m.dead_letter);
}

template <class F>
void fields(F& f, is<open> auto& m)
{
    f.mandatory("id", m.id);
    f.mandatory("name", m.name);
    f.mandatory("handle", m.handle);
    f.optional("create", m.create);
    f.optional("expected", m.expected);
    f.nested("options", m.options);
}

template <class F>
void fields(F& f, is<select> auto& m)
{
    f.mandatory("id", m.id);
    f.optional("otherwise", m.otherwise);
    f.cases("cases", m.cases);
}

template <class F>
void fields(F& f, is<cancel> auto& m)
{
    f.mandatory("id", m.id);
}

template <class F>
void fields(F& f, is<ack> auto& m)
{
    f.ranges("ranges", m.ranges);
}

template <class F>
void fields(F& f, is<pickup> auto& m)
{
    f.ranges("ranges", m.ranges);
}

template <class F>
void fields(F& f, is<settle> auto& m)
{
    f.optional("id", m.id);
    f.mandatory("token", m.token);
    f.choice("verdict", m.verdict, verdict::rejected);
    f.optional("reason", m.reason);
}

template <class F>
void fields(F& f, is<end> auto& m)
{
    f.mandatory("id", m.id);
    f.choice("how", m.how, ending::stop);
    f.mandatory("channel", m.channel);
    f.mandatory("handle", m.handle);
}

template <class F>
void fields(F& f, is<stat> auto& m)
{
    f.mandatory("id", m.id);
    f.mandatory("channel", m.channel);
}

template <class F>
void fields(F& f, is<opened> auto& m)
{
    f.mandatory("id", m.id);
    f.mandatory("channel", m.channel);
    f.mandatory("node", m.node);
    f.nested("options", m.options);
}

template <class F>
void fields(F& f, is<done> auto& m)
{
    f.mandatory("id", m.id);
    f.optional("index", m.index);
    f.choice("status", m.status, status::malformed);
    f.optional("text", m.text);
}

template <class F>
void fields(F& f, is<accepted> auto& m)
{
    f.ranges("ranges", m.ranges);
}

template <class F>
void fields(F& f, is<delivered> auto& m)
{
    f.mandatory("id", m.id);
    f.optional("index", m.index);
    f.optional("token", m.token);
    f.optional("tries", m.tries);
    f.optional("wants-pickup", m.wants_pickup);
    f.optional("more", m.more);
    f.mandatory("octets", m.octets);
}

template <class F>
void fields(F& f, is<state> auto& m)
{
    f.mandatory("id", m.id);
    f.optional("size", m.size);
    f.optional("buffered", m.buffered);
    f.optional("unacknowledged", m.unacknowledged);
    f.optional("waiting-senders", m.waiting_senders);
    f.optional("waiting-receivers", m.waiting_receivers);
    f.optional("handles", m.handles);
    f.optional("closed", m.closed);
    f.nested("options", m.options);
}

template <class F>
void fields(F& f, is<recv_case> auto& m)
{
    f.mandatory("channel", m.channel);
    f.optional("max", m.max);
    f.optional("handle", m.handle);
}

template <class F>
void fields(F& f, is<send_case> auto& m)
{
    f.mandatory("channel", m.channel);
    f.mandatory("handle", m.handle);
    f.mandatory("sequence", m.sequence);
    f.mandatory("octets", m.octets);
}

inline constexpr std::size_t recv_fields = 3;  // or without the last
inline constexpr std::size_t send_fields = 4;

// The first element of each message: a ubyte.
inline constexpr std::uint8_t first_request = 1;
inline constexpr std::uint8_t first_reply = 17;
inline constexpr std::array<std::string_view, 8> request_names{
    "open", "select", "cancel", "ack", "pickup", "settle", "end", "stat"};
inline constexpr std::array<std::string_view, 5> reply_names{"opened", "done", "accepted",
                                                             "delivered", "state"};

// What announces an amqp-value. [3.2.8]
inline constexpr std::array section_descriptor{std::byte{0x00}, std::byte{0x53}, std::byte{0x77}};

}  // namespace sluice::channel_protocol::detail
