// A byte stream in the form that Beast wants: asynchronous reads and writes with handlers.
#pragma once

#include <sluice/net/byte_stream.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/core/stream_traits.hpp>

namespace sluice::net {

/// Tries, waits if it has to, tries again. One read and one write at a time.
class stream_socket {
public:
    using executor_type = boost::asio::any_io_executor;

    explicit stream_socket(std::unique_ptr<byte_stream> stream)
        : stream_{std::move(stream)}, executor_{stream_->get_executor()}
    {
    }

    executor_type get_executor() const noexcept { return executor_; }
    byte_stream& stream() noexcept { return *stream_; }
    byte_stream const& stream() const noexcept { return *stream_; }

    template <class Buffers, class Token>
    auto async_read_some(Buffers const& into, Token&& token)
    {
        return start<readiness::read>(first<boost::asio::mutable_buffer>(into),
                                      std::forward<Token>(token));
    }
    template <class Buffers, class Token>
    auto async_write_some(Buffers const& from, Token&& token)
    {
        return start<readiness::write>(first<boost::asio::const_buffer>(from),
                                       std::forward<Token>(token));
    }

private:
    template <class Buffer, class Buffers>
    static Buffer first(Buffers const& all)
    {
        auto const end = boost::asio::buffer_sequence_end(all);
        for (auto at = boost::asio::buffer_sequence_begin(all); at != end; ++at)
            if (Buffer const one = *at; one.size() > 0)
                return one;
        return {};
    }

    template <readiness Which, class Buffer, class Handler>
    class operation final : public stream_waiter,
                            public std::enable_shared_from_this<operation<Which, Buffer, Handler>> {
    public:
        operation(byte_stream& stream, Buffer buffer, Handler handler)
            : stream_{stream}, buffer_{buffer}, handler_{std::move(handler)}
        {
        }

        /// @returns true if it is over
        bool attempt(error_code& ec, std::size_t& n)
        {
            if (buffer_.size() == 0)
                return true;
            if constexpr (Which == readiness::read)
                n = stream_.read_some(buffer_, ec);
            else
                n = stream_.write_some(buffer_, ec);
            if (n > 0)
                ec = {};
            auto const blocked =
                !ec ? n == 0
                    : ec == boost::asio::error::would_block || ec == boost::asio::error::try_again;
            if (blocked)
                ec = {};
            return !blocked;
        }

        void on_ready(readiness, error_code ec) override
        {
            std::size_t n = 0;
            if (!ec && !attempt(ec, n))
                return stream_.async_wait(Which, this->shared_from_this());
            handler_(ec, n);
        }

        void begin()
        {
            error_code ec;
            std::size_t n = 0;
            if (!attempt(ec, n))
                return stream_.async_wait(Which, this->shared_from_this());
            boost::asio::post(stream_.get_executor(),
                              [self = this->shared_from_this(), ec, n] { self->handler_(ec, n); });
        }

    private:
        byte_stream& stream_;
        Buffer buffer_;
        Handler handler_;
    };

    template <readiness Which, class Buffer, class Token>
    auto start(Buffer buffer, Token&& token)
    {
        return boost::asio::async_initiate<Token, void(error_code, std::size_t)>(
            [this, buffer](auto handler) {
                using op = operation<Which, Buffer, decltype(handler)>;
                std::make_shared<op>(*stream_, buffer, std::move(handler))->begin();
            },
            token);
    }

    std::unique_ptr<byte_stream> stream_;
    executor_type executor_;
};

inline void beast_close_socket(stream_socket& s) { s.stream().close(); }

inline void teardown(boost::beast::role_type, stream_socket& s, error_code& ec)
{
    s.stream().shutdown_write();
    ec = {};
}
template <class Handler>
void async_teardown(boost::beast::role_type, stream_socket& s, Handler&& handler)
{
    s.stream().shutdown_write();
    boost::asio::post(s.get_executor(),
                      [h = std::forward<Handler>(handler)]() mutable { h(error_code{}); });
}

}  // namespace sluice::net
