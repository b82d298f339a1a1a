// The order of the SASL frames. [5.3]
#pragma once

#include "framer.hpp"
#include "reporter.hpp"

#include <sluice/codec/codec.hpp>

namespace sluice::audit::detail {

/// Follows one SASL exchange. The server is the side that accepted the transport.
class sasl_audit {
public:
    /// A SASL frame's body; `report.at` is set.
    void on_frame(reporter& report, direction d, unit const& u);
    /// The AMQP header that ends the exchange for one side.
    void on_amqp_header(reporter& report, direction d);

    /// Bytes that start in the middle: what came before is not held against anybody.
    void learn() noexcept { learned_ = true; }

private:
    void order(reporter& report, rule r, std::string expected, std::string_view actual) const;
    void on_mechanisms(reporter& report, direction d, bytes_view body);
    void on_init(reporter& report, direction d, bytes_view body);
    void on_challenge(reporter& report, direction d, bytes_view body);
    void on_response(reporter& report, direction d, bytes_view body);
    void on_outcome(reporter& report, direction d, bytes_view body);
    template <class T>
    bool read(reporter& report, bytes_view body, T& out);

    bool learned_ = false;
    bool offered_ = false;
    bool started_ = false;
    bool ended_ = false;
    bool succeeded_ = false;
    std::uint64_t challenges_ = 0;
    std::uint64_t responses_ = 0;
    sluice::bytes mechanisms_;  ///< the body that offered them; a SASL frame has 512 octets at most
};

}  // namespace sluice::audit::detail
