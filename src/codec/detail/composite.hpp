// Encoding and decoding of any composite type: the two ways of decoding put together.
#pragma once

#include "composite_encoding.hpp"
#include "quick_decoding.hpp"
#include "strict_decoding.hpp"

namespace sluice::detail {

/// @pre `out` is as T{} is
template <class T>
inline error decode_composite(cursor& in, T& out) noexcept
{
    return decode_quickly(in, out) ? error::none : decode_strictly(in, out).code;
}

template <class T>
[[gnu::noinline, gnu::cold]] std::error_code decode_with_fault(bytes_view& in, T& out,
                                                               decode_fault* fault) noexcept
{
    cursor at{in.data(), in.data() + in.size()};
    auto const why = decode_strictly(at, out);
    if (why.code == error::none) {
        in = {at.at, at.left()};
        return {};
    }
    if (fault) {
        *fault = {make_error_code(why.code), composite_traits<T>::short_name,
                  field_name<T>(why.field, field_indices<T>{}),
                  static_cast<std::size_t>(why.at - in.data())};
    }
    return make_error_code(why.code);
}

/// A code without error. Making one calls into libstdc++ for its category, copying one does not;
/// and as the last call of its caller it costs that no stack frame.
std::error_code success() noexcept;

/// For the public functions: moves `in`, fills `fault`.
template <class T>
[[gnu::always_inline]] inline std::error_code decode_public(bytes_view& in, T& out,
                                                            decode_fault* fault) noexcept
{
    cursor at{in.data(), in.data() + in.size()};
    out = T{};
    if (!decode_quickly(at, out)) [[unlikely]]
        return decode_with_fault(in, out, fault);
    in = in.subspan(static_cast<std::size_t>(at.at - in.data()));
    return success();
}

#define SLUICE_DEFINE_COMPOSITE(T)                                               \
    std::error_code decode(bytes_view& in, T& out, decode_fault* fault) noexcept \
    {                                                                            \
        return detail::decode_public(in, out, fault);                            \
    }                                                                            \
    std::size_t encoded_size_bound(T const& value) noexcept                      \
    {                                                                            \
        return detail::bound_of(value, detail::field_indices<T>{});              \
    }                                                                            \
    std::byte* encode(T const& value, std::byte* out) noexcept                   \
    {                                                                            \
        return detail::encode_composite(value, out, detail::field_indices<T>{}); \
    }

}  // namespace sluice::detail
