// The auditor on what tcpdump and the like have recorded.
#pragma once

#include "tools/audit_report.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::tools {

struct audit_capture_options {
    /// Connections to these ports are AMQP, whatever they begin with, and no others are. Empty:
    /// those whose first octets are an AMQP protocol header, and to port 5672 also those whose
    /// start is not in the capture.
    std::vector<std::uint16_t> ports;
};

/// Reads a pcap or pcapng file ("-": standard input) and audits the AMQP connections in it.
/// @returns what the file holds, in a few words.
/// @throws std::runtime_error if it cannot be read, naming it and the reason.
std::string audit_capture(std::string const& file, audit_capture_options const& o,
                          audit_report& report);

}  // namespace sluice::tools
