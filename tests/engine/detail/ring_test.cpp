// The queue that grows and never shrinks, the list through its elements, and the pool.
#include <sluice/engine/detail/intrusive.hpp>
#include <sluice/engine/detail/pool.hpp>
#include <sluice/engine/detail/ring.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>
#include <set>
#include <vector>

namespace sluice::engine::detail {
namespace {

TEST(Ring, BehavesLikeADeque)
{
    std::mt19937 random{11};
    ring<int> r;
    std::deque<int> model;
    for (auto step = 0; step < 50000; ++step) {
        switch (random() % 7) {
        case 0:
        case 1:
        case 2:
            r.push_back(step);
            model.push_back(step);
            break;
        case 3:
            r.next_slot() = step;
            model.push_back(step);
            break;
        case 4:
        case 5:
            if (!model.empty())
                r.pop_front(), model.pop_front();
            break;
        default:
            if (!model.empty())
                r.pop_back(), model.pop_back();
        }
        if (step % 9000 == 8999)
            r.clear(), model.clear();
        ASSERT_EQ(r.size(), model.size());
        ASSERT_EQ(r.empty(), model.empty());
        if (model.empty())
            continue;
        ASSERT_EQ(r.front(), model.front());
        ASSERT_EQ(r.back(), model.back());
        auto const at = random() % model.size();
        ASSERT_EQ(r[at], model[at]);
    }
}

TEST(Ring, MovesWhatItHoldsWhenItGrows)
{
    ring<std::unique_ptr<int>> r;
    r.push_back(std::make_unique<int>(0));
    r.pop_front();  // the head is no longer at the block's start
    for (auto i = 1; i <= 100; ++i) r.push_back(std::make_unique<int>(i));
    for (auto i = 1; i <= 100; ++i) {
        ASSERT_EQ(*r.front(), i);
        r.pop_front();
    }
    EXPECT_TRUE(r.empty());
}

struct element {
    list_hook<element> hook;
    int number = 0;
};
using list = intrusive_list<element, &element::hook>;

std::vector<int> numbers(list const& l)
{
    std::vector<int> out;
    for (auto* at = l.front(); at; at = list::after(at)) out.push_back(at->number);
    return out;
}

TEST(IntrusiveList, RemovesAnywhereAndKeepsTheOrder)
{
    element e[5];
    list l;
    for (auto i = 0; i < 5; ++i) {
        e[i].number = i;
        l.push_back(e[i]);
    }
    l.remove(e[2]);
    EXPECT_EQ(numbers(l), (std::vector{0, 1, 3, 4}));
    l.remove(e[0]);
    l.remove(e[4]);
    EXPECT_EQ(numbers(l), (std::vector{1, 3}));
    l.push_back(e[0]);
    EXPECT_EQ(numbers(l), (std::vector{1, 3, 0}));
    EXPECT_EQ(l.size(), 3u);
    EXPECT_EQ(l.pop_front(), &e[1]);
    EXPECT_EQ(l.pop_front(), &e[3]);
    EXPECT_EQ(l.pop_front(), &e[0]);
    EXPECT_EQ(l.pop_front(), nullptr);
    EXPECT_TRUE(l.empty());
}

struct pooled {
    pooled* next_free_ = nullptr;
    int number = 0;
};

TEST(Pool, GivesOutWhatCameBackAndNothingTwice)
{
    pool<pooled> p;
    std::set<pooled*> out;
    for (auto i = 0; i < 1000; ++i) ASSERT_TRUE(out.insert(&p.acquire()).second);
    std::set<pooled*> back;
    for (auto* const one : out) p.release(*one), back.insert(one);
    for (auto i = 0; i < 1000; ++i)
        ASSERT_EQ(back.erase(&p.acquire()), 1u) << "the same objects again";
}

}  // namespace
}  // namespace sluice::engine::detail
