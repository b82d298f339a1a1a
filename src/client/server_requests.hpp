// What a peer has asked for and nobody has answered yet.
#pragma once

#include "client/connection_core.hpp"

#include <sluice/client/listener.hpp>

#include <boost/asio/post.hpp>

#include <map>

namespace sluice::client::detail {

/// Requests that the peer has taken back before their handler ran, and that wait for it all the
/// same: what a peer can make grow that asks and takes back in a loop. Those that are not taken
/// back are bounded by handle-max and channel-max.
using withdrawn_count = std::shared_ptr<std::atomic<std::uint32_t>>;

/// Kept by the user's request objects. When the last of them goes without an answer, it is a no.
struct peer_asked {
    explicit peer_asked(std::shared_ptr<connection_core> c) : connection{std::move(c)} {}
    virtual ~peer_asked() = default;
    /// Strand: the peer has taken it back.
    void withdraw() noexcept;
    /// Before the handler runs. @returns false if there is nothing to ask any more
    bool hand_over() noexcept;
    /// @returns true for the first answer
    bool take() noexcept { return !answered.exchange(true); }
    /// Runs `f(connection_core&)` on the strand, unless the connection has ended.
    template <class F>
    void on_strand(F f) const;

    std::shared_ptr<connection_core> connection;
    std::atomic<bool> answered{false};
    withdrawn_count withdrawn;

private:
    enum class place : std::uint8_t { waits, handed_over, withdrawn };
    std::atomic<place> place_{place::waits};
};

inline amqp_error nobody_answered()
{
    return {.condition = condition::not_allowed,
            .description = "the server gave no answer",
            .info = {}};
}

/// What the peer is told when `most` of them wait and one more comes.
amqp_error inbox_overflow(std::uint32_t most, char const* what);

struct connection_asked final : peer_asked {
    using peer_asked::peer_asked;
    ~connection_asked() override;

    std::string container_id;
    std::string hostname;
    std::string user;
    std::string peer;
    std::vector<std::string> desired_capabilities;
    bytes properties;
};

struct session_asked final : peer_asked {
    using peer_asked::peer_asked;
    ~session_asked() override;

    engine::session* what = nullptr;  // strand; null once it is over
};

struct link_asked final : peer_asked {
    using peer_asked::peer_asked;
    ~link_asked() override;

    std::shared_ptr<session_core> session;
    std::string name;
    bool peer_sends = false;
    bool to_coordinator = false;
    terminus source;
    terminus target;
    bytes encoded_target;
    sender_settle_mode snd_settle_mode{};
    receiver_settle_mode rcv_settle_mode{};
    std::uint64_t max_message_size = 0;
    bytes properties;

    engine::link* what = nullptr;  // strand; null once it is over
};

connection_options options_of(listener_core const& listener);

/// What a connection that was accepted has beyond one that was made.
struct server_side {
    std::shared_ptr<listener_core> listener;
    std::weak_ptr<connection_core> user_pointer;  // of those that its user holds
    std::string user;                             // whom SASL has shown it to be
    std::shared_ptr<net::sasl_server> sasl;       // while it is found out
    std::size_t buffered = 0;
    std::uint64_t watched_at = 0;  // octets received
    bool accepted = false;
    bool told_closed = false;
    // What was asked for, until it is over: each is asked for once.
    template <class Asked>
    struct entry {
        std::weak_ptr<Asked> asked{};
        bool answered = false;
        withdrawn_count withdrawn{};  // of a session: its links
    };
    withdrawn_count withdrawn = std::make_shared<std::atomic<std::uint32_t>>(0);  // its sessions
    std::map<engine::session*, entry<session_asked>> sessions;
    std::map<engine::link*, entry<link_asked>> links;
};

/// A function as a command.
template <class F>
class call_command final : public command {
public:
    explicit call_command(F f) : f_{std::move(f)} {}
    void execute(connection_core& on) override
    {
        f_(on);
        delete this;
    }
    void refuse() noexcept override { delete this; }

private:
    ~call_command() override = default;
    F f_;
};

template <class F>
void peer_asked::on_strand(F f) const
{
    auto* const c = new call_command<F>{std::move(f)};
    if (!connection->push(*c))
        c->refuse();
}

/// Runs after what was posted before for this connection, or for the session whose `queue` it is.
template <class F>
void connection_core::run_handler(F f, completion_queue const* queue) const
{
    boost::asio::post((queue ? *queue : *completions_).get_executor(),
                      [container = container_, f = std::move(f)]() mutable {
                          try {
                              f();
                          } catch (...) {
                              container->report(std::current_exception());
                          }
                      });
}

}  // namespace sluice::client::detail
