// Keys of maps, types of ids, choices of termini.
#include "node/checks.hpp"

#include <sluice/codec/reader.hpp>
#include <sluice/engine/delivery.hpp>

#include <algorithm>

namespace sluice::node::detail {
namespace {

using engine::outcome_kind;

constexpr std::string_view policies[] = {"link-detach", "session-end", "connection-close", "never"};

amqp_error error_of(std::string_view condition, std::string text)
{
    return {.condition = std::string{condition}, .description = std::move(text), .info = {}};
}

template <class Terminus>
amqp_error fault_of_either(Terminus const& t, std::string const& which)
{
    auto const policy = t.expiry_policy.text;
    if (std::find(std::begin(policies), std::end(policies), policy) == std::end(policies))
        return error_of(condition::decode_error, "the " + which + "'s expiry-policy '"
                                                     + std::string{policy}
                                                     + "' is none of the standard's [3.5.6]");
    if (!t.dynamic && map_reader{t.dynamic_node_properties}.left() > 0)
        return error_of(condition::invalid_field,
                        "the " + which
                            + " has dynamic-node-properties and is not dynamic [3.5.3, 3.5.4]");
    return {};
}

template <class Good>
bool all_of(raw_value map, Good good) noexcept
{
    for (map_reader entries{map}; auto const e = entries.next();)
        if (!good(*e))
            return false;
    return true;
}

bool is_id(raw_value id) noexcept
{
    auto const type = type_of(id);
    return is_null(id) || type == value_type::ulong || type == value_type::uuid
           || type == value_type::binary || type == value_type::string;
}

bool are_annotations(raw_value map) noexcept
{
    return all_of(map, [](auto const& e) {
        auto const type = type_of(e.key);
        return type == value_type::symbol || type == value_type::ulong;
    });
}

bool is_simple(raw_value v) noexcept
{
    auto const type = type_of(v);
    return type != value_type::list && type != value_type::map && type != value_type::array
           && type != value_type::described;
}

}  // namespace

bool has_symbols_as_keys(raw_value map) noexcept
{
    return all_of(map, [](auto const& e) { return type_of(e.key) == value_type::symbol; });
}

amqp_error fault_of(source const& s)
{
    if (auto fault = fault_of_either(s, "source"); !fault.empty())
        return fault;
    auto const kind = engine::kind_of(s.default_outcome);
    auto const outcome = kind == outcome_kind::accepted || kind == outcome_kind::rejected
                         || kind == outcome_kind::released || kind == outcome_kind::modified
                         || kind == outcome_kind::unknown;
    if (!is_null(s.default_outcome) && (!outcome || !fault_of_state(s.default_outcome).empty()))
        return error_of(condition::invalid_field,
                        "the source's default-outcome is no outcome [3.5.3]");
    return {};
}

amqp_error fault_of(target const& t) { return fault_of_either(t, "target"); }

std::string fault_of_state(raw_value state)
{
    if (is_null(state) || engine::is_accepted(state))
        return {};
    if (!as_described(state))
        return "a delivery state that is not a described type [3.4]";
    if (engine::kind_of(state) == outcome_kind::unknown)
        return {};
    delivery_state decoded;
    auto const failed = decode(state, decoded);
    return failed ? "a delivery state that cannot be decoded: " + failed.message() + " [3.4]"
                  : std::string{};
}

std::error_code check_sections(message_view const& m) noexcept
{
    auto const& p = m.properties;
    auto const good = is_id(p.message_id) && is_id(p.correlation_id)
                      && are_annotations(m.delivery_annotations)
                      && are_annotations(m.message_annotations) && are_annotations(m.footer)
                      && all_of(m.application_properties, [](auto const& e) {
                             return type_of(e.key) == value_type::string && is_simple(e.value);
                         });
    return good ? std::error_code{} : make_error_code(error::invalid_value);
}

}  // namespace sluice::node::detail
