// Encoding and decoding of termini, delivery states, header and properties. [3.2, 3.4, 3.5]
#include "detail/composite.hpp"

namespace sluice {

SLUICE_DEFINE_COMPOSITE(source)
SLUICE_DEFINE_COMPOSITE(target)
SLUICE_DEFINE_COMPOSITE(delete_on_close)
SLUICE_DEFINE_COMPOSITE(delete_on_no_links)
SLUICE_DEFINE_COMPOSITE(delete_on_no_messages)
SLUICE_DEFINE_COMPOSITE(delete_on_no_links_or_messages)
SLUICE_DEFINE_COMPOSITE(header)
SLUICE_DEFINE_COMPOSITE(properties)

namespace {

template <class T>
error decode_state(detail::cursor& in, delivery_state& out) noexcept
{
    return detail::decode_composite(in, out.emplace<T>());
}

error decode_state(detail::cursor& in, std::uint64_t descriptor, delivery_state& out) noexcept
{
    switch (descriptor) {
    case composite_traits<received>::descriptor: return decode_state<received>(in, out);
    case composite_traits<accepted>::descriptor: return decode_state<accepted>(in, out);
    case composite_traits<rejected>::descriptor: return decode_state<rejected>(in, out);
    case composite_traits<released>::descriptor: return decode_state<released>(in, out);
    case composite_traits<modified>::descriptor: return decode_state<modified>(in, out);
    case composite_traits<declared>::descriptor: return decode_state<declared>(in, out);
    case composite_traits<transactional_state>::descriptor:
        return decode_state<transactional_state>(in, out);
    default: return detail::skip(in, decode_depth_max);
    }
}

}  // namespace

std::error_code decode(raw_value raw, delivery_state& out) noexcept
{
    out = std::monostate{};
    if (raw.empty())
        return {};
    detail::cursor in{raw.encoded.data(), raw.encoded.data() + raw.encoded.size()};
    auto const format_code = detail::octet(in.at);
    auto e = error::none;
    if (format_code == detail::code::null)
        ++in.at;
    else if (format_code != detail::code::described)
        e = detail::refuse(format_code);
    else
        e = decode_state(in, peek_descriptor(raw.encoded), out);
    if (e == error::none && in.at != in.end)
        e = error::trailing_bytes;
    return e == error::none ? std::error_code{} : make_error_code(e);
}

std::size_t encoded_size_bound(delivery_state const& value) noexcept
{
    return std::visit(
        []<class T>(T const& state) -> std::size_t {
            if constexpr (std::is_same_v<T, std::monostate>)
                return 1;
            else
                return detail::bound_of(state, detail::field_indices<T>{});
        },
        value);
}

std::byte* encode(delivery_state const& value, std::byte* out) noexcept
{
    return std::visit(
        [out]<class T>(T const& state) {
            if constexpr (std::is_same_v<T, std::monostate>)
                return detail::put(out, detail::code::null);
            else
                return detail::encode_composite(state, out, detail::field_indices<T>{});
        },
        value);
}

}  // namespace sluice
