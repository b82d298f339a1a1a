// What is not tied to one composite type: descriptors, skipping, the text of a fault.
#include "detail/composite.hpp"

namespace sluice {
namespace {

struct known_descriptor {
    std::string_view name;
    std::uint64_t number;
};

template <class... T>
constexpr auto describe_all() noexcept
{
    return std::array{
        known_descriptor{composite_traits<T>::name, composite_traits<T>::descriptor}...};
}

constexpr auto composites =
    describe_all<open, begin, attach, flow, transfer, disposition, detach, end, close, error_view,
                 received, accepted, rejected, released, modified, source, target, delete_on_close,
                 delete_on_no_links, delete_on_no_messages, delete_on_no_links_or_messages,
                 coordinator, declare, discharge, declared, transactional_state, sasl_mechanisms,
                 sasl_init, sasl_challenge, sasl_response, sasl_outcome, header, properties>();

// The sections of a message that are not composites. [3.2]
constexpr std::array sections{
    known_descriptor{"amqp:delivery-annotations:map", 0x71},
    known_descriptor{"amqp:message-annotations:map", 0x72},
    known_descriptor{"amqp:application-properties:map", 0x74},
    known_descriptor{"amqp:data:binary", 0x75},
    known_descriptor{"amqp:amqp-sequence:list", 0x76},
    known_descriptor{"amqp:amqp-value:*", 0x77},
    known_descriptor{"amqp:footer:map", 0x78},
};

std::uint64_t number_of(std::string_view name) noexcept
{
    for (auto const& d : composites)
        if (d.name == name)
            return d.number;
    for (auto const& d : sections)
        if (d.name == name)
            return d.number;
    return 0;
}

}  // namespace

std::uint64_t peek_descriptor(bytes_view in) noexcept
{
    using namespace detail;
    if (in.size() < 3 || octet(in.data()) != code::described)
        return 0;
    if (octet(in.data() + 1) == code::smallulong)
        return octet(in.data() + 2);
    cursor at{in.data() + 1, in.data() + in.size()};
    std::uint64_t number = 0;
    symbol name;
    if (read_descriptor(at, number, name) != error::none)
        return 0;
    return name.text.empty() ? number : number_of(name.text);
}

std::error_code skip_value(bytes_view& in) noexcept
{
    detail::cursor at{in.data(), in.data() + in.size()};
    auto const e = detail::skip(at, decode_depth_max);
    if (e != error::none)
        return make_error_code(e);
    in = {at.at, at.left()};
    return {};
}

std::string decode_fault::message() const
{
    std::string text{composite};
    if (!field.empty())
        text.append(text.empty() ? "" : ".").append(field);
    if (text.empty())
        text = "value";
    return text + " at octet " + std::to_string(offset) + ": " + code.message();
}

}  // namespace sluice
