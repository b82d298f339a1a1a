// The node on its thread: queues by name, connections, links that are away, and the clock.
#pragma once

#include "client/container_core.hpp"
#include "node/channel_link.hpp"
#include "node/node_link.hpp"
#include "node/queue.hpp"
#include "node/suspended.hpp"

#include <sluice/net/sasl_server.hpp>
#include <sluice/net/tcp_listener.hpp>
#include <sluice/net/transport.hpp>
#include <sluice/node/node.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <future>
#include <map>
#include <unordered_map>

namespace sluice::node::detail {

class peer;
class transaction;

inline constexpr std::size_t address_max = 1'024;  // octets of a queue's name

/// When a dynamic node goes. [3.5.10-13]
enum class lifetime : std::uint8_t { close, no_links, no_messages, no_links_or_messages };
lifetime lifetime_of(raw_value node_properties) noexcept;
/// delete-on-close, encoded: what is given where nothing was asked for.
inline constexpr std::array<std::byte, 4> encoded_delete_on_close_octets{
    std::byte{0x00}, std::byte{0x53}, std::byte{0x2b}, std::byte{0x45}};
inline constexpr bytes_view encoded_delete_on_close{encoded_delete_on_close_octets};

class node_core {
public:
    explicit node_core(node_options options);
    ~node_core();

    // ---- any thread

    result<std::uint16_t> listen(std::string const& host, std::uint16_t port, node_transport under,
                                 std::string* fault);
    std::error_code set_tls(net::tls_server_options const& options, std::string* fault);
    void stop();
    node_stats stats();
    /// Runs `f(*this)` on the node's thread and waits. @returns `otherwise` once it has stopped
    template <class F, class T>
    T ask(F f, T otherwise);

    // ---- the node's thread

    node_options const& options() const noexcept { return options_; }
    bytes const& connection_properties() const noexcept { return properties_; }
    bool stopping() const noexcept { return stopping_; }
    clock_time now() const noexcept;
    std::int64_t wall_clock() const noexcept;
    std::uint64_t next_id() noexcept { return ++last_id_; }

    // queues
    std::error_code declare(std::string const& name, queue_options const& options);
    bool leads_back(std::string const& name, queue_options const& options) noexcept;
    std::error_code remove(std::string const& name);
    queue* find(std::string_view name) noexcept;
    std::vector<queue_info> list() const;
    std::shared_ptr<queue> find_or_create(std::string const& address, amqp_error& why);
    std::shared_ptr<queue> make_dynamic(engine::link& creator, lifetime how, amqp_error& why);
    /// @returns why not, or an empty error
    amqp_error push_to(queue& q, message_ptr const& m);
    /// Where the message's `to` says.
    amqp_error relay(message_ptr const& m, peer const& from);
    /// The queue that it names. Null: `why` says why not
    std::shared_ptr<queue> target_of(message_ptr const& m, peer const& from, amqp_error& why);
    static amqp_error full(queue const& q);
    void push_to(std::string const& dead_letter, message_ptr const& m);
    void dispatch_later(queue& q);
    /// It may be of no more use.
    void on_idle(queue& q);
    /// What counts in stored_max.
    std::uint64_t stored_bytes() const noexcept
    {
        constexpr std::uint64_t each = 256;  // that an empty one costs in the node, about
        auto const values = channels_.hub().count().values;
        return stats_.bytes + channels_.stored_bytes() + each * (stats_.messages + values);
    }
    channel_service& channels() noexcept { return channels_; }
    void on_stored(std::size_t size) noexcept;
    void on_dropped(std::size_t size) noexcept;
    void on_resized(std::size_t before, std::size_t after) noexcept
    {
        stats_.bytes += after - before;
    }
    void on_dropped_all(std::uint64_t messages, std::uint64_t bytes) noexcept;

    // transactions
    /// @returns its id; empty if there are too many, of this connection or of all
    bytes begin_transaction(peer& connection, std::uint64_t controller);
    /// Null if there is none of this connection, or it has timed out.
    transaction* find_transaction(bytes const& id, peer const& connection) noexcept;
    /// Rolled back unless it was committed.
    void end_transaction(bytes const& id);

    // connections and links
    void run_later(peer& p);
    void remove(peer& p);
    void remember(node_link& l);
    void forget(node_link& l);
    /// Ends the link that has this name now, for another of its container wants it. [2.6.1]
    void steal(link_key const& key);
    void suspend(std::unique_ptr<suspended> s);
    std::unique_ptr<suspended> take_suspended(link_key const& key) { return away_.take(key); }
    void on_session_ended(engine::session const& s) { away_.on_session_ended(&s, now()); }
    void on_connection_closed(peer const& p) { away_.on_connection_closed(&p, now()); }
    // users: peer_sasl.cpp
    std::string const& users_file() const noexcept { return options_.users_file; }
    std::shared_ptr<net::sasl_users const> const& users() const noexcept { return users_; }
    void set_users(std::shared_ptr<net::sasl_users const> users);
    net::sasl_server_options sasl_for(net::stream_security const& security);
    bool is_dynamic(queue const& q) const { return dynamic_.contains(&q); }
    using sasl_answer = net::sasl_server::answer;
    /// Elsewhere, one after the other. @returns false if as many wait as may
    bool check_elsewhere(std::shared_ptr<net::sasl_server> exchange, bytes said,
                         std::function<void(sasl_answer)> done);
    /// One connection's share has changed. @returns the sum
    std::size_t on_buffered(std::size_t before, std::size_t after) noexcept;

    void count_link(int change) noexcept { stats_.links += static_cast<std::uint64_t>(change); }
    void count_received() noexcept { ++stats_.received; }
    void count_delivered() noexcept { ++stats_.delivered; }
    void count_accepted() noexcept { ++stats_.accepted; }
    void count_released() noexcept { ++stats_.released; }
    void count_rejected() noexcept { ++stats_.rejected; }
    void count_refused() noexcept { ++stats_.refused; }
    void count_expired(std::uint64_t n) noexcept { stats_.expired += n; }

private:
    struct dynamic_node {
        engine::link const* creator = nullptr;
        lifetime how = lifetime::close;
    };

    // node_listening.cpp
    void on_stream(std::unique_ptr<net::byte_stream> stream, node_transport under);
    void on_handshake(std::uint64_t which, net::connect_result r, clock_time since);
    void on_connection(std::unique_ptr<net::byte_stream> stream, clock_time spent);
    void make_room();
    void tell_failed(std::string text);
    void close_listeners();
    void run_due();
    void schedule();
    void drop_idle(queue& q);
    void on_link_gone(engine::link const& l);
    bool dynamic_is_over(queue const& q, dynamic_node const& d) const;
    void erase(queue& q);
    void arm_timer();
    void on_timer();
    void expire_transactions(clock_time time);
    void begin_stop(std::promise<void>& done);
    void go_on_stopping();
    void publish() noexcept;

    node_options options_;
    bytes properties_;
    std::shared_ptr<client::detail::io_thread> io_;
    std::optional<boost::asio::thread_pool> passwords_;
    std::size_t checks_waiting_ = 0;  // the node's thread
    std::shared_ptr<net::sasl_users const> users_;
    std::mutex stop_mutex_;
    bool stopped_ = false;  // guarded by it
    mutable std::mutex stats_mutex_;
    node_stats published_;  // guarded by it

    // the node's thread
    boost::asio::steady_timer timer_;
    boost::asio::steady_timer stop_timer_;
    std::vector<std::shared_ptr<net::tcp_listener>> listeners_;
    net::tls_context_ptr tls_;
    std::unordered_map<std::uint64_t, std::shared_ptr<net::tcp_connect>> handshakes_;
    std::uint64_t handshakes_begun_ = 0;
    std::atomic<int> untold_{0};
    channel_service channels_{*this};  // outlives the connections
    std::unordered_map<peer*, std::shared_ptr<peer>> peers_;
    std::map<std::string, std::shared_ptr<queue>, std::less<>> queues_;
    std::unordered_map<queue const*, dynamic_node> dynamic_;
    std::map<link_key, node_link*> links_;
    suspended_links away_;
    std::map<bytes, std::unique_ptr<transaction>> transactions_;
    std::vector<std::shared_ptr<peer>> due_peers_;
    std::vector<std::shared_ptr<queue>> due_queues_;
    std::vector<std::shared_ptr<queue>> idle_queues_;
    bool scheduled_ = false;
    bool stopping_ = false;
    bool closing_ = false;
    clock_time stop_at_{0};
    std::promise<void>* stopped_promise_ = nullptr;
    std::uint64_t last_id_ = 0;
    std::size_t buffered_ = 0;
    std::string dynamic_prefix_;
    node_stats stats_;
};

template <class F, class T>
T node_core::ask(F f, T otherwise)
{
    std::promise<T> answer;
    auto future = answer.get_future();
    {
        std::lock_guard const lock{stop_mutex_};  // so that what is posted runs
        if (stopped_)
            return otherwise;
        boost::asio::post(io_->context(), [&] { answer.set_value(f(*this)); });
    }
    return future.get();
}

}  // namespace sluice::node::detail
