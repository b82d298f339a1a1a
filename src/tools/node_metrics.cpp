// The node's counters as text.
#include "tools/node_metrics.hpp"

#include "tools/json_text.hpp"
#include "tools/progress.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::tools {
namespace {

struct metric {
    std::uint64_t node::node_stats::*value;
    std::string_view name;
    bool counts_up;  // a counter, whose name ends in _total; else a gauge
    std::string_view help;
};

constexpr metric metrics[] = {
    {&node::node_stats::connections, "connections", false, "Connections open now."},
    {&node::node_stats::connections_accepted, "connections_accepted", true,
     "Connections taken in."},
    {&node::node_stats::links, "links", false, "Links attached now."},
    {&node::node_stats::queues, "queues", false, "Queues that exist now."},
    {&node::node_stats::messages, "messages", false, "Messages in queues and at consumers."},
    {&node::node_stats::bytes, "bytes", false,
     "Octets of the messages in queues and at consumers."},
    {&node::node_stats::received, "received", true, "Messages taken in from senders."},
    {&node::node_stats::delivered, "delivered", true, "Messages sent to consumers."},
    {&node::node_stats::accepted, "accepted", true, "Messages accepted by consumers."},
    {&node::node_stats::released, "released", true, "Messages given back by consumers."},
    {&node::node_stats::rejected, "rejected", true, "Messages rejected by consumers."},
    {&node::node_stats::refused, "refused", true, "Messages refused by the node."},
    {&node::node_stats::expired, "expired", true, "Messages whose time to live ran out."},
    {&node::node_stats::channels, "channels", false, "Channels that exist now."},
    {&node::node_stats::channel_requests, "channel_requests", false,
     "Sends, receives and selects that wait at channels."},
    {&node::node_stats::channel_values, "channel_values", false,
     "Values in channels: waiting, buffered and not acknowledged."},
    {&node::node_stats::channel_bytes, "channel_bytes", false, "Octets of the values in channels."},
};
// A counter that is new in node_stats belongs into the table.
static_assert(sizeof(node::node_stats) == std::size(metrics) * sizeof(std::uint64_t));

}  // namespace

std::string prometheus_text(node::node_stats const& s, std::string_view version)
{
    std::string out;
    for (auto const& m : metrics) {
        auto const name = fmt::format("sluice_node_{}{}", m.name, m.counts_up ? "_total" : "");
        out += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, m.help,
                           m.counts_up ? "counter" : "gauge", s.*m.value);
    }
    out += fmt::format("# HELP sluice_build_info The version that runs; always 1.\n"
                       "# TYPE sluice_build_info gauge\n"
                       "sluice_build_info{{version=\"{}\"}} 1\n",
                       version);
    return out;
}

std::string stats_json(node::node_stats const& s)
{
    json_object o;
    for (auto const& m : metrics) o.add(m.name, s.*m.value);
    return o.text();
}

std::string stats_line(node::node_stats const& s, node::node_stats const& before, double seconds)
{
    auto const rate = [&](std::uint64_t node::node_stats::*counter) {
        return grouped(static_cast<std::uint64_t>(static_cast<double>(s.*counter - before.*counter)
                                                  / std::max(seconds, 0.001)));
    };
    return fmt::format("{}, {}, {}; {} ({}) held; in {}/s, out {}/s, accepted {}/s; refused {}",
                       counted(s.connections, "connection"), counted(s.links, "link"),
                       counted(s.queues, "queue"), counted(s.messages, "message"),
                       counted(s.bytes, "octet"), rate(&node::node_stats::received),
                       rate(&node::node_stats::delivered), rate(&node::node_stats::accepted),
                       grouped(s.refused));
}

}  // namespace sluice::tools
