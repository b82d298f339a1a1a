// The judge of every race between the users of channels. docs/channel-protocol.md says what it
// does. Sans-I/O: requests and the time go in, replies come out through interfaces.
#pragma once

#include "node/channel_state.hpp"

#include <deque>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace sluice::node::detail {

/// Where the replies of one port go, and what its user may do.
class port_sink {
public:
    virtual ~port_sink() = default;
    /// Views in `r` are good for the call only. Must not call the hub.
    virtual void send(protocol::reply const& r) = 0;

    static constexpr unsigned may_receive = 1;
    static constexpr unsigned may_send = 2;  // and close, and destroy
    virtual unsigned may(std::string_view) const { return may_receive | may_send; }
};

/// What the hub needs of its surroundings.
class channel_outside {
public:
    virtual ~channel_outside() = default;
    /// Room for a value. @returns false if there is none
    virtual bool reserve(std::size_t octets) = 0;
    virtual void release(std::size_t octets) noexcept = 0;
    struct letter {
        std::string_view queue;
        std::string_view channel;
        std::string_view codec;
        std::uint32_t tries = 0;
        std::string_view reason;
        bytes_view octets;
    };
    /// The value was given up.
    virtual void dead_letter(letter const& l) = 0;
};

struct channel_limits {
    std::size_t channels = 100'000;
    std::size_t handles = 1'000'000;
    std::size_t name_octets = 1'024;         // also of a codec's and a dead-letter queue's
    std::size_t values = 10'000'000;         // an empty one takes memory, too
    std::size_t waiting = 65'536;            // requests of one port
    std::size_t waiting_octets = 64u << 20;  // of them
    std::size_t cases = 2'000'000;           // of all requests that wait
    std::uint32_t sends_of_handle = 64;      // at the node
    clock_time handle_memory{60'000};        // after its port is lost
};

/// One client's two links.
class channel_port {
public:
    explicit channel_port(port_sink& s) : sink_{s} {}

private:
    friend class channel_hub;
    port_sink& sink_;
    number_table<channel_wait> by_id_;
    channel_list<channel_wait, &channel_wait::at_port> waits_;
    number_table<channel_value> by_token_;
    channel_list<channel_value, &channel_value::at_port> held_;  // by token
    channel_list<channel_handle, &channel_handle::at_port> handles_;
    std::uint64_t last_token_ = 0;
    std::size_t octets_ = 0;                                         // of what waits
    std::vector<std::pair<std::uint64_t, std::uint64_t>> accepted_;  // not told yet
    bool unflushed_ = false;
    std::size_t place_ = 0;
};

/// Everything about channels is decided here, one request after the other. Not thread-safe.
class channel_hub {
public:
    channel_hub(channel_outside& outside, std::uint64_t seed, protocol::handle_id node,
                channel_limits limits = {});
    ~channel_hub();
    channel_hub(channel_hub const&) = delete;
    channel_hub& operator=(channel_hub const&) = delete;

    channel_port& add_port(port_sink& s);
    void on_request(channel_port& p, protocol::request const& r);
    /// What waited is withdrawn, what was held goes back. `p` is gone then.
    void on_port_lost(channel_port& p);
    /// What is done later is done at this time. Called before other things of the same moment.
    void on_time(clock_time now);
    /// clock_time::max(): nothing waits for the time.
    clock_time next_deadline() const noexcept;
    /// Tells the ports which sends were accepted since the last time.
    void flush();
    /// What users may do has changed: what somebody may not do any more does not wait any longer.
    void recheck();

    struct counts {
        std::size_t channels = 0;
        std::size_t handles = 0;  // those of lost ports too
        std::size_t ports = 0;
        std::size_t waiting = 0;  // requests
        std::size_t values = 0;
        std::uint64_t sent = 0;       // accepted ever
        std::uint64_t delivered = 0;  // ever
        std::uint64_t returned = 0;   // ever
        friend bool operator==(counts const&, counts const&) = default;
    };
    counts const& count() const noexcept { return counts_; }

    // for the management
    template <class F>
    void each_channel(F f) const
    {
        for (auto const& [id, c] : channels_) f(*c);
    }
    channel_state const* find(std::string_view name) const noexcept;
    protocol::state describe(channel_state const& c) const;
    /// @returns false if there is none of that name
    bool destroy(std::string_view name);

private:
    using waits = std::vector<channel_wait*>;
    enum class readiness : std::uint8_t { no, yes, closed };

    // channel_hub.cpp
    void on(channel_port& p, protocol::open const& r);
    void on(channel_port& p, protocol::end const& r);
    void on(channel_port& p, protocol::stat const& r);
    channel_state* find(protocol::channel_id id) const noexcept;
    channel_handle* find(protocol::handle_id const& id) const noexcept;
    channel_state* open_channel(channel_port& p, protocol::open const& r);
    bool bind(channel_port& p, protocol::open const& r, channel_state& c);
    void stop(channel_handle& h, std::optional<protocol::status> told);
    void orphan(channel_wait& w);
    void erase(channel_handle& h);
    void close(channel_state& c);
    void destroy(channel_state& c);
    void forget_if_idle(channel_state& c);
    void erase(channel_state& c);
    void tell(channel_port& p, protocol::reply const& r);
    void tell(channel_port& p, protocol::request_id id, protocol::status s, std::string text = {},
              std::uint32_t index = 0);
    void flush(channel_port& p);

    // channel_hub_select.cpp
    void on(channel_port& p, protocol::select const& r);
    void on(channel_port& p, protocol::cancel const& r);
    bool read_cases(channel_port& p, protocol::select const& r, channel_wait& w);
    bool read_case(wait_case& c, protocol::select_case const& from, channel_port& p,
                   protocol::status& why, std::string& text);
    bool answer_repeated(std::unique_ptr<channel_wait>& w);
    bool adopt(std::unique_ptr<channel_wait>& w, wait_case& mine);
    readiness ready(wait_case const& c) const noexcept;
    void carry_out(std::unique_ptr<channel_wait>& w, wait_case& c);
    channel_wait* enlist(std::unique_ptr<channel_wait>& w, wait_case const* has_value = nullptr);
    bool make_value(wait_case& c);
    std::string refuse_wait(channel_wait& w);
    template <class F>
    void give_up(channel_wait& w, protocol::status s, std::uint32_t index, F which)
    {
        w.given_up = s;  // told when its pickup is known
        w.given_up_index = index;
        w.each([&](wait_case& c) {
            if (which(c))
                detach(c);
        });
    }
    void detach(wait_case& c) noexcept;
    void line_up(wait_case& c, bool first = false);
    void leave_line(wait_case& c) noexcept;
    void withdraw(channel_wait& w) noexcept;
    void finish(channel_wait& w, protocol::status s, std::uint32_t index, std::string text = {});
    void finish_accepted(wait_case& c);
    wait_case* next_send(channel_state& c, channel_wait const* but) const noexcept;
    wait_case* next_receive(channel_state& c, channel_wait const* but) const noexcept;
    std::uint64_t random(std::uint64_t below) noexcept;

    // channel_hub_values.cpp
    void on(channel_port& p, protocol::ack const& r);
    void on(channel_port& p, protocol::pickup const& r);
    void on(channel_port& p, protocol::settle const& r);
    template <class F>
    void for_tokens(channel_port& p,
                    std::vector<std::pair<protocol::token, protocol::token>> const& ranges, F f);
    void accept(wait_case& c);
    void deliver(wait_case& r);
    void hand_over(channel_port& p, protocol::delivered d, channel_handle* holder,
                   channel_value& v);
    void suspend(wait_case& c);
    void resume(wait_case& c);
    void picked_up(channel_value& v);
    void acknowledged(channel_value& v);
    void take_from_holder(channel_value& v) noexcept;
    void go_back(channel_value& v, std::string_view reason, bool count_try = true);
    void put_back(channel_value& v);
    void bury(channel_value& v, std::string_view reason);
    void drop(channel_value& v) noexcept;
    void discard(channel_value& v) noexcept;
    void touch(channel_state& c);
    void settle();
    void pump(channel_state& c);
    bool step(channel_state& c);
    void arm(channel_state& c);

    struct hash {
        std::size_t operator()(protocol::handle_id const& id) const noexcept;
    };

    channel_outside& outside_;
    protocol::handle_id node_;
    channel_limits limits_;
    std::uint64_t random_;
    clock_time now_{0};
    protocol::channel_id last_channel_ = 0;
    std::uint64_t last_arrival_ = 0;
    counts counts_;
    std::vector<std::unique_ptr<channel_port>> ports_;
    std::unordered_map<protocol::channel_id, std::unique_ptr<channel_state>> channels_;
    std::unordered_map<std::string_view, channel_state*> names_;
    std::unordered_map<protocol::handle_id, std::unique_ptr<channel_handle>, hash> handles_;
    channel_list<channel_handle, &channel_handle::at_port> lost_;      // by `until`
    std::set<std::pair<clock_time, protocol::channel_id>> deadlines_;  // of channels that are there
    std::unordered_set<protocol::channel_id> destroyed_;               // the last ones
    std::deque<protocol::channel_id> destroyed_in_order_;
    std::vector<channel_state*> dirty_;
    std::vector<std::pair<channel_port*, protocol::request_id>> tries_;  // whose pickup failed
    std::vector<channel_port*> unflushed_;
    std::size_t cases_ = 0;  // that wait
    std::vector<channel_value*> taken_;
    std::vector<wait_case*> ready_;
};

}  // namespace sluice::node::detail
