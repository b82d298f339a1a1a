// Two ends with a user each over a network that is slow, cut, reset, silent in one direction or
// read slowly, in virtual time. One seed decides everything: SLUICE_SEED=n replays a run, and
// SLUICE_TRACE shows its frames.
//
// This is the depth of the engine, users above it included: the client's streams and timers are
// Asio's, whose clock is the machine's.
#include "support_steps.hpp"

#include <cstdlib>

namespace sluice::prop {
namespace {

enum class fault { none, reset, silence, slow_reader };

constexpr auto idle_timeout = e::time_point{2000};
constexpr std::size_t in_flight_max = 16'384;  // octets: then a writer has to wait

class simulation {
public:
    explicit simulation(unsigned seed)
        : random_{seed * 2654435761u + 1u},
          what_{static_cast<fault>(next() % 4)},
          from_{next() % 2},
          latency_{1 + next() % 40},
          it_{{.first_id = next() % 2 == 0 ? 0xffff'fffdu - next() % 8 : next(),
               .seed = next(),
               .cut = static_cast<cutting>(next() % 3),
               .sessions = 1 + next() % 2,
               .refusals = next() % 3 == 0,
               .idle_timeout_ms = static_cast<std::uint32_t>(idle_timeout.count()),
               .faults = what_ == fault::reset || what_ == fault::silence}}
    {
    }

    void run()
    {
        it_.open();
        auto const steps = next() % 150;
        auto const fault_at = it_.now + e::time_point{next() % 1500};
        for (unsigned i = 0; i < steps && it_.objection.empty(); ++i) {
            pass(next() % 25, fault_at);
            it_.apply({some_act(), next() % (1u << 20)});
        }
        // The users do what they can, nothing new happens, and the connection stays: heartbeats.
        generous_ = true;
        auto transfers = it_.books.transfers;
        for (int quiet = 0; quiet < 800 && it_.objection.empty(); ++quiet) {
            pass(10, fault_at);
            if (std::exchange(transfers, it_.books.transfers) != it_.books.transfers)
                quiet = 0;  // a small window and a long way may need their time
        }
        if (what_ == fault::none || what_ == fault::slow_reader) {
            if (it_.ends[0]->closed || it_.ends[1]->closed)
                it_.object("a connection that nobody closed has ended");
            for (auto const& [number, p] : it_.parcels)
                if (p.ends == 0)
                    it_.object("parcel " + std::to_string(number) + " is stuck");
            std::ignore = it_.ends[from_]->engine.close();
            it_.ends[from_]->closing = true;
            for (int i = 0; i < 300 && !over(); ++i) pass(10, fault_at);
        }
        if (!over())
            it_.object("the connection never ends");
        it_.judge();
    }

    std::string const& objection() const { return it_.objection; }
    fault what() const { return what_; }
    bool lost_something() const
    {
        for (auto const& [number, p] : it_.parcels)
            if (p.how == "lost with its link")
                return true;
        return false;
    }

private:
    struct packet {
        e::time_point arrives;
        std::size_t size;
    };

    unsigned next() { return (random_ = random_ * 1664525u + 1013904223u) >> 4; }
    bool over() const { return it_.ends[0]->closed && it_.ends[1]->closed; }

    act some_act()
    {
        static weights const w =
            usual_weights() + weights{{2, act::attach}, {1, act::detach}, {1, act::end}};
        std::size_t sum = 0;
        for (auto const& [weight, what] : w) sum += weight;
        auto at = next() % sum;
        for (auto const& [weight, what] : w) {
            if (at < weight)
                return moves_octets(what) ? act::send : what;
            at -= weight;
        }
        return act::send;
    }
    static bool moves_octets(act a)
    {
        return a == act::write_some || a == act::write_all || a == act::deliver_some
               || a == act::deliver_all || a == act::exchange;
    }

    /// Time goes on, a millisecond at a time: octets leave and arrive, timers fire.
    void pass(unsigned milliseconds, e::time_point fault_at)
    {
        for (unsigned i = 0; i < milliseconds && it_.objection.empty(); ++i) {
            ++it_.now;
            auto const broken = it_.now >= fault_at;
            if (broken && what_ == fault::reset && !reset_) {
                reset_ = true;
                for (auto& way : ways_) way.clear();
                for (std::size_t side : {0u, 1u}) it_.transport_ends(side);
            }
            if (reset_)
                continue;
            for (std::size_t side : {0u, 1u}) leave(side);
            for (std::size_t side : {0u, 1u})
                arrive(side, broken && what_ == fault::silence && side == from_);
            if (broken && what_ == fault::silence)
                check_time_out(fault_at);
        }
    }

    void leave(std::size_t side)
    {
        auto& end = *it_.ends[side];
        std::ignore = end.engine.tick(it_.now);
        end.poll();
        if (generous_ && it_.now.count() % 10 == 0)
            std::ignore = end.be_generous();
        if (it_.pending(1 - side) >= in_flight_max)
            return;  // the other side reads too slowly
        auto const before = it_.pending(1 - side);
        std::ignore = it_.write(side, 2000, false);
        if (auto const size = it_.pending(1 - side) - before; size > 0) {
            auto const& last = ways_[1 - side];
            auto const at = it_.now + e::time_point{latency_ + next() % 10};
            ways_[1 - side].push_back(
                {last.empty() ? at : std::max(at, last.back().arrives), size});
        }
        if (end.closed && end.engine.output_done() && !gone_[side]) {
            gone_[side] = it_.now + e::time_point{latency_ + 10};
        }
    }

    /// Octets arrive in the order they left, some of a packet first and the rest later.
    void arrive(std::size_t to, bool silent)
    {
        auto& way = ways_[to];
        std::size_t room = what_ == fault::slow_reader && to == from_ ? 20 : 1u << 20;
        while (!silent && !way.empty() && way.front().arrives <= it_.now && room > 0) {
            auto& p = way.front();
            auto const whole = next() % 3 != 0;
            auto const n = std::min({p.size, room, whole ? p.size : 1 + next() % p.size});
            std::ignore = it_.deliver(to, n);
            room -= n;
            p.size -= n;
            if (p.size == 0)
                way.pop_front();
            if (!whole)
                break;
        }
        auto const& gone = gone_[1 - to];  // the other side has said its last word and left
        if (gone && *gone <= it_.now && (way.empty() || silent) && !left_[to]) {
            left_[to] = true;
            it_.transport_ends(to);
        }
    }

    /// The end that hears nothing gives up in time.
    void check_time_out(e::time_point fault_at)
    {
        if (it_.ends[from_]->closed || it_.now < fault_at + idle_timeout + e::time_point{100})
            return;
        it_.object("an end that hears nothing has not given up");
    }

    unsigned random_;
    fault what_;
    std::size_t from_;  // the end that is deaf, reads slowly, or closes
    unsigned latency_;
    world it_;
    std::array<std::deque<packet>, 2> ways_;  // towards side i
    std::array<std::optional<e::time_point>, 2> gone_;
    std::array<bool, 2> left_{};
    bool generous_ = false;
    bool reset_ = false;
};

TEST(Simulation, EveryDeliveryEndsOnceAndEveryConnectionEndsWhateverTheNetworkDoes)
{
    if (auto const* const fixed = std::getenv("SLUICE_SEED")) {
        simulation s{static_cast<unsigned>(std::strtoul(fixed, nullptr, 10))};
        s.run();
        EXPECT_EQ(s.objection(), "");
        return;
    }
    shares met;
    for_all(met, [&] {
        auto const seed = *rc::gen::noShrink(rc::gen::resize(100, rc::gen::arbitrary<unsigned>()));
        simulation s{seed};
        s.run();
        met.met("has no fault", s.what() == fault::none);
        met.met("is reset", s.what() == fault::reset);
        met.met("falls silent in one direction", s.what() == fault::silence);
        met.met("has a slow reader", s.what() == fault::slow_reader);
        met.met("loses deliveries", s.lost_something());
        if (!s.objection().empty())
            RC_FAIL("SLUICE_SEED=" + std::to_string(seed) + ": " + s.objection());
    });
    met.expect_each(10);
}

}  // namespace
}  // namespace sluice::prop
