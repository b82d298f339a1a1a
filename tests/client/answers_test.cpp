// Answers to deliveries that are longer than a frame of the peer's: they lose their details, and
// neither the answer nor its credit is lost.
#include "support/client_rig.hpp"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using std::chrono::milliseconds;

constexpr char condition[] = "amqp:not-allowed";

amqp_error long_error(std::size_t octets)
{
    return {.condition = condition, .description = std::string(octets, 'x')};
}

bytes long_annotations(std::size_t octets)
{
    return encoded(
        value{value_map{{value{symbol_string{"x-why"}}, value{std::string(octets, 'x')}}}});
}

struct answers_rig : client_rig {
    explicit answers_rig(std::uint32_t frame_max)
        : client_rig{{.next_outgoing_id = transfer_id{0}, .next_delivery_id = delivery_number{0}},
                     strict(),
                     {.container_id = "peer", .max_frame_size = frame_max}}
    {
        client::receiver_options o;
        o.credit_window = 4;
        from = receiver(o);
    }

    /// Delivers one as soon as there is credit for it, has it answered, and returns the answer's
    /// state.
    template <class Answer>
    bytes answered(Answer answer)
    {
        while (next >= granted) look();
        peer.deliver(next, data_message("x"));
        answer(from.receive(milliseconds{10'000}));
        while (true) {
            auto const f = look();
            if (f.descriptor() != descriptor_of<disposition>)
                continue;
            disposition d;
            bytes_view in{f.octets};
            EXPECT_FALSE(decode(in, d));
            EXPECT_EQ(d.first, delivery_number{next++});
            EXPECT_TRUE(d.settled);
            return {d.state.encoded.begin(), d.state.encoded.end()};
        }
    }

    client::receiver from;
    std::uint32_t next = 0;

private:
    frame look()
    {
        auto f = peer.next();
        if (f.descriptor() == descriptor_of<flow>) {
            flow told;
            bytes_view in{f.octets};
            EXPECT_FALSE(decode(in, told));
            if (told.handle)
                granted = told.delivery_count->value() + *told.link_credit;
        }
        return f;
    }

    std::uint32_t granted = 0;
};

std::string condition_of(rejected const& r)
{
    EXPECT_TRUE(r.error.has_value());
    if (!r.error)
        return {};
    EXPECT_FALSE(r.error->description);
    EXPECT_TRUE(is_null(r.error->info));
    return std::string{r.error->condition.text};
}

/// More of each than the window holds, so that credit has to come back for them.
void expect_short_answers(std::uint32_t frame_max, std::size_t octets)
{
    answers_rig rig{frame_max};
    delivery_state state;
    for (int i = 0; i < 6; ++i) {
        auto const rejection = rig.answered([&](auto const& d) { d.reject(long_error(octets)); });
        ASSERT_FALSE(decode(raw_value{rejection}, state));
        ASSERT_TRUE(std::holds_alternative<rejected>(state));
        EXPECT_EQ(condition_of(std::get<rejected>(state)), condition);

        auto const change = rig.answered([&](auto const& d) {
            d.modify({.delivery_failed = true, .message_annotations = long_annotations(octets)});
        });
        ASSERT_FALSE(decode(raw_value{change}, state));
        ASSERT_TRUE(std::holds_alternative<modified>(state));
        EXPECT_EQ(std::get<modified>(state).delivery_failed, true);
        EXPECT_TRUE(is_null(std::get<modified>(state).message_annotations));

        bytes const id(3);
        auto const why = long_error(octets);
        auto const inner = encoded(delivery_state{rejected{.error = why.view()}});
        auto const in_transaction = rig.answered([&](auto const& d) {
            d.answer(encoded(
                delivery_state{transactional_state{.txn_id = id, .outcome = raw_value{inner}}}));
        });
        ASSERT_FALSE(decode(raw_value{in_transaction}, state));
        ASSERT_TRUE(std::holds_alternative<transactional_state>(state));
        auto const posted = std::get<transactional_state>(state);
        EXPECT_TRUE(same_bytes(posted.txn_id, id));
        delivery_state outcome;
        ASSERT_FALSE(decode(posted.outcome, outcome));
        ASSERT_TRUE(std::holds_alternative<rejected>(outcome));
        EXPECT_EQ(condition_of(std::get<rejected>(outcome)), condition);
    }
    EXPECT_EQ(rig.from.counters().rejected, 6u);
    rig.peer.shut();
}

TEST(Answers, ThatFitNoFrameOfASmallPeerLoseTheirDetails) { expect_short_answers(512, 600); }

TEST(Answers, ThatFitNoFrameAtAllLoseTheirDetails) { expect_short_answers(0xffff'ffff, 70'000); }

TEST(Answers, WithoutAShortFormReleaseTheDelivery)
{
    answers_rig rig{512};
    delivery_state state;
    amqp_error const named{.condition = std::string(600, 'c')};
    auto const rejection = rig.answered([&](auto const& d) { d.reject(named); });
    ASSERT_FALSE(decode(raw_value{rejection}, state));
    ASSERT_TRUE(std::holds_alternative<rejected>(state));
    EXPECT_FALSE(std::get<rejected>(state).error);

    bytes const long_id(600);  // no coordinator's, for its own frames are no longer
    auto const in_transaction = rig.answered([&](auto const& d) {
        d.answer(encoded(delivery_state{
            transactional_state{.txn_id = long_id, .outcome = raw_value{encoded_accepted}}}));
    });
    ASSERT_FALSE(decode(raw_value{in_transaction}, state));
    EXPECT_TRUE(std::holds_alternative<released>(state));
    rig.peer.shut();
}

}  // namespace
}  // namespace sluice::test
