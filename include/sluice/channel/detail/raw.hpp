// What the node says, before a codec has seen it. Not part of the interface.
#pragma once

#include <sluice/channel/error.hpp>
#include <sluice/channel/options.hpp>
#include <sluice/client/connection.hpp>
#include <sluice/export.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace sluice::channels::detail {

class channel_core;

/// A value as it was delivered.
struct arrival {
    std::uint64_t token = 0;  ///< 0: nothing to acknowledge
    std::uint32_t tries = 0;
    bytes octets{};
};

enum class came : std::uint8_t {
    nothing,
    done,       ///< a send was accepted, or something else was carried out
    values,     ///< at least one
    drained,    ///< closed, and nothing is left
    otherwise,  ///< nothing was ready
};

/// Values that were delivered here and have no answer yet. What is left of them at its end goes
/// back to the node. Not for several threads at once.
class SLUICE_EXPORT lease {
public:
    lease() noexcept;
    lease(std::shared_ptr<channel_core> of, std::uint64_t generation, std::vector<arrival> values);
    lease(lease&& other) noexcept;
    lease& operator=(lease&& other) noexcept;
    ~lease();

    std::vector<arrival>& values() noexcept { return values_; }
    std::vector<arrival> const& values() const noexcept { return values_; }
    bool empty() const noexcept { return values_.empty(); }
    std::shared_ptr<channel_core> const& owner() const noexcept { return of_; }
    std::uint64_t generation() const noexcept { return generation_; }

    /// All of them, from whom nothing is left here then.
    lease rest() { return {of_, generation_, std::exchange(values_, {})}; }
    /// All of them are done with, without an answer from the node.
    void acknowledge();
    /// The codec does not take the one at `i`: a dead letter. @returns its octets
    void reject(std::size_t i, std::string const& why);
    /// Somebody else answers for them.
    void forget() noexcept;

private:
    std::shared_ptr<channel_core> of_;
    std::uint64_t generation_ = 0;
    std::vector<arrival> values_;
};

/// What every call on a channel completes with inside.
struct raw_answer {
    came what = came::nothing;
    std::uint32_t index = 0;  ///< which case of a select
    lease held{};
    channel_state state{};
    std::string text{};  ///< of a failure
};

using raw_reply = client::detail::reply_ptr<raw_answer>;

}  // namespace sluice::channels::detail
