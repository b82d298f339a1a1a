// What connection, session and link have in common: how they end, and that their users learn why.
#pragma once

#include <sluice/client/error.hpp>
#include <sluice/error.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace sluice::client::detail {

/// "what: condition: description"
failure_ptr make_failure(std::error_code code, std::string what, amqp_error error = {});

enum class phase : std::uint8_t { opening, open, recovering, closing, ended };

/// Set on the strand, read anywhere.
class endpoint {
public:
    detail::phase phase() const noexcept { return phase_.load(std::memory_order_acquire); }
    bool ended() const noexcept { return phase() == detail::phase::ended; }

    /// Why it ended; null before.
    failure_ptr failure() const
    {
        std::lock_guard const lock{mutex_};
        return failure_;
    }

protected:
    ~endpoint() = default;
    void set_phase(detail::phase p) noexcept { phase_.store(p, std::memory_order_release); }
    /// Before anybody is woken by it.
    void set_failure(failure_ptr why)
    {
        std::lock_guard const lock{mutex_};
        failure_ = std::move(why);
    }
    void set_ended(failure_ptr why)
    {
        set_failure(std::move(why));
        set_phase(detail::phase::ended);
    }
    std::string text(std::string const& guarded) const
    {
        std::lock_guard const lock{mutex_};
        return guarded;
    }
    void set_text(std::string& guarded, std::string value)
    {
        std::lock_guard const lock{mutex_};
        guarded = std::move(value);
    }
    template <class T>
    std::shared_ptr<T> shared(std::shared_ptr<T> const& guarded) const
    {
        std::lock_guard const lock{mutex_};
        return guarded;
    }
    template <class T>
    void set_shared(std::shared_ptr<T>& guarded, std::shared_ptr<T> value)
    {
        std::lock_guard const lock{mutex_};
        guarded = std::move(value);
    }

private:
    mutable std::mutex mutex_;
    failure_ptr failure_;
    std::atomic<detail::phase> phase_{detail::phase::opening};
};

/// A pointer for users to the same object: when its last copy goes, the object is told.
template <class Core>
std::shared_ptr<Core> make_user_pointer(std::shared_ptr<Core> core)
{
    auto* const raw = core.get();
    return std::shared_ptr<Core>{raw, [core = std::move(core)](Core*) mutable {
                                     auto* const told = core.get();
                                     told->abandon(std::move(core));
                                 }};
}

}  // namespace sluice::client::detail
