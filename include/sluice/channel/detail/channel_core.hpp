// A handle on a channel without its type: octets in, octets out. Not part of the interface.
#pragma once

#include <sluice/channel/detail/raw.hpp>

#include <deque>
#include <mutex>
#include <optional>

namespace sluice::channels {

/// Octets that a codec did not take, and why.
struct undecodable {
    bytes octets{};
    std::string why{};
};

namespace detail {

class port;
class call_sink;

/// One case of a select.
struct case_request {
    std::shared_ptr<channel_core> channel;
    bool send = false;
    std::uint32_t max = 1;
    bytes octets{};
};

/// What all copies of a channel<T> share. Thread-safe. Its end gives back what it holds.
class SLUICE_EXPORT channel_core : public std::enable_shared_from_this<channel_core> {
public:
    /// Opens it; `r` is answered when that is done. @pre `on` is valid
    static std::shared_ptr<channel_core> open(client::connection const& on, std::string name,
                                              options o, std::string_view codec, raw_reply r);
    ~channel_core();
    channel_core(channel_core const&) = delete;
    channel_core& operator=(channel_core const&) = delete;

    void send(bytes octets, bool now, milliseconds timeout, raw_reply r);
    void receive(std::uint32_t max, bool now, bool by_hand, milliseconds timeout, raw_reply r);
    void end(channel_protocol::ending how, raw_reply r);
    void state(raw_reply r);
    /// `held` has one value.
    void settle(lease held, channel_protocol::verdict what, std::string why, raw_reply r);
    static void select(std::vector<case_request> cases, std::optional<std::size_t> otherwise,
                       milliseconds timeout, raw_reply r);

    std::string const& name() const noexcept { return name_; }
    channels::options const& options() const noexcept { return options_; }
    /// What the channel has, which with `create` off need not be what was asked for.
    channel_protocol::channel_options in_force() const;
    client::executor get_executor() const;

    /// Kept for take_undecodable(); 16 at most, the oldest goes.
    void keep_undecodable(undecodable u, bool told);
    std::optional<undecodable> take_undecodable();
    /// One that was kept and not told yet, because its batch had values to give.
    bool tell_undecodable();

private:
    friend class lease;
    friend class call_sink;
    channel_core(std::shared_ptr<port> p, std::string name, channels::options o);
    bool refuse(raw_reply& r, std::error_code code, std::string const& text) const;
    bool refuses_undecodable(raw_reply& r);
    void give_back(std::uint64_t generation, std::vector<arrival> const& values);
    void acknowledge(std::uint64_t generation, std::vector<arrival> const& values);
    void dead(std::uint64_t generation, arrival const& value, std::string why);

    std::shared_ptr<port> const port_;
    std::string const name_;
    channels::options const options_;
    std::uint64_t key_ = 0;

    std::mutex mutex_;  // of what follows
    std::deque<undecodable> undecodable_;
    std::size_t untold_ = 0;
};

}  // namespace detail
}  // namespace sluice::channels
