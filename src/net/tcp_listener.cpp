// A listening socket that outlives a shortage of descriptors.
#include <sluice/net/tcp.hpp>
#include <sluice/net/tcp_listener.hpp>

#include <boost/asio/steady_timer.hpp>

namespace sluice::net {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

constexpr std::chrono::milliseconds shortage_pause{50};

class listening final : public tcp_listener, public std::enable_shared_from_this<listening> {
public:
    explicit listening(asio::any_io_executor executor) : acceptor_{executor}, timer_{executor} {}

    error_code bind(tcp::endpoint const& at)
    {
        error_code ec;
        acceptor_.open(at.protocol(), ec);
        if (!ec)
            acceptor_.set_option(tcp::acceptor::reuse_address{true}, ec);
        if (!ec)
            acceptor_.bind(at, ec);
        if (!ec)
            acceptor_.listen(asio::socket_base::max_listen_connections, ec);
        if (!ec)
            at_ = acceptor_.local_endpoint(ec);
        return ec;
    }

    void start(std::function<void(std::unique_ptr<byte_stream>)> taken) override
    {
        taken_ = std::move(taken);
        accept();
    }

    void pause() override { paused_ = true; }

    void resume() override
    {
        if (!std::exchange(paused_, false) || accepting_)
            return;
        accept();
    }

    void close() noexcept override
    {
        error_code ignored;
        acceptor_.close(ignored);
        timer_.cancel();
        taken_ = nullptr;
    }

    std::uint16_t port() const noexcept override { return at_.port(); }
    std::string address() const override
    {
        auto const text = at_.address().to_string();
        return (at_.address().is_v6() ? "[" + text + "]" : text) + ":" + std::to_string(port());
    }

private:
    void accept()
    {
        if (paused_ || !acceptor_.is_open())
            return;
        accepting_ = true;
        acceptor_.async_accept([self = shared_from_this()](error_code ec, tcp::socket socket) {
            self->accepting_ = false;
            self->on_accept(ec, std::move(socket));
        });
    }

    void on_accept(error_code ec, tcp::socket socket)
    {
        if (!taken_)
            return;
        auto const shortage = ec == asio::error::no_descriptors
                              || ec == asio::error::no_buffer_space || ec == asio::error::no_memory;
        if (shortage) {
            accepting_ = true;
            timer_.expires_after(shortage_pause);
            timer_.async_wait([self = shared_from_this()](error_code cancelled) {
                self->accepting_ = false;
                if (!cancelled)
                    self->accept();
            });
            return;
        }
        if (!ec) {
            error_code ignored;
            socket.set_option(tcp::no_delay{true}, ignored);
            taken_(make_tcp_stream(std::move(socket)));
        }
        accept();  // what else may fail is the peer's going away again
    }

    tcp::acceptor acceptor_;
    asio::steady_timer timer_;
    tcp::endpoint at_;
    std::function<void(std::unique_ptr<byte_stream>)> taken_;
    bool paused_ = false;
    bool accepting_ = false;
};

}  // namespace

result<std::shared_ptr<tcp_listener>> tcp_listener::open(asio::any_io_executor executor,
                                                         std::string const& host,
                                                         std::uint16_t port, std::string* fault)
{
    auto const fail = [&](error code, std::string text) {
        if (fault)
            *fault = std::move(text);
        return unexpected{code};
    };
    error_code ec;
    tcp::resolver resolver{executor};
    auto const found = resolver.resolve(
        host, std::to_string(port), tcp::resolver::numeric_service | tcp::resolver::passive, ec);
    if (ec || found.empty())
        return fail(error::resolve_failed,
                    "host '" + host + "' does not resolve (" + ec.message() + "); check its name");
    auto made = std::make_shared<listening>(executor);
    if (ec = made->bind(found.begin()->endpoint()); ec)
        return fail(
            error::listen_failed,
            "cannot listen on " + host + ":" + std::to_string(port) + " (" + ec.message()
                + "); is the port in use, or below 1024, or the address another machine's?");
    return std::shared_ptr<tcp_listener>{std::move(made)};
}

}  // namespace sluice::net
