// Garbage is refused by both codecs, ours and Proton-C's, or the difference is listed here with its
// reason. What both accept is the same value and the same octets.
#ifdef SLUICE_HAVE_PROTON

#include "codec_generators.hpp"
#include "support/codec_proton.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdio>

namespace sluice::prop {
namespace {

enum class verdict { same, ours_refuses, theirs_refuses, other_value };

struct difference {
    verdict says;
    error code;  // ours, where we refuse
    char const* reason;
};

/// All that Proton-C 0.37 is known to see otherwise.
constexpr difference differences[] = {
    {verdict::ours_refuses, error::invalid_utf8,
     "Proton takes any octets for a string; [1.6.20] wants UTF-8"},
    {verdict::ours_refuses, error::invalid_value,
     "Proton takes any octet for a boolean, any number for a char, any count for a map"},
    {verdict::ours_refuses, error::size_mismatch,
     "Proton does not hold a compound's size against its elements"},
    {verdict::ours_refuses, error::nested_too_deep, "Proton has no limit of depth"},
    {verdict::ours_refuses, error::too_many_elements,
     "Proton does not hold a compound's count against its octets"},
    {verdict::theirs_refuses, {}, "Proton cannot hold a descriptor that is described itself"},
    {verdict::other_value,
     {},
     "Proton loses what follows a described value whose content, or descriptor, is described"},
};

bool has_nested_descriptor(value const& v)
{
    auto const any = [](auto const& items) {
        for (auto const& item : items)
            if (has_nested_descriptor(item))
                return true;
        return false;
    };
    if (auto const* const d = v.get_if<described_value>())
        return d->descriptor.get_if<described_value>() || d->content.get_if<described_value>()
               || has_nested_descriptor(d->descriptor) || has_nested_descriptor(d->content);
    if (auto const* const list = v.get_if<value_list>())
        return any(*list);
    if (auto const* const map = v.get_if<value_map>()) {
        for (auto const& [key, content] : *map)
            if (has_nested_descriptor(key) || has_nested_descriptor(content))
                return true;
        return false;
    }
    if (auto const* const array = v.get_if<value_array>())
        return any(array->items) || any(array->descriptors) || array->descriptors.size() > 1
               || array->element == value_type::array || array->element == value_type::list
               || array->element == value_type::map;
    return false;
}

TEST(CodecGarbage, IsRefusedByBothOrTheDifferenceIsListed)
{
    std::map<std::string, std::size_t> met;
    auto const ok = rc::check([&] {
        auto const wire = codec_mutated(encoded(codec_value(3)));
        bytes_view in{wire};
        value ours;
        auto const code = decode(in, ours);
        auto const data = test::codec_make_pn_data();
        auto const size =
            pn_data_decode(data.get(), reinterpret_cast<char const*>(wire.data()), wire.size());
        if (code && size < 0) {
            ++met["both refuse"];
            return;
        }
        auto says = code ? verdict::ours_refuses : verdict::theirs_refuses;
        if (!code && size >= 0) {
            pn_data_rewind(data.get());
            RC_ASSERT(pn_data_next(data.get()));
            auto const same_size = wire.size() - in.size() == static_cast<std::size_t>(size);
            says = same_size && encoded(test::codec_get(data.get())) == encoded(ours)
                       ? verdict::same
                       : verdict::other_value;
        }
        if (says == verdict::same) {
            ++met["both accept the same"];
            return;
        }
        for (auto const& d : differences) {
            if (d.says != says || (code && code != make_error_code(d.code)))
                continue;
            if (!code && !has_nested_descriptor(ours))
                continue;
            ++met[d.reason];
            return;
        }
        RC_FAIL("a difference that is not listed: " + (code ? code.message() : to_string(ours)));
    });
    EXPECT_TRUE(ok);
    for (auto const& [what, count] : met) std::printf("    %6zu  %s\n", count, what.c_str());
    EXPECT_GT(met["both refuse"], 0u);
    EXPECT_GT(met["both accept the same"], 0u);
}

}  // namespace
}  // namespace sluice::prop

#endif
