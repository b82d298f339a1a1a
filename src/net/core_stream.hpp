// What TLS and WebSocket hand out: a byte stream in front of a core that operations keep alive.
#pragma once

#include <sluice/net/byte_stream.hpp>

namespace sluice::net {

/// Ends the core when it goes. `Core` has the same functions, and inner(), the stream underneath.
template <class Core>
class core_stream final : public byte_stream {
public:
    explicit core_stream(std::shared_ptr<Core> core) : core_{std::move(core)} {}
    ~core_stream() override { core_->close(); }
    core_stream(core_stream const&) = delete;
    core_stream& operator=(core_stream const&) = delete;

    boost::asio::any_io_executor get_executor() override { return core_->inner().get_executor(); }
    std::size_t read_some(boost::asio::mutable_buffer into, error_code& ec) override
    {
        return core_->read_some(into, ec);
    }
    std::size_t write_some(boost::asio::const_buffer from, error_code& ec) override
    {
        return core_->write_some(from, ec);
    }
    void async_wait(readiness which, std::shared_ptr<stream_waiter> waiter) override
    {
        core_->async_wait(which, std::move(waiter));
    }
    void shutdown_write() noexcept override { core_->shutdown_write(); }
    void close() noexcept override { core_->close(); }
    void reset() noexcept override { core_->reset(); }
    std::string peer() const override { return core_->inner().peer(); }
    stream_security security() const override { return core_->security(); }

private:
    std::shared_ptr<Core> core_;
};

}  // namespace sluice::net
