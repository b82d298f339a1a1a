// Channels as one process would have them, a whole step at a time: what a recorded history of calls
// is held against.
#pragma once

#include "channels_linear.hpp"

#include <sluice/codec/channel_protocol.hpp>

#include <array>

namespace sluice::test {

/// One call of a client, or what befell it, and what came of it.
struct channel_call {
    enum class kind : std::uint8_t {
        select,  // sends, receives and tries too
        pickup,
        settle,  // acknowledgements too, of which nothing is told
        close,
        destroy,
        stop,
        size,
        pass,  // time, at the channel of a handle
        lose   // a connection, which comes back
    };
    enum class outcome : std::uint8_t {
        none,     // it still waits
        unknown,  // its client cannot know
        done,
        values,
        closed,
        destroyed,
        stopped,
        withdrawn,
        otherwise,
        expired
    };
    struct one_case {
        unsigned handle = 0;
        bool sends = false;
        std::uint32_t max = 1;
    };
    struct value {
        std::size_t sent_by = 0;
        std::size_t sent_case = 0;
        std::uint32_t tries = 0;
        bool wants_pickup = false;
        friend bool operator==(value const&, value const&) = default;
    };

    kind what = kind::select;
    unsigned client = 0;
    unsigned handle = 0;            // of an end, a size, a pass
    std::vector<one_case> cases{};  // of a select
    bool otherwise = false;
    bool cancelled = false;
    bool repeated = false;  // through another connection
    std::size_t of = 0;     // the receive whose value is answered for, and which one
    std::size_t position = 0;
    channel_protocol::verdict verdict = channel_protocol::verdict::accepted;
    std::uint64_t number = 0;  // the time in milliseconds, the size that is told

    outcome came = outcome::none;
    std::size_t index = 0;  // the case
    std::vector<value> values{};
};

/// Handle h is one on channel h / 3, of client h % 3.
struct channel_history {
    static constexpr unsigned clients = 3;
    static constexpr unsigned handles = 6;
    static unsigned channel_of(unsigned handle) { return handle / clients; }

    std::array<channel_protocol::channel_options, 2> options{};
    std::vector<channel_call> calls{};
    std::vector<call_times> times{};
};

class channel_model {
public:
    explicit channel_model(channel_history const& h) : history_{&h} {}

    std::string key() const;
    template <class F>
    void steps(std::size_t call, call_set done, call_set open, F f) const
    {
        auto const& c = at(call);
        auto const unknown = c.came == outcome::unknown;
        auto const sends = unknown && c.what == channel_call::kind::select;
        auto const stops = unknown && c.what == channel_call::kind::stop;
        for (std::size_t k = 0; k != (sends ? c.cases.size() : stops ? 2 : 1); ++k) {
            auto next = *this;
            auto now = only(call);
            if (sends ? next.unheard(call, k, done) : next.step(call, done, open, now, k == 0))
                f(std::move(next), now);
        }
    }
    bool rests(call_set done) const;

private:
    using call = channel_call;
    using outcome = channel_call::outcome;
    static constexpr auto never = std::numeric_limits<std::uint64_t>::max();

    struct item {
        std::size_t by = 0;
        std::size_t of_case = 0;
        std::uint32_t tries = 0;
        std::uint64_t order = 0;
    };
    struct in_hand {
        item v;
        std::size_t of = 0;  // the receive
        std::size_t position = 0;
        unsigned handle = 0;
        std::uint64_t until = never;
        bool unpicked = false;  // its sender's still
    };
    struct channel {
        bool closed = false;
        bool destroyed = false;
        std::vector<item> ready{};  // by order
        std::vector<in_hand> held{};
    };

    static unsigned number_of(unsigned handle) { return channel_history::channel_of(handle); }
    channel& of(unsigned handle) { return channels_[number_of(handle)]; }
    channel const& of(unsigned handle) const { return channels_[number_of(handle)]; }
    auto const& options(unsigned handle) const { return history_->options[number_of(handle)]; }
    call const& at(std::size_t i) const { return history_->calls[i]; }

    bool step(std::size_t i, call_set done, call_set open, call_set& now, bool arrives);
    bool unheard(std::size_t i, std::size_t of_case, call_set done);
    bool select(std::size_t i, call_set done, call_set open);
    bool send(std::size_t i, std::size_t of_case, call_set done);
    bool receive(std::size_t i, call_set done, call_set open);
    bool take_from_sender(call::value const& v, std::size_t i, unsigned handle, call_set done,
                          call_set open, in_hand& h);
    bool otherwise(std::size_t i) const;
    bool end(call const& c, bool arrives);
    bool settle(call const& c, call_set& now);
    bool pick(in_hand& h, call_set& now) const;
    void go_back(channel& c, channel_protocol::channel_options const& o, in_hand const& h,
                 bool count);
    template <class F>
    void all_back(F which);

    bool is_out(std::size_t i) const;
    bool is_alive(call const& c) const;
    bool is_first(std::size_t i, unsigned handle, call_set done, std::size_t but) const;
    std::size_t used(channel const& c) const;
    bool is_ready(std::size_t i, call::one_case const& c, call_set done) const;
    bool faces(std::size_t i, call::one_case const& c, call_set done) const;

    channel_history const* history_;
    std::array<channel, 2> channels_{};
    unsigned stopped_ = 0;  // handles, as bits
    unsigned gone_ = 0;     // those that the channel has no more
    std::uint64_t now_ = 0;
    std::uint64_t last_order_ = 0;
};

}  // namespace sluice::test
