// What people write after options: properties, queues, message ids.
#pragma once

#include <sluice/codec/value.hpp>
#include <sluice/node/options.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace sluice::tools {

/// Reads "NAME=VALUE". The form of VALUE decides about its type: true and false are booleans; 5 and
/// -5 are longs (an integer that only a ulong holds is one); 2.5 and 1e3 are doubles; anything
/// else, and whatever stands in double quotes, is a string.
/// @throws std::invalid_argument with a sentence that says what is expected
std::pair<std::string, value> parse_property(std::string_view text);

/// Holds what stands after an option against what AMQP takes for it.
/// @throws std::invalid_argument that names `option` unless it is UTF-8, or, for a symbol, ASCII
void check_string(std::string_view option, std::string_view text);
void check_symbol(std::string_view option, std::string_view text);

/// Reads "NAME" or "NAME:setting=value,..." with the settings length_max, bytes_max (octets, or
/// with a unit such as 10MiB), full (reject, withhold) and dead_letter (a queue's name). What is
/// not said is as in `defaults`. A colon that belongs to the name is written as "%3A".
/// @throws std::invalid_argument with a sentence that says what is expected
std::pair<std::string, node::queue_options> parse_queue(std::string_view text,
                                                        node::queue_options const& defaults);

/// Reads "100", "64k", "20MiB", "1.5GB" as octets. Units of 1000: k, M, G and kB, MB, GB; of 1024:
/// KiB, MiB, GiB.
/// @throws std::invalid_argument with a sentence that says what is expected
std::uint64_t parse_size(std::string_view text);

/// Holds what stands after an option that takes a number against what all of them have in common:
/// decimal digits, not below 0, and in the range of 64 bits, or not above 1e9 if it may have a
/// fraction. Zeros in front are taken away, for some read them as "octal".
/// @returns a sentence that says what is wrong; else nothing
std::string number_fault(std::string& text, bool whole);

}  // namespace sluice::tools
