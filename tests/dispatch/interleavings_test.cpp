// Every interleaving of a few steps of listeners, callers, the peer and a recovery, up to a depth:
// each is replayed from its beginning and has to come to a good end.
#include "dispatch/model.hpp"

#include <sluice/dispatch/states.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

struct step {
    char const* name;
    bool (*go)(dispatch_model&);
};

constexpr step alphabet[] = {
    {"the peer sends to the listener", [](dispatch_model& m) { return m.peer_sends(0); }},
    {"the peer reads", [](dispatch_model& m) { return m.peer_reads(); }},
    {"we read and dispatch",
     [](dispatch_model& m) {
         auto const read = m.we_read();
         return m.handles(0) || m.handles(1) || read;
     }},
    {"the thread's turn", [](dispatch_model& m) { return m.turn(); }},
    {"the listener returns", [](dispatch_model& m) { return m.returns(); }},
    {"the listener rolls back",
     [](dispatch_model& m) { return m.ask_inline(request_kind::rollback); }},
    {"the listener closes", [](dispatch_model& m) { return m.ask_inline(request_kind::close); }},
    {"a call to rollback", [](dispatch_model& m) { return m.ask(request_kind::rollback); }},
    {"a call to commit", [](dispatch_model& m) { return m.ask(request_kind::commit); }},
    {"a call to close", [](dispatch_model& m) { return m.ask(request_kind::close); }},
    {"a call's deadline", [](dispatch_model& m) { return m.late(0); }},
    {"a call returns", [](dispatch_model& m) { return m.leave(); }},
    {"stop",
     [](dispatch_model& m) {
         return m.core().state() == lifecycle::running && m.change(lifecycle_event::stop);
     }},
    {"start",
     [](dispatch_model& m) {
         return m.core().state() == lifecycle::stopped && m.change(lifecycle_event::start);
     }},
    {"unregister the listener", [](dispatch_model& m) { return m.remove(0); }},
    {"a recovery clears", [](dispatch_model& m) { return m.clear(); }},
    {"the second consumer takes", [](dispatch_model& m) { return m.take(1); }},
};

/// One message is in the listener's hand, one waits for it, one for the other, two are on their
/// way.
bool prepare(dispatch_model& m)
{
    m.add({.prefetch = 3});
    m.add({.prefetch = 2, .listens = false});
    m.change(lifecycle_event::start);
    auto good = m.peer_reads() && m.peer_reads();
    for (auto const to : {0u, 0u, 1u})
        good = good && m.peer_sends(to) && m.we_read() && m.handles(to);
    return good && m.turn() && m.peer_sends(0) && m.peer_sends(1);
}

/// Goes on with each step that is possible after `path`. Counts what was looked at.
class search {
public:
    search(dispatch_setting s, std::size_t depth) : setting_{s}, depth_{depth} {}

    void run() { descend(); }
    std::size_t looked_at() const noexcept { return looked_at_; }
    std::string const& fault() const noexcept { return fault_; }

private:
    bool replay(dispatch_model& m) const
    {
        if (!prepare(m))
            return false;
        for (auto const s : path_)
            if (!alphabet[s].go(m))
                return false;
        return true;
    }
    void descend()
    {
        for (std::size_t s = 0; s < std::size(alphabet) && fault_.empty(); ++s) {
            path_.push_back(s);
            dispatch_model m{setting_};
            if (replay(m)) {
                ++looked_at_;
                m.run_dry();
                if (!m.fault().empty())
                    report(m.fault());
                else if (path_.size() < depth_)
                    descend();
            }
            path_.pop_back();
        }
    }
    void report(std::string const& what)
    {
        fault_ = what + ", after:";
        for (auto const s : path_) fault_ += std::string{" "} + alphabet[s].name + ";";
    }

    dispatch_setting const setting_;
    std::size_t const depth_;
    std::vector<std::size_t> path_;
    std::size_t looked_at_ = 0;
    std::string fault_;
};

TEST(DispatcherInterleavings, AllOfFiveStepsInATransactionComeToAGoodEnd)
{
    search s{{.transacted = true, .messages = 6}, 5};
    s.run();
    EXPECT_EQ(s.fault(), "");
    EXPECT_GT(s.looked_at(), 50'000u);
}

TEST(DispatcherInterleavings, AllOfFiveStepsWithoutATransactionComeToAGoodEnd)
{
    search s{{.messages = 6}, 5};
    s.run();
    EXPECT_EQ(s.fault(), "");
    EXPECT_GT(s.looked_at(), 30'000u);
}

/// The walk through the table that a rollback and a commit take, and no other.
TEST(DispatcherStates, ThatAreFinalHaveNoWayOutAndTheOthersHave)
{
    using dispatch::service_table;
    for (auto const s : {service::draining, service::discharging, service::committing,
                         service::declaring, service::idle})
        EXPECT_EQ(service_table.next(s, dispatch::service_event::lost), service::ended);
    for (std::size_t e = 0; e < static_cast<std::size_t>(dispatch::service_event::count_); ++e)
        EXPECT_EQ(service_table.next(service::ended, static_cast<dispatch::service_event>(e))
                      .value_or(service::ended),
                  service::ended);
    for (std::size_t e = 0; e < static_cast<std::size_t>(lifecycle_event::count_); ++e)
        EXPECT_FALSE(
            dispatch::lifecycle_table.allows(lifecycle::closed, static_cast<lifecycle_event>(e)));
}

}  // namespace
}  // namespace sluice::test
