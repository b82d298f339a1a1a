// A small HTTP server on Boost.Beast.
#include "tools/http_metrics.hpp"

#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <memory>
#include <optional>

namespace sluice::tools {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds shortage_pause{50};

class http_metrics::session : public std::enable_shared_from_this<session> {
public:
    session(http_metrics& server, tcp::socket socket) : server_{server}, stream_{std::move(socket)}
    {
        ++server_.sessions_;
    }
    ~session()
    {
        server_.no_request_.remove(this);
        --server_.sessions_;
        server_.accept();
    }
    session(session const&) = delete;
    session& operator=(session const&) = delete;

    void read()
    {
        constexpr std::uint64_t body_max = 1024;
        parser_.emplace();
        parser_->body_limit(body_max);
        stream_.expires_after(std::chrono::seconds{5});
        server_.no_request_.push_back(this);
        http::async_read(stream_, buffer_, *parser_,
                         [self = shared_from_this()](error_code ec, std::size_t) {
                             self->server_.no_request_.remove(self.get());
                             if (!ec)
                                 self->answer();
                         });
    }
    void close() { stream_.close(); }

private:
    void answer()
    {
        auto const& asked = parser_->get();
        auto const target = std::string_view{asked.target().data(), asked.target().size()};
        auto const path = target.substr(0, target.find('?'));
        auto const head = asked.method() == http::verb::head;
        answer_ = {};
        answer_.version(asked.version());
        answer_.keep_alive(asked.keep_alive());
        answer_.set(http::field::content_type, "text/plain; charset=utf-8");
        if (!head && asked.method() != http::verb::get) {
            answer_.result(http::status::method_not_allowed);
            answer_.set(http::field::allow, "GET, HEAD");
            answer_.body() = "only GET and HEAD are understood here\n";
        } else if (path != "/metrics") {
            answer_.result(http::status::not_found);
            answer_.body() = "there is nothing here but /metrics\n";
        } else {
            answer_.set(http::field::content_type, "text/plain; version=0.0.4; charset=utf-8");
            answer_.body() = server_.page_();
        }
        answer_.prepare_payload();
        if (head)
            answer_.body().clear();
        http::async_write(stream_, answer_,
                          [self = shared_from_this()](error_code ec, std::size_t) {
                              if (ec)
                                  return;
                              if (self->answer_.keep_alive())
                                  return self->read();
                              self->stream_.socket().shutdown(tcp::socket::shutdown_send, ec);
                          });
    }

    http_metrics& server_;
    beast::tcp_stream stream_;
    beast::flat_buffer buffer_{8192};
    std::optional<http::request_parser<http::string_body>> parser_;
    http::response<http::string_body> answer_;
};

http_metrics::http_metrics(std::string const& host, std::uint16_t port,
                           std::function<std::string()> page)
    : page_{std::move(page)}
{
    auto const where =
        tcp::resolver{io_}.resolve(host, std::to_string(port), tcp::resolver::passive)->endpoint();
    acceptor_.open(where.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address{true});
    acceptor_.bind(where);
    acceptor_.listen();
    accept();
    thread_ = std::thread{[this] { io_.run(); }};
}

http_metrics::~http_metrics()
{
    io_.stop();
    thread_.join();
    accepting_ = true;  // those that go with the context accept no more
}

void http_metrics::accept()
{
    if (accepting_ || sessions_ > sessions_max)  // one more waits for a place
        return;
    accepting_ = true;
    acceptor_.async_accept([this](error_code ec, tcp::socket socket) {
        accepting_ = false;
        if (ec == asio::error::operation_aborted)
            return;
        if (ec == asio::error::no_descriptors || ec == asio::error::no_buffer_space
            || ec == asio::error::no_memory)
            return accept_later();
        if (!ec && sessions_ >= sessions_max && !no_request_.empty()) {
            no_request_.front()->close();
            no_request_.pop_front();
        }
        if (!ec)
            std::make_shared<session>(*this, std::move(socket))->read();
        accept();
    });
}

/// A shortage: the next one would fail as fast.
void http_metrics::accept_later()
{
    accepting_ = true;
    timer_.expires_after(shortage_pause);
    timer_.async_wait([this](error_code) {
        accepting_ = false;
        accept();
    });
}

}  // namespace sluice::tools
