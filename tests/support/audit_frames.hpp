// Frames as bytes, and a checker that is fed with them: what the auditor's tests are written in.
#pragma once

#include <sluice/audit/checker.hpp>
#include <sluice/codec/codec.hpp>
#include <sluice/codec/frame.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::audit::testing {

inline constexpr auto client = direction::from_client;
inline constexpr auto server = direction::from_server;

/// A frame with this performative or SASL frame, and payload behind it.
template <class T>
bytes frame_of(std::uint16_t channel, T const& body, std::size_t payload = 0,
               frame_type type = frame_type::amqp)
{
    bytes out(frame_header_size);
    append(out, body);
    out.resize(out.size() + payload, std::byte{'x'});
    write_frame_header(out.data(), static_cast<std::uint32_t>(out.size()), type, channel);
    return out;
}

/// A frame whose body is given as hexadecimal, blanks only for reading.
inline bytes raw_frame(std::uint16_t channel, std::string_view body,
                       frame_type type = frame_type::amqp)
{
    constexpr std::string_view digits = "0123456789abcdef";
    bytes out(frame_header_size);
    bool high = true;
    for (char const c : body) {
        if (c == ' ')
            continue;
        auto const nibble = static_cast<unsigned>(digits.find(c));
        if (high)
            out.push_back(static_cast<std::byte>(nibble << 4));
        else
            out.back() |= static_cast<std::byte>(nibble);
        high = !high;
    }
    write_frame_header(out.data(), static_cast<std::uint32_t>(out.size()), type, channel);
    return out;
}

inline bytes empty_frame(std::uint16_t channel = 0) { return raw_frame(channel, ""); }

inline bytes header_bytes(protocol_id id)
{
    auto const h = protocol_header(id);
    return {h.begin(), h.end()};
}

/// A connection under audit: what each side sends, in the order in which the observer sees it.
///
/// Remembers everything, so that a test can play it again, cut differently.
class tape {
public:
    explicit tape(options const& o = {}) : options_{o}, checker_{o} {}

    std::chrono::microseconds now{};

    void send(direction d, bytes octets)
    {
        played_.push_back({d, octets, now});
        checker_.feed(d, octets, now);
    }
    template <class T>
    void send(direction d, std::uint16_t channel, T const& body, std::size_t payload = 0)
    {
        send(d, frame_of(channel, body, payload));
    }

    void wait(std::chrono::microseconds t)
    {
        now += t;
        checker_.advance(now);
    }
    void finish(ending how = ending::complete) { checker_.finish(how); }

    /// Headers and opens of both sides.
    void open_both(open const& of_client = {.container_id = "c"},
                   open const& of_server = {.container_id = "s"})
    {
        send(client, header_bytes(protocol_id::amqp));
        send(server, header_bytes(protocol_id::amqp));
        send(client, 0, of_client);
        send(server, 0, of_server);
    }
    /// The findings so far, one a line: "client next-outgoing-id 3 2".
    std::string findings()
    {
        finding f;
        while (checker_.poll_finding(f)) {
            found_.push_back(f);
            if (!text_.empty())
                text_ += '\n';
            text_ += f.direction == client ? "client " : "server ";
            text_.append(f.rule_name()) += ": expected " + f.expected + ", actual " + f.actual;
        }
        return std::exchange(text_, {});
    }
    /// All that findings() has told, whole.
    std::vector<finding> const& found() const { return found_; }
    counters const& totals() const { return checker_.totals(); }
    checker& audit() { return checker_; }

    /// Plays it again with each piece cut into pieces of `size` octets. @returns findings().
    std::string replayed(std::size_t size, ending how = ending::complete) const
    {
        tape again{options_};
        for (auto const& p : played_) {
            again.now = p.at;
            for (bytes_view left{p.octets}; !left.empty();) {
                auto const n = std::min(size, left.size());
                again.checker_.feed(p.way, left.first(n), again.now);
                left = left.subspan(n);
            }
        }
        again.now = now;
        again.checker_.advance(now);
        again.finish(how);
        return again.findings();
    }

private:
    struct piece {
        direction way;
        bytes octets;
        std::chrono::microseconds at;
    };
    options options_;
    checker checker_;
    std::vector<piece> played_;
    std::vector<finding> found_;
    std::string text_;
};

/// A connection with one session and a link on it, the numbers of which tests can choose: the
/// client speaks on channel 1 and sends on handle 2, the server speaks on channel 7 and receives on
/// handle 5.
struct scene : tape {
    static constexpr std::uint16_t of_client = 1;
    static constexpr std::uint16_t of_server = 7;
    static constexpr std::uint32_t sender = 2;
    static constexpr std::uint32_t receiver = 5;

    std::uint32_t client_first = 10;  ///< next-outgoing-id of its begin
    std::uint32_t server_first = 500;
    std::uint32_t window = 100;     ///< incoming-window of both
    std::uint32_t first_count = 0;  ///< initial-delivery-count
    attach of_sender{.name = "l", .handle = {sender}, .role = role::sender};
    attach of_receiver{.name = "l", .handle = {receiver}, .role = role::receiver};

    using tape::tape;

    void begin_session()
    {
        open_both();
        send(client, of_client, begin_of(client));
        send(server, of_server, begin_of(server));
    }
    begin begin_of(direction d) const
    {
        begin b{.next_outgoing_id = transfer_id{d == client ? client_first : server_first},
                .incoming_window = window,
                .outgoing_window = 1000};
        if (d == server)
            b.remote_channel = of_client;
        return b;
    }
    void attach_both()
    {
        of_sender.initial_delivery_count = sequence_number{first_count};
        send(client, of_client, of_sender);
        send(server, of_server, of_receiver);
    }
    /// A session, a link, and credit for `n` deliveries.
    void ready(std::uint32_t n = 50)
    {
        begin_session();
        attach_both();
        credit(n);
    }

    flow client_flow(std::uint32_t next_outgoing_id) const
    {
        return {.next_incoming_id = transfer_id{server_first},
                .incoming_window = window,
                .next_outgoing_id = transfer_id{next_outgoing_id},
                .outgoing_window = 1000};
    }
    flow server_flow(std::uint32_t next_incoming_id) const
    {
        return {.next_incoming_id = transfer_id{next_incoming_id},
                .incoming_window = window,
                .next_outgoing_id = transfer_id{server_first},
                .outgoing_window = 1000};
    }
    /// The receiver grants `n` from the delivery-count `count` on.
    flow credit_flow(std::uint32_t n, std::uint32_t count) const
    {
        auto f = server_flow(client_first);
        f.handle = handle{receiver};
        f.delivery_count = sequence_number{count};
        f.link_credit = n;
        return f;
    }
    void credit(std::uint32_t n) { send(server, of_server, credit_flow(n, first_count)); }
    void credit(std::uint32_t n, std::uint32_t count)
    {
        send(server, of_server, credit_flow(n, count));
    }

    /// A first frame.
    static transfer first(std::uint32_t id)
    {
        static constexpr std::array<std::byte, 1> tag{std::byte{7}};
        return {.handle = {sender},
                .delivery_id = delivery_number{id},
                .delivery_tag = bytes_view{tag},
                .message_format = 0};
    }
    static transfer settled(std::uint32_t id)
    {
        auto t = first(id);
        t.settled = true;
        return t;
    }
    static transfer more(transfer t)
    {
        t.more = true;
        return t;
    }
    static transfer rest() { return {.handle = {sender}}; }
    void deliver(transfer const& t, std::size_t payload = 4)
    {
        send(client, of_client, t, payload);
    }

    static disposition accept(std::uint32_t from, std::uint32_t to)
    {
        return {.role = role::receiver,
                .first = delivery_number{from},
                .last = delivery_number{to},
                .settled = true,
                .state = {bytes_view{encoded_accepted}}};
    }
    void dispose(disposition const& f) { send(server, of_server, f); }
};

}  // namespace sluice::audit::testing
