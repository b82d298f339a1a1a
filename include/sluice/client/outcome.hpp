// What became of a message that was sent. [3.4]
#pragma once

#include <sluice/client/error.hpp>
#include <sluice/engine/delivery.hpp>
#include <sluice/export.hpp>

namespace sluice::client {

using engine::outcome_kind;

/// The peer's word on a delivery. That it was rejected, released or modified is a value and not an
/// error of the call: the call did what it was asked to. Cheap to move. Distinct objects: safe to
/// use concurrently.
class SLUICE_EXPORT outcome {
public:
    outcome() noexcept = default;
    explicit outcome(outcome_kind kind, bool settled = true) noexcept
        : kind_{kind}, settled_{settled}
    {
    }
    /// From an encoded delivery state.
    static outcome from(outcome_kind kind, bool settled, raw_value state);

    /// `none`: sent settled, or the peer settled without a word.
    outcome_kind kind() const noexcept { return kind_; }
    bool accepted() const noexcept { return kind_ == outcome_kind::accepted; }
    bool rejected() const noexcept { return kind_ == outcome_kind::rejected; }
    bool released() const noexcept { return kind_ == outcome_kind::released; }
    bool modified() const noexcept { return kind_ == outcome_kind::modified; }

    /// Why it was rejected; empty if it was not, or the peer did not say.
    amqp_error const& error() const noexcept;
    /// Of `modified`.
    bool delivery_failed() const noexcept;
    bool undeliverable_here() const noexcept;
    /// The whole state as the peer encoded it; empty for accepted, released and none.
    bytes_view state() const noexcept;
    /// The peer settled the delivery (or we did, link_options allowing).
    bool settled() const noexcept { return settled_; }
    /// It was sent again after a lost connection, and the peer may have had it before: see
    /// docs/recovery.md.
    bool possible_duplicate() const noexcept { return possible_duplicate_; }
    void set_possible_duplicate(bool is) noexcept { possible_duplicate_ = is; }

    /// "accepted", "rejected: amqp:not-allowed: ..."
    std::string to_string() const;
    /// For callers to whom anything but `accepted` (and `none`) is an error.
    /// @throws boost::system::system_error with error::rejected, error::released or error::modified
    outcome const& or_throw() const;

private:
    struct details;
    outcome_kind kind_ = outcome_kind::none;
    bool settled_ = true;
    bool possible_duplicate_ = false;
    std::shared_ptr<details const> details_;
};

}  // namespace sluice::client
