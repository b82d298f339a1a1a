// Two byte streams that are each other's peer, without a socket: what one call moves is bounded as
// a test wants it, and the test sees and changes what is on its way.
#pragma once

#include <sluice/net/byte_stream.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::test {

/// One direction.
struct memory_pipe {
    std::string octets;  // on their way
    std::string all;     // that ever were
    bool ended = false;
    std::size_t room = std::numeric_limits<std::size_t>::max();   // for octets on their way
    std::size_t piece = std::numeric_limits<std::size_t>::max();  // that one call reads or writes
    std::shared_ptr<net::stream_waiter> reader;
    std::shared_ptr<net::stream_waiter> writer;

    bool readable() const { return !octets.empty() || ended; }
    bool writable() const { return octets.size() < room; }

    void wake(boost::asio::io_context& io)
    {
        if (reader && readable())
            boost::asio::post(io, [w = std::exchange(reader, nullptr)] {
                w->on_ready(net::readiness::read, {});
            });
        if (writer && writable())
            boost::asio::post(io, [w = std::exchange(writer, nullptr)] {
                w->on_ready(net::readiness::write, {});
            });
    }
    /// As if the peer had written it.
    void inject(boost::asio::io_context& io, std::string const& what)
    {
        octets += what;
        wake(io);
    }
    void end(boost::asio::io_context& io)
    {
        ended = true;
        wake(io);
    }
};

class memory_stream final : public net::byte_stream {
public:
    memory_stream(boost::asio::io_context& io, std::shared_ptr<memory_pipe> in,
                  std::shared_ptr<memory_pipe> out)
        : io_{io}, in_{std::move(in)}, out_{std::move(out)}
    {
    }
    ~memory_stream() override { close(); }

    boost::asio::any_io_executor get_executor() override { return io_.get_executor(); }

    std::size_t read_some(boost::asio::mutable_buffer into, net::error_code& ec) override
    {
        ec = {};
        auto const n = std::min({into.size(), in_->octets.size(), in_->piece});
        if (n == 0) {
            ec = in_->ended ? net::error_code{boost::asio::error::eof}
                            : net::error_code{boost::asio::error::would_block};
            return 0;
        }
        std::memcpy(into.data(), in_->octets.data(), n);
        in_->octets.erase(0, n);
        in_->wake(io_);
        return n;
    }
    std::size_t write_some(boost::asio::const_buffer from, net::error_code& ec) override
    {
        ec = {};
        if (closed_ || out_->ended) {
            ec = boost::asio::error::broken_pipe;
            return 0;
        }
        auto const n = std::min(
            {from.size(), out_->room - std::min(out_->room, out_->octets.size()), out_->piece});
        if (n == 0) {
            ec = boost::asio::error::would_block;
            return 0;
        }
        out_->octets.append(static_cast<char const*>(from.data()), n);
        out_->all.append(static_cast<char const*>(from.data()), n);
        out_->wake(io_);
        return n;
    }
    void async_wait(net::readiness which, std::shared_ptr<net::stream_waiter> waiter) override
    {
        auto& pipe = which == net::readiness::read ? *in_ : *out_;
        (which == net::readiness::read ? pipe.reader : pipe.writer) = std::move(waiter);
        pipe.wake(io_);
    }
    void shutdown_write() noexcept override { out_->end(io_); }
    void close() noexcept override
    {
        if (std::exchange(closed_, true))
            return;
        out_->end(io_);
        abort(in_->reader, net::readiness::read);
        abort(out_->writer, net::readiness::write);
    }
    std::string peer() const override { return "memory"; }

private:
    void abort(std::shared_ptr<net::stream_waiter>& who, net::readiness which)
    {
        if (auto w = std::exchange(who, nullptr))
            boost::asio::post(
                io_, [w, which] { w->on_ready(which, boost::asio::error::operation_aborted); });
    }

    boost::asio::io_context& io_;
    std::shared_ptr<memory_pipe> in_;
    std::shared_ptr<memory_pipe> out_;
    bool closed_ = false;
};

/// Notes that a stream is ready.
struct readiness_note final : net::stream_waiter {
    void on_ready(net::readiness, net::error_code ec) override
    {
        result = ec;
        ++calls;
    }
    net::error_code result;
    int calls = 0;
};

/// Both ends, and the pipes between them.
struct memory_pair {
    boost::asio::io_context io;
    std::shared_ptr<memory_pipe> to_server = std::make_shared<memory_pipe>();
    std::shared_ptr<memory_pipe> to_client = std::make_shared<memory_pipe>();

    std::unique_ptr<net::byte_stream> client_end()
    {
        return std::make_unique<memory_stream>(io, to_client, to_server);
    }
    std::unique_ptr<net::byte_stream> server_end()
    {
        return std::make_unique<memory_stream>(io, to_server, to_client);
    }
    /// Until nothing more happens by itself.
    void run()
    {
        io.restart();  // and no run(): an operation of Beast's that waits is work to be done
        while (io.poll() > 0)
            ;
    }
};

/// Reads as users do: waits for readiness before each call.
class patient_reader {
public:
    patient_reader(memory_pair& pair, net::byte_stream& from) : pair_{pair}, from_{from} {}

    /// All that comes before a wait that does not end by itself, or the end of the stream.
    std::string all(std::size_t at_most = 4096)
    {
        std::string out;
        std::string buffer(at_most, '\0');
        end = {};
        for (;;) {
            if (!note_) {
                note_ = std::make_shared<readiness_note>();
                from_.async_wait(net::readiness::read, note_);
            }
            pair_.run();
            if (note_->calls == 0)
                return out;
            auto const note = std::exchange(note_, nullptr);
            if ((end = note->result))
                return out;
            auto const n = from_.read_some(boost::asio::buffer(buffer), end);
            out.append(buffer, 0, n);
            if (end && end != boost::asio::error::would_block)
                return out;
            end = {};
        }
    }

    net::error_code end;  ///< what it ended with; none: it would have to wait

private:
    memory_pair& pair_;
    net::byte_stream& from_;
    std::shared_ptr<readiness_note> note_;
};

/// Octets that are not the same over and over, so that a piece which is missing is seen.
inline std::string pattern(std::size_t size)
{
    std::string out(size, '\0');
    for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(i * 31 % 251);
    return out;
}

/// A `Rig` once both sides have shaken hands.
template <class Rig>
struct after_handshake : Rig {
    after_handshake()
    {
        this->shake();
        if (!this->at_client.stream || !this->at_server.stream)
            throw std::runtime_error{"client: " + this->at_client.text
                                     + "; server: " + this->at_server.text};
    }
    net::byte_stream& c() { return *this->at_client.stream; }
    net::byte_stream& s() { return *this->at_server.stream; }
};
/// The same, both streams at hand.
template <class Rig>
struct shaken : after_handshake<Rig> {
    patient_reader client_reader{*this, this->c()};
    patient_reader server_reader{*this, this->s()};
};

/// Writes all of it, waiting where it has to, while `meanwhile` reads at the other end.
template <class F>
net::error_code write_all(memory_pair& pair, net::byte_stream& to, std::string_view octets,
                          F meanwhile)
{
    net::error_code ec;
    while (!octets.empty()) {
        auto const n = to.write_some(boost::asio::buffer(octets.data(), octets.size()), ec);
        octets.remove_prefix(n);
        if (ec && ec != boost::asio::error::would_block)
            return ec;
        if (octets.empty())
            break;
        auto const note = std::make_shared<readiness_note>();
        to.async_wait(net::readiness::write, note);
        for (int i = 0; note->calls == 0; ++i) {
            pair.run();
            meanwhile();
            if (i == 100'000)
                return boost::asio::error::timed_out;
        }
    }
    return {};
}

}  // namespace sluice::test
