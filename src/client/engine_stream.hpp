// An engine and the stream that it speaks over, on one strand: octets in, octets out, the clock.
#pragma once

#include "client/container_core.hpp"
#include "client/deadline_queue.hpp"

#include <sluice/engine/connection.hpp>
#include <sluice/engine/frame_trace.hpp>
#include <sluice/net/byte_stream.hpp>

#include <boost/asio/steady_timer.hpp>

namespace sluice::client::detail {

/// For those who drive an engine on an I/O thread of theirs, without handles and commands: the
/// node. All on the strand.
class engine_stream : public net::stream_waiter,
                      public std::enable_shared_from_this<engine_stream> {
public:
    struct settings {
        std::size_t input_buffer_size = 64 * 1024;
        std::size_t output_buffer_size = 128 * 1024;
        bool trace = false;
        clock_time close_patience{10'000};  // for the peer to read our close and send its own
    };

    engine_stream(std::shared_ptr<io_thread> io, settings const& s);

    /// Begins to read. Called once. @param mechanisms what a listener offers
    void start(std::unique_ptr<net::byte_stream> stream, engine::connection_options options,
               std::vector<std::string> mechanisms);

    engine::connection& engine() noexcept { return *engine_; }
    engine::connection const& engine() const noexcept { return *engine_; }
    clock_time now() const noexcept { return now_; }
    bool connected() const noexcept { return stream_ != nullptr; }
    /// Octets wait for the peer to read.
    bool output_blocked() const noexcept { return waits_to_write_; }
    std::string peer() const { return peer_; }

    /// Events, output, the timer: what is to be done after the engine was used from outside.
    void run();
    /// The transport goes at once, and everything with it.
    void lose(std::error_code why);
    /// A close was asked for: the stream goes after some patience, even if the peer does not read.
    void limit_close();
    /// Reading stops, so that the peer has to wait, until the next call with false.
    void hold_input(bool held);

    void on_ready(net::readiness which, error_code ec) final;

protected:
    virtual void on_event(engine::event const& e) = 0;
    /// Events are being told: the engine has taken in more than its owner knows of, credit that the
    /// peer gave last among it.
    bool in_events() const noexcept { return in_events_; }
    virtual void on_events_done() {}
    /// Octets went out: there may be room in the engine's queues.
    virtual void on_written() {}
    /// After everything of a turn. @returns when to be called again at the latest
    virtual clock_time on_turn_end() { return clock_time::max(); }
    /// The stream is gone, after the engine's last event.
    virtual void on_gone() = 0;

private:
    void read();
    void take(bytes_view octets);
    bool take_unread();
    bool poll_events();
    bool write_some();
    bool send();
    void wait_to_read();
    void arm_timer(clock_time at);
    void finish_output();
    void end_stream();
    void trace(engine::frame_trace& direction, bytes_view octets);

    std::shared_ptr<io_thread> io_;
    settings settings_;
    std::unique_ptr<net::byte_stream> stream_;
    std::optional<engine::connection> engine_;
    std::optional<engine::frame_trace> trace_in_;
    std::optional<engine::frame_trace> trace_out_;
    std::string peer_;
    boost::asio::steady_timer timer_;
    clock_time timer_at_ = clock_time::max();
    clock_time now_{0};
    clock_time gone_at_ = clock_time::max();
    std::unique_ptr<std::byte[]> output_;
    bytes_view output_left_;
    bytes unread_;  // not taken in yet, for too much waits to be written
    bool waits_to_read_ = false;
    bool waits_to_write_ = false;
    bool held_ = false;
    bool write_shut_ = false;
    bool running_ = false;
    bool in_events_ = false;
};

}  // namespace sluice::client::detail
