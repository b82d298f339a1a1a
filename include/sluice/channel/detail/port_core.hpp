// The client's end of a port, without threads, sockets and clocks: calls, replies and the time go
// in, requests and answers come out. docs/channel-protocol.md says what it has to do.
#pragma once

#include <sluice/channel/detail/operation.hpp>

#include <set>
#include <span>
#include <unordered_map>

namespace sluice::channels::detail {

/// Not for several threads at once. After any call take_requests() and take_finished() have what
/// came of it.
class SLUICE_EXPORT port_core {
public:
    /// Sends of one handle that the node has at once, and how many of them only those that do not
    /// wait may use, so that a try_send never queues behind parked ones.
    static constexpr unsigned window = 64;
    static constexpr unsigned kept_for_tries = 4;
    /// After which the node is not waited for any longer when a call was cancelled.
    static constexpr std::chrono::milliseconds answer_grace{5'000};
    static constexpr std::size_t acks_together = 64;

    // ---- the links

    /// Both are attached: a new port. Handles are opened (again), and what has no answer is
    /// repeated in its order.
    void on_open();
    /// They are gone, and others will come.
    void on_lost();
    /// No others will come: everything ends with this.
    void on_ended(std::error_code code, std::string text);
    bool ended() const noexcept { return ended_; }
    bool is_open() const noexcept { return open_; }
    std::uint64_t generation() const noexcept { return generation_; }

    /// One reply. A malformed one ends the port.
    void on_message(bytes_view message);
    void on_time(time_point now);
    time_point next_time() const noexcept;

    std::vector<bytes> take_requests();
    std::vector<finished> take_finished() { return std::exchange(finished_, {}); }

    // ---- handles and calls. A call is answered through its sink, by `due` at the latest if the
    // node can be reached.

    handle_key add_handle(handle_record h);
    handle_record const* find_handle(handle_key k) const;
    /// Nobody holds it any more: what it holds goes back.
    void forget_handle(handle_key k);
    std::size_t handles() const noexcept { return handles_.size(); }
    std::size_t waiting() const noexcept { return operations_.size(); }

    operation_id next_id() noexcept { return ++last_id_; }
    void open(operation_id id, handle_key k, std::unique_ptr<sink> to, time_point due);
    void select(operation_id id, std::vector<part> parts, bool otherwise, bool by_hand,
                std::unique_ptr<sink> to, time_point due);
    void end(operation_id id, handle_key k, protocol::ending how, std::unique_ptr<sink> to,
             time_point due);
    void stat(operation_id id, handle_key k, std::unique_ptr<sink> to, time_point due);
    void settle(operation_id id, handle_key k, std::uint64_t generation, protocol::settle what,
                std::unique_ptr<sink> to, time_point due);
    /// Its request could not be sent, and never can: so that it does not wait for ever.
    void refuse(operation_id id, std::error_code why);
    /// Unknown ones are ignored.
    void cancel(operation_id id, std::error_code why, time_point now);

    void ack(handle_key k, std::uint64_t generation, std::span<arrival const> values,
             time_point now);
    void give_back(std::uint64_t generation, std::span<arrival const> values);

private:
    using ranges = std::vector<std::pair<protocol::token, protocol::token>>;

    operation& add(operation_id id, operation_kind kind, std::unique_ptr<sink> to, time_point due);
    operation* find(operation_id id);
    handle_record& handle_of(operation const& o) { return handles_.at(o.parts.front().handle); }
    void arm(operation& o, time_point due);
    void finish(operation& o, answer a);
    void fail(operation& o, std::error_code code, std::uint32_t index,
              std::string const& text = {});
    std::string text_of(operation const& o, std::uint32_t index, std::error_code code,
                        std::string const& text) const;
    void cancel(operation& o, std::error_code why, time_point now);
    void abandon(operation& o);
    void lose(operation& o);
    void fail_handle(handle_record& h, std::error_code code, std::string const& text);

    void queue_up(operation& o);
    operation* waiting(operation_id id);
    operation* first_of(handle_record& h);
    bool has_room(operation const& o);
    bool may_go(operation const& o);
    void go(operation& o);
    void go_select(operation& o);
    void pump();
    void send_open(handle_record& h, operation const& o);
    void stop_at_node(handle_record const& h);
    void send(protocol::request const& r);
    void flush_acks();
    void flush(ranges& all, bool pickup);

    void on(protocol::opened const& r);
    void on(protocol::done const& r);
    void on(protocol::accepted const& r);
    void on(protocol::delivered const& r);
    void on(protocol::state const& r);
    void accepted_one(operation_id id);
    void open_failed(operation& o, protocol::done const& r);
    void end_answered(operation& o, protocol::done const& r);

    bool open_ = false;
    bool ended_ = false;
    std::error_code end_code_;
    std::string end_text_;
    std::uint64_t generation_ = 0;
    operation_id last_id_ = 0;
    handle_key last_key_ = 0;
    std::unordered_map<operation_id, operation> operations_;
    std::unordered_map<handle_key, handle_record> handles_;
    std::set<std::pair<time_point, operation_id>> due_;
    std::vector<handle_key> changed_;  // whose queues may go on
    ranges acks_;                      // tokens done with, not told yet
    ranges pickups_;
    std::size_t acks_waiting_ = 0;
    bool ack_now_ = false;
    time_point ack_due_ = never;
    std::vector<bytes> requests_;
    std::vector<finished> finished_;
    protocol::request scratch_;  // its vectors are used again
};

}  // namespace sluice::channels::detail
