// What a node has done, for Prometheus and for people.
#pragma once

#include <sluice/node/options.hpp>

#include <string>
#include <string_view>

namespace sluice::tools {

/// The text exposition format, version 0.0.4.
std::string prometheus_text(node::node_stats const& s, std::string_view version);
/// All of them as one JSON object.
std::string stats_json(node::node_stats const& s);
/// One line for people; rates are since `before`, `seconds` ago.
std::string stats_line(node::node_stats const& s, node::node_stats const& before, double seconds);

}  // namespace sluice::tools
