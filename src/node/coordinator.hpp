// The coordinator's end of a controller link: transactions declared and discharged. [4.2, 4.3]
#pragma once

#include "node/node_link.hpp"

#include <sluice/codec/types.hpp>

#include <set>

namespace sluice::node::detail {

class coordinator_link final : public node_link {
public:
    /// @param can_reject the controller knows the outcome `rejected`
    coordinator_link(peer& p, engine::receiver& r, bool can_reject)
        : node_link{p, r}, receiver_{r}, can_reject_{can_reject}
    {
    }
    ~coordinator_link() override;
    void on_event(engine::event const& e) override;
    /// What is open on it is rolled back. [4.3]
    void on_ended(ending how) override;

private:
    void declare(engine::incoming_delivery& d, raw_value body);
    void discharge(engine::incoming_delivery& d, raw_value body);
    void refuse(engine::incoming_delivery& d, std::string_view condition, std::string text);
    void roll_back() noexcept;

    engine::receiver& receiver_;
    bool can_reject_;
    std::set<bytes> open_;
};

}  // namespace sluice::node::detail
