// WebSocket's handshake, and the stream that comes of it.
#include "net/core_stream.hpp"
#include "net/harmless.hpp"
#include "net/websocket_core.hpp"

#include <sluice/net/websocket.hpp>

#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>

#include <optional>

namespace sluice::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;

constexpr std::size_t header_max = std::size_t{8} * 1024;
constexpr std::string_view subprotocol = "amqp";

std::string shown(beast::string_view from) { return harmless({from.data(), from.size()}, 100); }

std::string status_text(unsigned code, beast::string_view reason)
{
    return "HTTP " + std::to_string(code) + (reason.empty() ? "" : " " + shown(reason));
}

/// "localhost" or an address, with a port or without.
bool is_no_name(std::string_view host)
{
    if (host.starts_with('['))
        host = host.substr(1, host.find(']') - 1);
    else
        host = host.substr(0, host.find(':'));
    error_code ec;
    std::ignore = asio::ip::make_address(std::string{host}, ec);
    return !ec || beast::iequals({host.data(), host.size()}, "localhost");
}

bool went_away(error_code ec) noexcept
{
    return ec == asio::error::eof || ec == http::error::end_of_stream
           || ec == http::error::partial_message || ec == asio::error::connection_reset
           || ec == asio::error::broken_pipe;
}

class handshake : public tcp_connect, public std::enable_shared_from_this<handshake> {
public:
    handshake(std::unique_ptr<byte_stream> stream, std::function<void(connect_result)> done)
        : core_{std::make_shared<websocket_core>(std::move(stream))},
          peer_{core_->inner().peer()},
          done_{std::move(done)}
    {
    }

    void cancel() override { fail(error::operation_aborted, "the handshake was cancelled"); }

protected:
    websocket_core::socket& ws() noexcept { return core_->ws(); }
    bool over() const noexcept { return !done_; }

    void fail(error code, std::string const& text)
    {
        finish({to_boost(code), "WebSocket with " + peer_ + ": " + text, nullptr});
    }
    void succeed() { finish({{}, {}, std::make_unique<core_stream<websocket_core>>(core_)}); }

    std::shared_ptr<websocket_core> core_;

private:
    void finish(connect_result result)
    {
        auto const done = std::exchange(done_, nullptr);
        if (!done)
            return;
        if (!result.stream)
            core_->close();
        done(std::move(result));
    }

    std::string peer_;
    std::function<void(connect_result)> done_;
};

class client_handshake final : public handshake {
public:
    using handshake::handshake;

    void start(std::string host, std::string path)
    {
        path_ = std::move(path);
        ws().set_option(websocket::stream_base::decorator([](websocket::request_type& request) {
            request.set(http::field::sec_websocket_protocol, subprotocol);
            request.set(http::field::user_agent, "sluice");
        }));
        auto self = std::static_pointer_cast<client_handshake>(shared_from_this());
        asio::post(core_->inner().get_executor(), [self, host = std::move(host)] {
            if (self->over())
                return;
            self->ws().async_handshake(self->response_, host, self->path_,
                                       [self](error_code ec) { self->answered(ec); });
        });
    }

private:
    void answered(error_code ec)
    {
        if (ec == websocket::error::upgrade_declined)
            return fail(error::websocket_failed,
                        "the peer answered "
                            + status_text(response_.result_int(), response_.reason())
                            + " to the path '" + path_ + "'; check port, path and its log");
        if (ec && went_away(ec))
            return fail(
                error::connect_failed,
                "the peer closed the transport at the handshake; does it speak WebSocket on "
                "this port?");
        if (ec && ec.category() == make_error_code(http::error::bad_version).category())
            return fail(error::websocket_failed, "the peer's answer is not HTTP (" + ec.message()
                                                     + "); use amqp://, or the port on which it "
                                                       "speaks WebSocket");
        if (ec && ec.category() == make_error_code(websocket::error::closed).category())
            return fail(error::websocket_failed,
                        "the peer's answer is no upgrade to WebSocket (" + ec.message() + ")");
        if (ec)
            return fail(error::connect_failed,
                        "lost in the middle of the handshake: " + ec.message());
        auto const chosen = response_[http::field::sec_websocket_protocol];
        if (chosen != subprotocol)
            return fail(error::websocket_failed,
                        chosen.empty()
                            ? "the peer did not agree to the subprotocol 'amqp'; is it an "
                              "AMQP 1.0 server?"
                            : "the peer chose the subprotocol '" + shown(chosen) + "', not 'amqp'");
        succeed();
    }

    websocket::response_type response_;
    std::string path_;
};

class server_handshake final : public handshake {
public:
    server_handshake(std::unique_ptr<byte_stream> stream, std::vector<std::string> origins,
                     std::function<void(connect_result)> done)
        : handshake{std::move(stream), std::move(done)}, origins_{std::move(origins)}
    {
        parser_.header_limit(header_max);
    }

    void start()
    {
        auto self = std::static_pointer_cast<server_handshake>(shared_from_this());
        asio::post(core_->inner().get_executor(), [self] {
            if (!self->over())
                http::async_read_header(self->ws().next_layer(), self->buffer_, self->parser_,
                                        [self](error_code ec, std::size_t) { self->asked(ec); });
        });
    }

private:
    void asked(error_code ec)
    {
        if (over())
            return;
        if (ec && went_away(ec))
            return fail(error::connect_failed, "the peer closed the transport at the handshake");
        if (ec && ec.category() == make_error_code(http::error::bad_version).category())
            return refuse(http::status::bad_request,
                          "it does not speak HTTP (" + ec.message()
                              + "); this port is for AMQP over WebSocket, ws:// or wss://");
        if (ec)
            return fail(error::connect_failed,
                        "lost in the middle of the handshake: " + ec.message());
        auto const& request = parser_.get();
        if (!websocket::is_upgrade(request))
            return refuse(http::status::upgrade_required,
                          "no request to upgrade; this port is for AMQP over WebSocket");
        http::token_list asked{request[http::field::sec_websocket_protocol]};
        if (!asked.exists(subprotocol))
            return refuse(http::status::bad_request, "the subprotocol has to be 'amqp'");
        if (!origin_may())
            return refuse(http::status::forbidden, "web pages of the origin '"
                                                       + shown(request[http::field::origin])
                                                       + "' may not connect here");
        if (buffer_.size() > 0)
            return refuse(http::status::bad_request, "data before the answer to the upgrade");
        ws().set_option(websocket::stream_base::decorator([](websocket::response_type& response) {
            response.set(http::field::sec_websocket_protocol, subprotocol);
            response.set(http::field::server, "sluice");
        }));
        auto self = std::static_pointer_cast<server_handshake>(shared_from_this());
        ws().async_accept(request, [self](error_code code) {
            if (code)
                self->fail(error::websocket_failed, "the upgrade failed: " + code.message());
            else
                self->succeed();
        });
    }

    /// Only browsers send an origin.
    bool origin_may() const
    {
        auto const origin = parser_.get()[http::field::origin];
        if (origin.empty() || is_own(origin))
            return true;
        for (auto const& o : origins_)
            if (o == "*" || beast::iequals(o, origin))
                return true;
        return false;
    }

    /// A page of this server's. Without TLS a name proves nothing: anybody's may be made to lead
    /// here once their page is loaded.
    bool is_own(beast::string_view origin) const
    {
        auto const host = parser_.get()[http::field::host];
        auto const scheme = origin.find("://");
        if (scheme == origin.npos || !beast::iequals(origin.substr(scheme + 3), host))
            return false;
        return beast::iequals(origin.substr(0, scheme), "https")
               || core_->inner().security().encrypted || is_no_name({host.data(), host.size()});
    }

    void refuse(http::status status, std::string why)
    {
        answer_.emplace(status, 11);
        answer_->set(http::field::server, "sluice");
        answer_->set(http::field::content_type, "text/plain");
        if (status == http::status::upgrade_required)
            answer_->set(http::field::upgrade, "websocket");
        answer_->keep_alive(false);
        answer_->body() = why + "\n";
        answer_->prepare_payload();
        auto self = std::static_pointer_cast<server_handshake>(shared_from_this());
        http::async_write(ws().next_layer(), *answer_,
                          [self, why = std::move(why)](error_code, std::size_t) {
                              self->core_->inner().shutdown_write();
                              self->fail(error::websocket_failed, why);
                          });
    }

    std::vector<std::string> origins_;
    beast::flat_buffer buffer_{2 * header_max};
    http::request_parser<http::empty_body> parser_;
    std::optional<http::response<http::string_body>> answer_;
};

}  // namespace

std::shared_ptr<tcp_connect> start_websocket_client(std::unique_ptr<byte_stream> stream,
                                                    std::string host, std::string path,
                                                    std::function<void(connect_result)> done)
{
    auto made = std::make_shared<client_handshake>(std::move(stream), std::move(done));
    made->start(std::move(host), std::move(path));
    return made;
}

std::shared_ptr<tcp_connect> start_websocket_server(std::unique_ptr<byte_stream> stream,
                                                    std::vector<std::string> origins,
                                                    std::function<void(connect_result)> done)
{
    auto made =
        std::make_shared<server_handshake>(std::move(stream), std::move(origins), std::move(done));
    made->start();
    return made;
}

}  // namespace sluice::net
