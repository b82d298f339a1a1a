// The index of unsettled deliveries, against a map that does the same slowly.
#include <sluice/engine/detail/delivery_index.hpp>

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace sluice::engine::detail {
namespace {

struct item {
    std::uint32_t id = 0;
};

/// An index that holds `count` items from `first` on.
struct filled {
    filled(std::uint32_t first, std::uint32_t count)
    {
        items.reserve(count);
        for (std::uint32_t i = 0; i < count; ++i) {
            items.push_back({first + i});
            index.push(delivery_number{first + i}, items.back());
        }
    }
    std::vector<std::uint32_t> in(std::uint32_t first, std::uint32_t last)
    {
        std::vector<std::uint32_t> out;
        index.for_each_in(delivery_number{first}, delivery_number{last},
                          [&](item& i) { out.push_back(i.id); });
        return out;
    }

    std::vector<item> items;
    delivery_index<item> index;
};

using ids = std::vector<std::uint32_t>;

TEST(DeliveryIndex, FindsWhatIsThere)
{
    filled f{10, 5};
    EXPECT_EQ(f.index.size(), 5u);
    EXPECT_EQ(f.index.find(delivery_number{12})->id, 12u);
    EXPECT_EQ(f.index.find(delivery_number{9}), nullptr);
    EXPECT_EQ(f.index.find(delivery_number{15}), nullptr);
    f.index.remove(delivery_number{12});
    EXPECT_EQ(f.index.find(delivery_number{12}), nullptr);
    EXPECT_EQ(f.index.size(), 4u);
}

TEST(DeliveryIndex, TakesRemovalsOfWhatIsNotThere)
{
    filled f{10, 3};
    f.index.remove(delivery_number{9});
    f.index.remove(delivery_number{13});
    f.index.remove(delivery_number{11});
    f.index.remove(delivery_number{11});
    EXPECT_EQ(f.index.size(), 2u);
    EXPECT_EQ(f.in(0, 100), (ids{10, 12}));
}

TEST(DeliveryIndex, WalksARangeOldestFirst)
{
    filled f{10, 5};
    EXPECT_EQ(f.in(11, 13), (ids{11, 12, 13}));
    EXPECT_EQ(f.in(0, 11), (ids{10, 11}));
    EXPECT_EQ(f.in(13, 500), (ids{13, 14}));
    EXPECT_EQ(f.in(0, 9), ids{});
    EXPECT_EQ(f.in(15, 20), ids{});
    EXPECT_EQ(f.in(12, 12), ids{12});
}

TEST(DeliveryIndex, WalksARangeOverTheWrap)
{
    filled f{4294967294, 4};
    EXPECT_EQ(f.in(4294967295, 0), (ids{4294967295, 0}));
    EXPECT_EQ(f.in(4294967290, 100), (ids{4294967294, 4294967295, 0, 1}));
    f.index.remove(delivery_number{4294967295});
    EXPECT_EQ(f.in(4294967294, 1), (ids{4294967294, 0, 1}));
}

TEST(DeliveryIndex, MayBeEmptiedWhileItIsWalked)
{
    filled f{4294967200, 1000};
    auto count = 0;
    f.index.for_each_in(delivery_number{4294967200}, delivery_number{4294967200u + 0x7fff'ffffu},
                        [&](item& i) {
                            f.index.remove(delivery_number{i.id});
                            ++count;
                        });
    EXPECT_EQ(count, 1000);
    EXPECT_EQ(f.index.size(), 0u);
    EXPECT_EQ(f.in(0, 10), ids{});
}

TEST(DeliveryIndex, MayLoseOthersWhileItIsWalked)
{
    filled f{0, 10};
    ids seen;
    f.index.for_each_in(delivery_number{2}, delivery_number{8}, [&](item& i) {
        seen.push_back(i.id);
        f.index.remove(delivery_number{i.id + 1});
    });
    EXPECT_EQ(seen, (ids{2, 4, 6, 8}));
}

TEST(DeliveryIndex, StartsAnewOnceItIsEmpty)
{
    filled f{10, 1};
    f.index.remove(delivery_number{10});
    item far{3'000'000'000};
    f.index.push(delivery_number{far.id}, far);
    EXPECT_EQ(f.index.find(delivery_number{far.id}), &far);
}

TEST(DeliveryIndex, PutsWhatWasOvertakenInItsPlace)
{
    delivery_index<item> index;
    std::vector<item> items{{4294967294}, {4294967295}, {0}, {1}, {2}};
    for (auto const at : {1u, 4u, 0u, 3u, 2u}) index.push(delivery_number{items[at].id}, items[at]);
    index.remove(delivery_number{1});
    ids seen;
    index.for_each([&](item& i) { seen.push_back(i.id); });
    EXPECT_EQ(seen, (ids{4294967294, 4294967295, 0, 2}));
    EXPECT_EQ(index.find(delivery_number{0}), &items[2]);
}

TEST(DeliveryIndex, BehavesLikeAMap)
{
    std::mt19937 random{3};
    delivery_index<item> index;
    std::vector<item> items(20000);
    std::map<std::uint32_t, item*> model;  // by distance from the first id
    constexpr std::uint32_t first = 4294960000;
    std::uint32_t next = 0;
    for (auto step = 0; step < 20000; ++step) {
        if (random() % 2 == 0) {
            next += random() % 5 == 0 ? 3 : 1;  // a gap: presettled deliveries use ids too
            auto& one = items[static_cast<std::size_t>(step)];
            one.id = first + next;
            index.push(delivery_number{one.id}, one);
            model[next] = &one;
        } else if (!model.empty()) {
            auto at = model.begin();
            std::advance(
                at, static_cast<std::ptrdiff_t>(random() % 8 == 0 ? random() % model.size() : 0));
            index.remove(delivery_number{at->second->id});
            model.erase(at);
        }
        ASSERT_EQ(index.size(), model.size());
        if (step % 16 != 0)
            continue;
        auto const from = next < 50 ? 0 : next - static_cast<std::uint32_t>(random() % 50);
        auto const to = from + static_cast<std::uint32_t>(random() % 60);
        ids expected;
        for (auto at = model.lower_bound(from); at != model.end() && at->first <= to; ++at)
            expected.push_back(at->second->id);
        ids got;
        index.for_each_in(delivery_number{first + from}, delivery_number{first + to},
                          [&](item& i) { got.push_back(i.id); });
        ASSERT_EQ(got, expected) << "step " << step;
    }
}

}  // namespace
}  // namespace sluice::engine::detail
