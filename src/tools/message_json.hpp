// A message as one JSON object.
#pragma once

#include "tools/json_text.hpp"

#include <sluice/codec/message.hpp>

#include <string>

namespace sluice::tools {

/// A value as JSON. Null, booleans, numbers and strings are what they are in JSON; lists and arrays
/// are arrays; a map is an object if its keys are strings or symbols, each once, and else
/// {"@map": [[key, value], ...]}. What JSON has no type for is an object with one member:
/// {"@binary": base64}, {"@symbol": text}, {"@timestamp": milliseconds}, {"@uuid": text},
/// {"@char": text}, {"@decimal": hexadecimal octets}, {"@described": [descriptor, value]}.
void append_json(std::string& to, value const& v);

/// All sections that are set, each as a member; the body is "value", "data" (base64 of all data
/// sections together) or "sequence" (a list of lists). What is in `o` comes before.
std::string to_json(message const& m, json_object o = {});

}  // namespace sluice::tools
