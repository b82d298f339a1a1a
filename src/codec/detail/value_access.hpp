// What only the codec's own sources may do with a value: look at its storage, skip checks.
#pragma once

#include <sluice/codec/value.hpp>

namespace sluice {

struct value_access {
    static auto const& held(value const& v) noexcept { return v.held_; }
    static auto& held(value& v) noexcept { return v.held_; }
};

namespace detail {

/// Decodes a value that has been found well-formed: only contents are left to check.
error decode_checked(raw_value raw, value& out);
/// The same for a map; absent gives an empty one.
error decode_checked(raw_value raw, value_map& out);
/// The same for a list.
error decode_checked(raw_value raw, value_list& out);

}  // namespace detail
}  // namespace sluice
