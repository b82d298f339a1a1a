// Clients of a hub whose requests and answers take their time: what they ask and what they are told
// is recorded, as they see it.
#pragma once

#include "channels_model.hpp"
#include "support/channel_rig.hpp"

#include <deque>

namespace sluice::test {

class channel_clients {
public:
    static constexpr unsigned clients_max = channel_history::clients;
    static constexpr unsigned handles_max = channel_history::handles;

    std::string fault;  // what no order of the calls could explain
    channel_history history;

    channel_clients(std::array<protocol::channel_options, 2> const& options, std::uint64_t seed);

    // ---- what is asked for; beyond some 60 calls nothing is any more

    void send(unsigned handle, bool tries) { select({{handle, true, 1}}, tries); }
    void receive(unsigned handle, bool tries, std::uint32_t max)
    {
        select({{handle, false, max}}, tries);
    }
    /// Of one client.
    void select(std::vector<channel_call::one_case> cases, bool tries);
    void cancel(unsigned client, unsigned which);
    /// One of the values that it has; `how` 0: picked up, 1: acknowledged, else a verdict.
    void answer(unsigned client, unsigned which, unsigned how);
    void end(unsigned handle, protocol::ending how);
    void size(unsigned handle);

    // ---- what happens

    /// The oldest request of a client arrives.
    void arrive(unsigned client);
    /// A client hears the oldest answer.
    void hear(unsigned client);
    void pass(unsigned milliseconds);
    /// A connection is lost and comes back; what has no answer is asked again.
    void lose(unsigned client);
    /// Until everything has arrived and was heard.
    void rest();
    std::string text() const;

private:
    using kind = channel_call::kind;
    using outcome = channel_call::outcome;
    struct asked {
        protocol::request what;
        std::size_t call = 0;
        bool is_cancel = false;
    };
    struct value_here {
        protocol::token token = 0;
        std::size_t call = 0;
        std::size_t position = 0;
    };
    struct client final : node::detail::port_sink {
        channel_clients* all = nullptr;
        unsigned number = 0;
        channel_port* port = nullptr;
        std::deque<asked> on_the_way{};
        std::deque<std::pair<protocol::reply, std::string>> inbox{};
        std::vector<value_here> values{};
        std::map<std::size_t, protocol::request> open{};  // calls without an answer
        protocol::channel_id opened = 0;
        std::string refused{};

        void send(protocol::reply const& r) override;
    };
    static constexpr std::size_t calls_max = 60;
    static constexpr std::size_t open_max = 4;  // of one client
    static constexpr protocol::request_id first_id = 2;

    std::uint64_t tick() { return ++clock_; }
    channel_call& call(std::size_t i) { return history.calls[i]; }
    client& of(unsigned handle) { return clients_[handle % clients_max]; }
    protocol::channel_id id_of(unsigned handle) const
    {
        return ids_[channel_history::channel_of(handle)];
    }
    bool has_room(unsigned client) const
    {
        return history.calls.size() < calls_max && clients_[client].open.size() < open_max;
    }
    std::size_t record(channel_call c);
    void came(std::size_t i, outcome o, std::size_t index = 0);
    void never_known(std::size_t i);
    void ask(std::size_t i, protocol::request r);
    void hint(protocol::request_id id) { history.times[id - first_id].hint = clock_; }
    void wrong(std::string text)
    {
        if (fault.empty())
            fault = std::move(text);
    }
    void connect(client& c);
    void reopen(client& c, unsigned handle);
    void leave_behind(client& c);
    bool cannot_be_repeated(channel_call const& c) const;
    void on(client& c, protocol::done const& r);
    void on(client& c, protocol::delivered const& r, std::string const& text);

    std::array<client, clients_max> clients_{};
    std::array<protocol::channel_id, 2> ids_{};
    std::map<unsigned, std::uint64_t> sequences_{};
    std::deque<std::string> texts_{};  // of values; requests refer to them
    unsigned stopped_ = 0;             // by their clients, as bits
    std::uint64_t clock_ = 0;
    clock_time now_{0};
    channel_surroundings outside_{};
    channel_hub hub_;  // the first to go, for it tells the clients
};

}  // namespace sluice::test
