// In steady state a message costs no memory: counted by replacing the operators that give it.
#include "support/engine_pair.hpp"
#include "support/engine_peer.hpp"

#include <sluice/engine/connection.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace {

std::size_t allocations = 0;  // tests of this program run in one thread

void* counted(std::size_t size)
{
    ++allocations;
    if (auto* const p = std::malloc(size == 0 ? 1 : size))
        return p;
    throw std::bad_alloc{};
}

void* counted(std::size_t size, std::align_val_t alignment)
{
    ++allocations;
    auto const unit = static_cast<std::size_t>(alignment);
    if (auto* const p = std::aligned_alloc(unit, (size + unit - 1) / unit * unit))
        return p;
    throw std::bad_alloc{};
}

}  // namespace

// The nothrow forms and the arrays of the library end up here; only these are replaced.
void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, std::align_val_t alignment)
{
    return counted(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment)
{
    return counted(size, alignment);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace sluice::test {
namespace {

/// Two engines and a link between them; 32 messages at a time go from one to the other.
struct Allocations : testing::Test {
    void connect(receiver_settle_mode mode = receiver_settle_mode::first)
    {
        session = pair.open_session({}, {.policy = e::flow_policy::strict});
        auto options = link_named("L");
        options.rcv_settle_mode = mode;
        pair.listener_link.credit_window = 200;
        s = *session->attach_sender(std::move(options));
        pair.run();
    }

    /// Octets one way, and everything that they cause.
    bool move(e::connection& from, e::connection& to)
    {
        auto const n = from.write(buffer, pair.now);
        bytes_view left{buffer.data(), n};
        while (!left.empty()) {
            left = left.subspan(to.receive(left, pair.now));
            poll(to);
        }
        return n > 0;
    }
    void poll(e::connection& c)
    {
        for (e::event v; c.poll_event(v);) {
            if (v.kind == e::event_kind::delivery) {
                ++received;
                std::ignore = v.incoming->link().settle(*v.incoming);
            }
            if (v.kind == e::event_kind::outcome || v.kind == e::event_kind::sent)
                ++answered;
        }
    }
    void round(bool settled)
    {
        for (auto i = 0; i < 32; ++i) std::ignore = s->send({body}, {.settled = settled});
        for (auto moved = true; moved;) {
            moved = move(pair.a, pair.b);
            moved = move(pair.b, pair.a) || moved;
        }
    }
    /// Allocations of a thousand rounds, after some that fill pools and buffers.
    std::size_t steady(bool settled)
    {
        for (auto i = 0; i < 100; ++i) round(settled);
        auto const before = allocations;
        for (auto i = 0; i < 1000; ++i) round(settled);
        return allocations - before;
    }

    engine_pair pair;
    e::session* session = nullptr;
    e::sender* s = nullptr;
    bytes body = bytes(64, std::byte{'x'});
    std::vector<std::byte> buffer = std::vector<std::byte>(128 * 1024);
    std::size_t received = 0;
    std::size_t answered = 0;
};

TEST_F(Allocations, AreCountedAtAll)
{
    auto const before = allocations;
    auto const some = std::make_unique<int>(1);
    EXPECT_EQ(allocations, before + 1);
}

TEST_F(Allocations, AreNoneForPresettledMessages)
{
    connect();
    EXPECT_EQ(steady(true), 0u);
    EXPECT_EQ(received, 1100u * 32);
}

TEST_F(Allocations, AreNoneForMessagesThatTheReceiverSettles)
{
    connect();
    EXPECT_EQ(steady(false), 0u);
    EXPECT_EQ(received, 1100u * 32);
    EXPECT_EQ(answered, received);
    EXPECT_EQ(s->unsettled(), 0u);
}

TEST_F(Allocations, AreNoneInModeSecond)
{
    connect(receiver_settle_mode::second);
    ASSERT_EQ(s->rcv_settle_mode(), receiver_settle_mode::second);
    EXPECT_EQ(steady(false), 0u);
    EXPECT_EQ(answered, received);
}

TEST_F(Allocations, AreNoneForMessagesOfManyFrames)
{
    body.assign(200'000, std::byte{'x'});
    connect();
    for (auto i = 0; i < 20; ++i) round(true);
    auto const before = allocations;
    for (auto i = 0; i < 10; ++i) round(true);
    // Rare large bodies give their memory back when they are released: one vector that grows frame
    // by frame.
    EXPECT_LE(allocations - before, 10u * 32 * 4);
    EXPECT_EQ(received, 30u * 32);
}

}  // namespace
}  // namespace sluice::test
