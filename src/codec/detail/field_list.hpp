// What the list of fields of a composite type tells at compile time. [1.4]
#pragma once

#include "field_codec.hpp"

#include <sluice/codec/codec.hpp>
#include <sluice/codec/fields.hpp>

namespace sluice::detail {

template <class T>
inline constexpr std::size_t field_count =
    std::tuple_size_v<std::remove_cvref_t<decltype(composite_traits<T>::fields)>>;

template <class T>
using field_indices = std::make_index_sequence<field_count<T>>;

template <class T>
inline constexpr T defaults{};

template <class T, std::size_t I>
using codec_of = field_codec<typename std::tuple_element_t<
    I, std::remove_cvref_t<decltype(composite_traits<T>::fields)>>::member_type>;

constexpr bool is_map_type(std::string_view type) noexcept
{
    return type == "map" || type == "fields" || type == "filter-set" || type == "node-properties";
}

/// Whether field I is a delivery-tag, which has at most 32 octets. [2.8.7]
template <class T, std::size_t I>
inline constexpr bool is_tag = std::get<I>(composite_traits<T>::fields).type == "delivery-tag";
inline constexpr std::size_t tag_size_max = 32;

/// The number of elements that the list must have: the last mandatory field and those before it.
template <class T, std::size_t... I>
constexpr std::uint32_t count_min_of(std::index_sequence<I...>) noexcept
{
    std::uint32_t count = 0;
    ((std::get<I>(composite_traits<T>::fields).mandatory ? void(count = I + 1) : void()), ...);
    return count;
}
template <class T>
inline constexpr std::uint32_t count_min = count_min_of<T>(field_indices<T>{});

}  // namespace sluice::detail
