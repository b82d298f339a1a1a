// Sizes and counts that claim more than there is: an error at once, and no memory for it. [1.2]
#include "support/codec_hex.hpp"

#include <sluice/codec/message.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace {
std::size_t octets_allocated = 0;
}

// Counts what this test program allocates: what hostile input makes us allocate is the question.
[[gnu::noinline]] void* operator new(std::size_t size)
{
    octets_allocated += size;
    if (void* const p = std::malloc(size))
        return p;
    throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace sluice::test {
namespace {

struct claim {
    char const* hex;
    error expected;
};

constexpr claim claims[] = {
    {"f000000005ffffffff40", error::too_many_elements},  // four billion nulls
    {"f000000005ffffffff41", error::too_many_elements},
    {"f000000005ffffffff45", error::too_many_elements},
    {"f000000005ffffffff52", error::too_many_elements},
    {"f000000005ffffffffa0", error::too_many_elements},
    {"f000000005ffffffffc0", error::too_many_elements},
    {"d000000004ffffffff", error::too_many_elements},
    {"d100000004fffffffe", error::too_many_elements},
    {"b07fffffff00", error::truncated},
    {"b1ffffffff00", error::truncated},
    {"b3ffffffff00", error::truncated},
    {"d0ffffffff00000001", error::truncated},
    {"f0ffffffff0000000140", error::truncated},
    {"c0ff", error::truncated},
    {"e0ff0140", error::truncated},
    {"c000", error::size_mismatch},
    {"d00000000300000000", error::size_mismatch},
    {"c10201"
     "43",
     error::invalid_value},  // half an entry
    {"e001"
     "00",
     error::size_mismatch},  // an array without a constructor
    {"e0020139", error::unknown_constructor},
    {"00", error::truncated},
    {"0043", error::truncated},
    {"", error::truncated},
    {"39", error::unknown_constructor},
};

void expect_small(std::size_t before, char const* hex)
{
    EXPECT_LT(octets_allocated - before, 4096u) << hex;
}

TEST(HostileInput, AValueThatClaimsTooMuchIsAnErrorWithoutMemory)
{
    for (auto const& [hex, expected] : claims) {
        auto const wire = codec_from_hex(hex);
        auto const before = octets_allocated;
        bytes_view in{wire};
        value v;
        auto const code = decode(in, v);
        expect_small(before, hex);
        EXPECT_EQ(code, expected) << hex << " " << code.message();
        EXPECT_EQ(in.size(), wire.size()) << hex;
        EXPECT_EQ(skip_value(in), expected) << hex;
    }
}

TEST(HostileInput, TheSameInsideAPerformativeIsAnError)
{
    for (auto const& claim : claims) {
        auto const inner = codec_from_hex(claim.hex);
        // attach with the claim as its source: five fields before it
        auto wire = codec_from_hex("005312d0000000000000000"
                                   "6a1016c43414040");
        wire.insert(wire.end(), inner.begin(), inner.end());
        auto const size = wire.size() - 8;
        wire[6] = static_cast<std::byte>(size >> 8);
        wire[7] = static_cast<std::byte>(size);
        auto const before = octets_allocated;
        bytes_view in{wire};
        attach a;
        decode_fault fault;
        auto const code = decode(in, a, &fault);
        expect_small(before, claim.hex);
        EXPECT_TRUE(code) << claim.hex;
        EXPECT_EQ(fault.composite, "attach") << claim.hex;
        EXPECT_EQ(fault.field, "source") << claim.hex;
        EXPECT_EQ(in.size(), wire.size());
    }
}

TEST(HostileInput, TheSameInsideAMessageIsAnError)
{
    for (auto const& [hex, expected] : claims) {
        auto wire = codec_from_hex("005377");
        auto const inner = codec_from_hex(hex);
        wire.insert(wire.end(), inner.begin(), inner.end());
        auto const before = octets_allocated;
        message m;
        message_view view;
        EXPECT_EQ(decode(wire, view), expected) << hex;
        EXPECT_EQ(decode(wire, m), expected) << hex;
        expect_small(before, hex);
    }
}

TEST(HostileInput, SectionsThatClaimTooMuchAreErrors)
{
    for (auto const* const hex :
         {"005375b07fffffff00", "005376d000000004ffffffff", "005374d100000004fffffffe",
          "005372d100000004fffffffe", "005370d000000004ffffffff", "005373d000000004ffffffff"}) {
        auto const wire = codec_from_hex(hex);
        message_view view;
        EXPECT_TRUE(decode(wire, view)) << hex;
    }
}

TEST(HostileInput, AListOfNullsIsLegal)
{
    auto const wire = codec_from_hex("c00403404040");
    bytes_view in{wire};
    value v;
    ASSERT_FALSE(decode(in, v));
    EXPECT_EQ(v, (value{value_list{nullptr, nullptr, nullptr}}));
}

TEST(HostileInput, ArraysWithoutOctetsAreLegalUpToTheLimit)
{
    auto const array_of_nulls = [](std::uint32_t count) {
        auto wire = codec_from_hex("f000000005"
                                   "00000000"
                                   "40");
        detail::store(wire.data() + 5, count);
        return wire;
    };
    value v;
    auto const most = array_of_nulls(zero_width_elements_max);
    bytes_view in{most};
    ASSERT_FALSE(decode(in, v));
    EXPECT_EQ(v.get_if<value_array>()->items.size(), zero_width_elements_max);
    auto const more = array_of_nulls(zero_width_elements_max + 1);
    in = more;
    EXPECT_EQ(decode(in, v), error::too_many_elements);
}

// A thousand elements for each ten octets would let a message of a megabyte fill the memory.
TEST(HostileInput, ManyArraysWithoutOctetsAreLimitedTogether)
{
    auto wire = codec_from_hex("d000000000"
                               "00000000");
    for (int i = 0; i != 10; ++i) {
        auto const array = codec_from_hex("f000000005"
                                          "00000400"
                                          "40");
        wire.insert(wire.end(), array.begin(), array.end());
    }
    detail::store(wire.data() + 1, static_cast<std::uint32_t>(wire.size() - 5));
    detail::store(wire.data() + 5, std::uint32_t{10});
    bytes_view in{wire};
    ASSERT_FALSE(skip_value(in)) << "walking over it costs nothing";
    in = wire;
    value v;
    EXPECT_EQ(decode(in, v), error::too_many_elements);
}

bytes nested(char const* opening_hex, std::size_t levels)
{
    // From the innermost null outwards, each level in its 32-bit form where it has a size.
    bytes wire = codec_from_hex("40");
    for (std::size_t i = 0; i != levels; ++i) {
        auto level = codec_from_hex(opening_hex);
        if (level[0] == std::byte{0xd0} || level[0] == std::byte{0xf0})
            detail::store(level.data() + 1,
                          static_cast<std::uint32_t>(level.size() - 5 + wire.size()));
        wire.insert(wire.begin(), level.begin(), level.end());
    }
    return wire;
}

TEST(HostileInput, NestingIsLimited)
{
    // lists, descriptors of descriptors, described content, constructors of arrays
    for (auto const* const opening : {"d00000000000000001", "0043"}) {
        for (std::size_t const levels : {std::size_t{decode_depth_max},
                                         std::size_t{decode_depth_max} + 1, std::size_t{10000}}) {
            auto const wire = nested(opening, levels);
            bytes_view in{wire};
            value v;
            auto const code = decode(in, v);
            auto const allowed = levels <= decode_depth_max;
            EXPECT_EQ(code, allowed ? std::error_code{} : make_error_code(error::nested_too_deep))
                << opening << levels;
        }
    }
    bytes const descriptors(100000, std::byte{0});
    bytes_view in{descriptors};
    EXPECT_EQ(skip_value(in), error::nested_too_deep);
}

// What is decoded can be encoded and decoded again: in an array an empty list has another encoding.
TEST(HostileInput, AnEmptyListIsNoLevelHoweverItIsEncoded)
{
    for (auto const* const innermost : {"e0020145", "45", "c00100", "c10100"}) {
        auto wire = codec_from_hex(innermost);
        auto const levels = innermost[0] == 'e' ? decode_depth_max - 1 : decode_depth_max;
        for (unsigned i = 0; i != levels; ++i) {
            auto level = codec_from_hex("d00000000000000001");
            detail::store(level.data() + 1,
                          static_cast<std::uint32_t>(level.size() - 5 + wire.size()));
            wire.insert(wire.begin(), level.begin(), level.end());
        }
        bytes_view in{wire};
        value v;
        ASSERT_FALSE(decode(in, v)) << innermost;
        auto const again = encoded(v);
        bytes_view rest{again};
        value back;
        EXPECT_FALSE(decode(rest, back)) << innermost;
        EXPECT_EQ(back, v) << innermost;
    }
}

TEST(HostileInput, AnArrayOfArraysIsLimitedInDepthToo)
{
    // Each level is an array of one array; the format code of the element stands before its size.
    bytes wire = codec_from_hex("000000050000000140");  // without its format code
    for (int i = 0; i != 40; ++i) {
        bytes level = codec_from_hex("00000000"
                                     "00000001"
                                     "f0");
        level.insert(level.end(), wire.begin(), wire.end());
        detail::store(level.data(), static_cast<std::uint32_t>(level.size() - 4));
        wire = std::move(level);
    }
    wire.insert(wire.begin(), std::byte{0xf0});
    bytes_view in{wire};
    EXPECT_EQ(skip_value(in), error::nested_too_deep);
}

TEST(HostileInput, EveryTruncationOfAValidMessageIsAnErrorOrAShorterMessage)
{
    message m{"some text"};
    m.properties.subject = "subject";
    m.application_properties["k"] = value_list{1, "two", value_map{{"three", 3}}};
    auto const wire = encoded(m);
    for (std::size_t size = 0; size != wire.size(); ++size) {
        bytes const cut(wire.begin(), wire.begin() + static_cast<std::ptrdiff_t>(size));
        message out;
        if (!decode(cut, out)) {
            EXPECT_NE(out, m);
        }
        message_view view;
        (void)decode(cut, view);
    }
}

}  // namespace
}  // namespace sluice::test
