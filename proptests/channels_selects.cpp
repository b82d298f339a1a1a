// Selects that race and face each other, one after the other without end: of each exactly one case
// is done, and what one side sent the other side has, once.
#include "support/channel_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <random>
#include <set>

namespace sluice::test {
namespace {

/// SLUICE_SELECT_ROUNDS, or what takes a moment.
unsigned rounds_wanted()
{
    auto const* const wanted = std::getenv("SLUICE_SELECT_ROUNDS");
    return wanted ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) : 20'000;
}

/// Four clients with a handle on each of three channels: two without a buffer, one with a slot.
/// Each has one select at the node: sends, receives or both.
class racing_selects {
public:
    explicit racing_selects(unsigned seed) : random_{seed}
    {
        for (unsigned i = 0; i != clients_max; ++i) {
            clients_[i].all = this;
            clients_[i].port = &rig_.hub.add_port(clients_[i]);
            for (unsigned k = 0; k != channels_max; ++k)
                rig_.hub.on_request(
                    *clients_[i].port,
                    protocol::open{1,
                                   std::string(1, static_cast<char>('a' + k)),
                                   channel_rig::id_of(handle(i, k)),
                                   true,
                                   0,
                                   {.capacity = k == 2 ? 1u : 0u, .visibility_timeout_ms = 0}});
        }
    }
    void round()
    {
        for (;;) {
            auto& c = clients_[below(clients_max)];
            if (!c.to_answer.empty() && below(2) == 0)
                return settle(c);
            if (c.waits && below(8) == 0)
                return ask(c, protocol::cancel{c.id});
            if (!c.waits)
                return select(c);
        }
    }
    void end()
    {
        for (auto again = true; again;) {
            again = false;
            for (auto& c : clients_) {
                while (!c.to_answer.empty()) settle(c), again = true;
                if (c.waits)
                    ask(c, protocol::cancel{c.id});
                again = again || c.waits || !c.to_answer.empty();
            }
        }
    }

    std::string fault;
    unsigned done = 0;  // selects with an outcome
    unsigned sent = 0;
    unsigned received = 0;
    unsigned met = 0;  // two selects at a channel without a buffer
    std::size_t left() const { return sent_.size() + received_.size(); }
    std::uint64_t buffered() { return rig_.hub.count().values; }

private:
    static constexpr unsigned clients_max = 4;
    static constexpr unsigned channels_max = 3;
    struct client final : node::detail::port_sink {
        racing_selects* all = nullptr;
        channel_port* port = nullptr;
        protocol::request_id id = 1;
        bool waits = false;
        std::vector<std::uint64_t> sends{};  // the value of each case; 0: a receive
        std::deque<protocol::token> to_answer{};
        protocol::channel_id opened = 0;

        void send(protocol::reply const& r) override { all->on(*this, r); }
    };

    unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
    static unsigned handle(unsigned client, unsigned channel)
    {
        return 1 + client * channels_max + channel;
    }
    void wrong(std::string text)
    {
        if (fault.empty())
            fault = std::move(text);
    }
    void ask(client& c, protocol::request const& r)
    {
        rig_.hub.on_request(*c.port, r);
        rig_.hub.flush();
    }
    void select(client& c)
    {
        auto const number = static_cast<unsigned>(&c - clients_.data());
        protocol::select s{.id = ++c.id, .otherwise = below(16) == 0};
        std::vector<std::string> texts;
        texts.reserve(channels_max);
        c.sends.clear();
        for (unsigned i = 0, n = 2 + below(2); i != n; ++i) {
            auto const channel = below(channels_max);
            auto const h = handle(number, channel);
            c.sends.push_back(below(2) == 0 ? ++last_value_ : 0);
            if (c.sends.back() != 0)
                s.cases.push_back(protocol::send_case{
                    channels_[channel], channel_rig::id_of(h), ++sequences_[h],
                    channel_octets(texts.emplace_back(std::to_string(last_value_)))});
            else
                s.cases.push_back(
                    protocol::recv_case{channels_[channel], 1, channel_rig::id_of(h)});
        }
        c.waits = true;
        ask(c, s);
    }
    void settle(client& c)
    {
        auto const t = c.to_answer.front();
        c.to_answer.pop_front();
        ask(c, protocol::ack{{{t, t}}});
    }
    /// The one outcome of the select that is there. @returns whether it is
    bool outcome(client& c, protocol::request_id id)
    {
        if (!c.waits || id != c.id) {
            wrong("select " + std::to_string(id) + " has a second outcome");
            return false;
        }
        c.waits = false;
        ++done;
        return true;
    }
    void on(client& c, protocol::reply const& r)
    {
        if (auto const* const o = std::get_if<protocol::opened>(&r)) {
            if (std::ranges::find(channels_, o->channel) == channels_.end())
                channels_.push_back(o->channel);
        } else if (auto const* const v = std::get_if<protocol::delivered>(&r)) {
            if (outcome(c, v->id))
                has(c, *v);
        } else if (auto const* const d = std::get_if<protocol::done>(&r)) {
            if (outcome(c, d->id) && d->status == protocol::status::ok)
                was_sent(c, d->index);
            else if (d->status != protocol::status::ok && d->status != protocol::status::withdrawn
                     && d->status != protocol::status::otherwise)
                wrong("select " + std::to_string(d->id) + " is refused: " + d->text);
        } else {
            wrong("a select is answered as a single send");
        }
    }
    void was_sent(client& c, std::uint32_t index)
    {
        ++sent;
        auto const v = index < c.sends.size() ? c.sends[index] : 0;
        if (v == 0)
            return wrong("a receive was accepted");
        if (received_.erase(v) == 0)
            sent_.insert(v);
    }
    void has(client& c, protocol::delivered const& d)
    {
        ++received;
        met += d.wants_pickup ? 1 : 0;
        if (d.index >= c.sends.size() || c.sends[d.index] != 0)
            wrong("a send has received");
        auto const v = std::stoull(channel_text(d.octets));
        if (!ever_.insert(v).second)
            wrong("value " + std::to_string(v) + " comes twice");
        if (ever_.size() > 4'096)
            ever_.erase(ever_.begin());
        if (sent_.erase(v) == 0)
            received_.insert(v);
        c.to_answer.push_back(d.token);
    }

    std::minstd_rand random_;
    std::array<client, clients_max> clients_{};
    std::vector<protocol::channel_id> channels_{};
    std::map<unsigned, std::uint64_t> sequences_{};
    std::uint64_t last_value_ = 0;
    std::set<std::uint64_t> sent_{};      // and not received yet
    std::set<std::uint64_t> received_{};  // and not known to be sent yet
    std::set<std::uint64_t> ever_{};      // the last ones that were received
    channel_rig rig_{};                   // the first to go, for it tells the clients
};

TEST(ChannelsSelects, HaveOneOutcomeEachAndLoseNothing)
{
    std::random_device source;
    auto const seed = source();
    racing_selects w{seed};
    auto const rounds = rounds_wanted();
    while (w.done < rounds && w.fault.empty()) w.round();
    w.end();
    EXPECT_EQ(w.fault, "") << "seed " << seed;
    EXPECT_EQ(w.left(), w.buffered())
        << "what was sent and not received is in the buffer; seed " << seed;
    EXPECT_EQ(w.sent, w.received + w.buffered()) << "seed " << seed;
    EXPECT_GT(w.met, rounds / 10) << "seed " << seed;
    RecordProperty("selects", static_cast<int>(w.done));
    RecordProperty("met", static_cast<int>(w.met));
}

}  // namespace
}  // namespace sluice::test
