// A port with its threads and links: one for each connection that has channels.
#pragma once

#include "channel/deadline_thread.hpp"

#include <sluice/channel/detail/link_retries.hpp>
#include <sluice/channel/detail/port_core.hpp>

#include <mutex>

namespace sluice::channels::detail {

/// Thread-safe. No user code runs under its lock.
class port final : public timed, public std::enable_shared_from_this<port> {
public:
    /// The one of that connection. Made, and its links opened, if there is none.
    static std::shared_ptr<port> of(client::connection const& c);

    explicit port(client::connection c);
    ~port() override;

    client::executor get_executor() const { return connection_.get_executor(); }
    /// Hands an answer over where its handler runs, with one wake-up for all that come together.
    void complete(raw_reply r) { client::detail::complete_reply(*completions_, *r.release()); }
    client::connection const& connection() const noexcept { return connection_; }

    operation_id next_id()
    {
        std::lock_guard const lock{mutex_};
        return core_.next_id();
    }

    /// Calls `f(core, now)` under the lock, and then does what came of it.
    template <class F>
    auto with(F f)
    {
        std::unique_lock lock{mutex_};
        if constexpr (std::is_void_v<decltype(f(core_, time_point{}))>) {
            f(core_, std::chrono::steady_clock::now());
            leave(std::move(lock));
        } else {
            auto out = f(core_, std::chrono::steady_clock::now());
            leave(std::move(lock));
            return out;
        }
    }

    void on_time() override;

private:
    void leave(std::unique_lock<std::mutex> lock);
    void start();
    void open_links(std::uint64_t attempt, client::session s);
    void on_sender(std::uint64_t attempt, client::error_code code, client::sender s);
    void on_receiver(std::uint64_t attempt, client::error_code code, client::receiver r);
    void open_if_complete(std::unique_lock<std::mutex> lock);
    void receive(std::uint64_t attempt, client::receiver const& r);
    void on_delivery(std::uint64_t attempt, client::error_code code, client::delivery first);
    void failed(std::uint64_t attempt, client::error_code code, std::string const& text);
    void end(std::unique_lock<std::mutex> lock, std::error_code code, std::string text);

    client::connection const connection_;
    std::shared_ptr<client::detail::completion_queue> const completions_;  // the connection's
    std::shared_ptr<deadline_thread> const deadlines_;

    std::mutex mutex_;  // of what follows
    port_core core_;
    client::session session_;
    client::sender sender_;
    client::receiver receiver_;
    /// All three, held by each request until its octets are written: the receiver's detach would
    /// overtake them, and the node end the port without having heard the last acknowledgements.
    struct links {
        client::session session;
        client::sender sender;
        client::receiver receiver;
    };
    std::shared_ptr<links const> links_;
    client::notifications<client::detach_notice> detached_;  // of sender_; heard while it is held
    std::string name_;                                       // of both links
    std::uint64_t attempt_ = 0;  // which links; what comes from earlier ones is ignored
    bool was_open_ = false;
    link_retries retries_;
    time_point again_ = never;
    time_point armed_ = never;
};

}  // namespace sluice::channels::detail
