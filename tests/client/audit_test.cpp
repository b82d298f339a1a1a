// The auditor inside a connection: told, counted, and fatal if asked for.
#include "support/client_rig.hpp"

#include <gmock/gmock.h>

#include <condition_variable>
#include <mutex>

namespace sluice::test {
namespace {

using client::audit_mode;
using ::testing::HasSubstr;

/// Where a connection puts its findings.
class told {
public:
    client::connection_options options(audit_mode mode)
    {
        client::connection_options o;
        o.audit = mode;
        o.on_finding = [this](audit::finding const& f) {
            std::unique_lock lock{mutex_};
            texts_.push_back(f.text());
            changed_.notify_all();
            changed_.wait(lock, [this] { return !blocked_; });
        };
        return o;
    }
    std::vector<std::string> wait(std::size_t n)
    {
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, std::chrono::seconds{10}, [&] { return texts_.size() >= n; });
        return texts_;
    }
    void block(bool blocked)
    {
        std::lock_guard const lock{mutex_};
        blocked_ = blocked;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> texts_;
    bool blocked_ = false;
};

/// A flow of the peer that says that it has received what was never sent to it.
void send_wrong_flow(client_rig& rig, std::uint32_t next_outgoing_id)
{
    rig.peer.send(flow{.next_incoming_id = transfer_id{0},
                       .incoming_window = 2048,
                       .next_outgoing_id = transfer_id{next_outgoing_id},
                       .outgoing_window = 2048});
}

TEST(Audit, TellsAndCountsWhatThePeerDoesWrongAndGoesOn)
{
    told t;
    client_rig rig{{.next_outgoing_id = transfer_id{0}, .next_delivery_id = delivery_number{0}},
                   t.options(audit_mode::on)};
    send_wrong_flow(rig, 7);
    auto const texts = t.wait(1);
    ASSERT_EQ(texts.size(), 1u);
    EXPECT_THAT(texts[0], HasSubstr("server->client frame 3 channel 0 flow: next-outgoing-id "
                                    "[2.5.6] violation: expected 0 "));
    EXPECT_THAT(texts[0], HasSubstr("actual 7"));
    EXPECT_EQ(rig.connection.audited().violations, 1u);
    EXPECT_EQ(rig.connection.audited().suspicious, 0u);
    auto const sender = rig.sender(1);
    EXPECT_FALSE(rig.connection.error());
}

TEST(Audit, EndsTheConnectionIfItIsFatal)
{
    told t;
    client_rig rig{{.next_outgoing_id = transfer_id{0}, .next_delivery_id = delivery_number{0}},
                   t.options(audit_mode::fatal)};
    send_wrong_flow(rig, 7);
    auto const c = rig.peer.expect<close>();
    ASSERT_TRUE(c->error);
    EXPECT_EQ(c->error->condition.text, "amqp:internal-error");
    EXPECT_THAT(std::string{c->error->description.value_or("")}, HasSubstr("audit: "));
    rig.peer.send(close{});
    auto const s = in_background([&] { return rig.session.open_sender("q"); }).get();
    EXPECT_EQ(s.code, make_error_code(error::audit_violation));
    EXPECT_THAT(s.what, HasSubstr("next-outgoing-id [2.5.6] violation: expected 0"));
}

TEST(Audit, CountsWhatNobodyHasTimeFor)
{
    told t;
    client_rig rig{{.next_outgoing_id = transfer_id{0}, .next_delivery_id = delivery_number{0}},
                   t.options(audit_mode::on)};
    t.block(true);
    constexpr std::uint32_t flows = 200;
    for (std::uint32_t i = 1; i <= flows; ++i) send_wrong_flow(rig, i);
    auto sender = rig.sender(1);  // the connection goes on while the handler is stuck
    auto const counted = rig.connection.audited();
    EXPECT_EQ(counted.violations, flows);
    EXPECT_GE(counted.untold, flows - 65);
    t.block(false);
    EXPECT_GE(t.wait(1).size(), 1u);
}

TEST(Audit, CostsNothingWhenItIsOff)
{
    told t;
    client_rig rig{{.next_outgoing_id = transfer_id{0}, .next_delivery_id = delivery_number{0}},
                   t.options(audit_mode::off)};
    send_wrong_flow(rig, 7);
    auto const sender = rig.sender(1);
    EXPECT_EQ(rig.connection.audited().violations, 0u);
}

TEST(Audit, IsOnInABuildWithAssertionsUnlessSomebodySaysOtherwise)
{
    client_rig rig{{.next_outgoing_id = transfer_id{0}, .next_delivery_id = delivery_number{0}},
                   {}};
    send_wrong_flow(rig, 7);
    auto const sender = rig.sender(1);
#ifdef NDEBUG
    EXPECT_EQ(rig.connection.audited().violations, 0u);
#else
    EXPECT_EQ(rig.connection.audited().violations, 1u);
#endif
}

}  // namespace
}  // namespace sluice::test
