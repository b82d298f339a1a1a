// Memory: none is taken for a frame once a connection is running.
#include "support/audit_frames.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace {

std::size_t allocations = 0;  // of this program, which has one thread

void* counted(std::size_t size)
{
    ++allocations;
    if (auto* const p = std::malloc(size))
        return p;
    throw std::bad_alloc{};
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace sluice::audit::testing {
namespace {

TEST(Allocation, TakesNoMemoryForFramesOnceItRuns)
{
    scene s;
    s.window = 1000;
    s.ready(1000);
    checker& audit = s.audit();
    std::uint32_t sent = 0;
    auto const round = [&](bool count) {
        std::vector<std::pair<direction, bytes>> frames;
        for (int i = 0; i != 100; ++i, sent += 2) {
            frames.emplace_back(
                client, frame_of(scene::of_client, scene::more(scene::first(sent / 2)), 90));
            frames.emplace_back(client, frame_of(scene::of_client, scene::rest(), 90));
        }
        frames.emplace_back(
            server, frame_of(scene::of_server, scene::accept(sent / 2 - 100, sent / 2 - 1)));
        auto grant = s.credit_flow(1000, sent / 2);
        grant.next_incoming_id = transfer_id{s.client_first + sent};
        frames.emplace_back(server, frame_of(scene::of_server, grant));
        frames.emplace_back(client,
                            frame_of(scene::of_client, s.client_flow(s.client_first + sent)));
        auto const before = allocations;
        for (auto const& [d, octets] : frames) {
            auto const whole = bytes_view{octets};
            audit.feed(d, whole.first(12), s.now);
            audit.feed(d, whole.subspan(12), s.now);
        }
        if (count) {
            EXPECT_EQ(allocations, before);
        }
    };
    for (int i = 0; i != 5; ++i) round(false);  // until ids have their full width
    for (int i = 0; i != 20; ++i) round(true);
    EXPECT_EQ(s.findings(), "");
}

}  // namespace
}  // namespace sluice::audit::testing
