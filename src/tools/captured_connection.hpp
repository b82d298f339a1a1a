// One TCP connection of a capture: is it AMQP, and if so, what does the checker say?
#pragma once

#include "tools/audit_report.hpp"
#include "tools/tcp_reassembly.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::tools {

class captured_connection final : private tcp_sink {
public:
    struct settings {
        tcp_end client{};
        tcp_end server{};
        std::optional<std::uint32_t> syn;  ///< the client's first sequence number, if it was seen
        bool from_start = false;  ///< its first segment, from either side, is in the capture
        bool is_amqp = false;     ///< whatever it begins with
        bool amqp_port = false;   ///< AMQP's, which counts where the beginning was lost
    };
    captured_connection(settings s, audit_report& report);

    tcp_end const& client() const noexcept { return settings_.client; }
    std::optional<std::uint32_t> syn() const noexcept { return settings_.syn; }
    bool over() const noexcept { return over_; }
    /// Not AMQP, as far as one can tell.
    bool is_other() const noexcept { return is_ == kind::other; }

    void take(tcp_segment const& s, stamp at);
    /// Nothing more comes; `how` is what the table says unless the connection has ended by itself.
    void finish(std::string how);

private:
    enum class kind : std::uint8_t { undecided, amqp, other };
    struct early {
        audit::direction way;
        bytes octets;
        std::uint64_t lost = 0;
        stamp at;
    };

    void on_data(audit::direction d, bytes_view octets, stamp at) override;
    void on_lost(audit::direction d, std::uint64_t octets, stamp at) override;
    void decide(bool now);
    void follow();
    void end(std::string how);
    void remark_losses(std::uint64_t number);

    settings settings_;
    audit_report& report_;
    std::unique_ptr<tcp_reassembly> tcp_;
    std::unique_ptr<audit::checker> checker_;
    std::unique_ptr<audited_connection> audited_;
    std::vector<early> early_;
    std::size_t early_octets_ = 0;
    audit::time_point now_{};
    kind is_ = kind::undecided;
    bool over_ = false;
};

}  // namespace sluice::tools
