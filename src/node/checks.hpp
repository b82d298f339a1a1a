// What the standard asks of a peer's values beside their types: decoding does not look there.
#pragma once

#include <sluice/codec/message_view.hpp>
#include <sluice/engine/condition.hpp>

namespace sluice::node::detail {

/// As the keys of every map of fields have to be. [2.8.13]
bool has_symbols_as_keys(raw_value map) noexcept;

/// @returns what is wrong with it, or an empty error. [3.5.3, 3.5.4]
amqp_error fault_of(source const& s);
amqp_error fault_of(target const& t);

/// @returns why a delivery state is none, or nothing; states of an extension are. [3.4]
std::string fault_of_state(raw_value state);

/// @returns error::invalid_value if a section holds what it must not. [3.2.4, 3.2.5, 3.2.10]
std::error_code check_sections(message_view const& m) noexcept;

}  // namespace sluice::node::detail
