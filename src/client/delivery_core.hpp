// A delivery in a user's hands: its octets, and its way back to the engine.
#pragma once

#include "client/command_queue.hpp"
#include "client/request.hpp"

#include <sluice/client/delivery.hpp>

namespace sluice::client::detail {

/// An encoded state without what may be long in it: of an error its condition stays, unless that is
/// long itself. What has no short form becomes `released`.
bytes without_details(raw_value state);

/// Counted by its handles; made on the strand, goes where its last handle goes. As a command it
/// carries the answer.
class delivery_core final : public command {
public:
    explicit delivery_core(std::shared_ptr<receiver_core> link);
    ~delivery_core() override;

    void ref() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
    void unref() noexcept;
    /// On the strand: its link has it in its list no longer, which may have been the last that kept
    /// it.
    void unlist() noexcept { drop_part(); }
    static client::delivery adopt(delivery_core* d) noexcept
    {
        return client::delivery{d, client::delivery::adopt{}};
    }

    void execute(connection_core& on) override;
    void refuse() noexcept override;

    /// @returns error::already_settled, error::stale_delivery
    std::error_code answer(outcome_kind kind, bytes encoded_state);
    void start_settle(bytes state, reply_ptr<> r);
    void start_read(std::span<std::byte> into, reply_ptr<std::size_t> r);

    // ---- strand

    bool waits_for_settlement() const noexcept { return settling_ != nullptr; }
    /// A streamed one has more to read, is complete, or aborted.
    void on_part(std::error_code ended = {});
    void on_settled_by_peer();
    /// The link is gone.
    void on_stale(failure_ptr const& why);

    /// The outcome that the user has given, encoded.
    raw_value stated_outcome() const noexcept;
    static constexpr std::array<std::byte, 4> released_state{std::byte{0x00}, std::byte{0x53},
                                                             std::byte{0x26}, std::byte{0x45}};

    std::shared_ptr<receiver_core> link;
    engine::incoming_delivery* incoming = nullptr;  // strand
    /// The encoded message; empty for a streamed one.
    bytes_view octets() const noexcept { return small_ ? bytes_view{small_, small_size_} : large_; }
    /// Takes a copy, or the memory itself of a large one.
    void copy_octets(bytes_view body);
    void take_octets(bytes body) noexcept { large_ = std::move(body); }

    engine::delivery_tag tag;
    delivery_number id;
    std::uint32_t message_format = 0;
    bool settled = false;  // by the sender, before it came
    std::atomic<bool> answered{false};
    std::atomic<bool> stale{false};  // its link came back without it
    bool away = false;     // strand: its link is lost, and the peer has not sent it again yet
    bool stated = false;   // strand: answered, and held until the sender has settled it
    bool counted = false;  // strand: the answer
    outcome_kind answer_kind = outcome_kind::none;
    bytes answer_state;
    delivery_core* next_in_inbox = nullptr;
    delivery_core* next_record = nullptr;
    delivery_core* previous_record = nullptr;

private:
    class settle_request;
    class read_request;
    void serve_reader();
    void drop_part() noexcept;

    bytes large_;
    std::byte* small_ = nullptr;  // from the recycled blocks: most messages need no heap
    std::size_t small_size_ = 0;
    std::atomic<std::uint32_t> count_{1};  // handles, and commands on their way
    /// Kept by those and by the link's list: the strand may come across it after its last handle.
    std::atomic<std::uint8_t> parts_{2};
    settle_request* settling_ = nullptr;
    read_request* reading_ = nullptr;
    std::error_code read_end_;
};

}  // namespace sluice::client::detail
