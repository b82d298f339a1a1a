// The bounded buffer between the writer of a streamed body and the engine that pulls from it.
#pragma once

#include "client/sender_core.hpp"

#include <sluice/client/body_stream.hpp>

namespace sluice::client::detail {

/// Writers fill it from any thread, the engine empties it on the strand. The lock is held for
/// copying only.
class stream_core final : public engine::body_source,
                          public std::enable_shared_from_this<stream_core> {
public:
    stream_core(std::shared_ptr<sender_core> link, std::size_t buffer_max);

    // ---- any thread

    std::shared_ptr<sender_core> const& link() const noexcept { return link_; }
    void start_write(bytes_view data, bool as_section, reply_ptr<std::size_t> r);
    void start_finish(reply_ptr<outcome> r);
    void abort() noexcept;
    /// The last handle is gone.
    void abandon(std::shared_ptr<stream_core> self) noexcept;

    // ---- strand

    engine::pull_result pull(std::span<std::byte> into) noexcept override;
    /// The delivery has its outcome, or failed.
    void on_done(std::error_code code, failure_ptr why, outcome o);
    void set_send(send_request* s) noexcept { send_ = s; }

private:
    class write_request;
    class finish_request;
    class signal;  // to the strand: there is more, or an abort

    std::size_t put(bytes_view data) noexcept;
    void tell_strand() noexcept;
    void feed_engine();
    void serve_writers();

    std::shared_ptr<sender_core> link_;
    std::size_t const capacity_;

    std::mutex mutex_;  // of what follows
    std::unique_ptr<std::byte[]> buffer_;
    std::size_t head_ = 0;
    std::size_t size_ = 0;
    std::size_t writers_ = 0;  // that wait on the strand, or are on their way there
    bool starved_ = true;      // the engine was told that there is nothing
    bool finished_ = false;
    bool aborted_ = false;
    bool done_ = false;
    std::error_code code_;
    failure_ptr why_;
    outcome outcome_;

    // strand
    send_request* send_ = nullptr;
    request_list waiting_;
    request* finishing_ = nullptr;
};

}  // namespace sluice::client::detail
