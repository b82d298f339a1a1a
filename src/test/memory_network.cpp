// How the client and the listener of the library come onto a memory_network.
#include "test/memory_pipe.hpp"

#include <sluice/test/memory_network.hpp>

#include <boost/asio/post.hpp>

#include <deque>

namespace sluice::test {
namespace {

namespace asio = boost::asio;
using detail::memory_hub;
using detail::pipe_pair;

std::string name_of(std::uint16_t port) { return "memory:" + std::to_string(port); }

/// A connect under way: it is decided at once and told in the next turn of the executor.
class connecting final : public net::tcp_connect, public std::enable_shared_from_this<connecting> {
public:
    explicit connecting(std::function<void(net::connect_result)> done) : done_{std::move(done)} {}

    void cancel() override
    {
        finish({net::to_boost(error::operation_aborted), "connecting was cancelled", nullptr});
    }
    void finish(net::connect_result r)
    {
        if (auto const done = std::exchange(done_, nullptr))
            done(std::move(r));
    }

private:
    std::function<void(net::connect_result)> done_;
};

class memory_listener final : public net::tcp_listener,
                              public std::enable_shared_from_this<memory_listener> {
public:
    memory_listener(asio::any_io_executor on, std::shared_ptr<memory_hub> hub)
        : on_{std::move(on)}, hub_{std::move(hub)}
    {
    }
    ~memory_listener() override { close(); }

    bool listen(std::uint16_t port)
    {
        port_ = hub_->listen(port, [weak = weak_from_this(), on = on_](pipe_pair p) {
            asio::post(on, [weak, p = std::move(p)] {
                if (auto const self = weak.lock()) {
                    self->waiting_.push_back(p);
                    self->serve();
                } else {
                    p.in->end_reading();
                    p.out->end_writing();
                }
            });
        });
        return port_ != 0;
    }
    void start(std::function<void(std::unique_ptr<net::byte_stream>)> taken) override
    {
        taken_ = std::move(taken);
        serve();
    }
    void pause() override { paused_ = true; }
    void resume() override
    {
        paused_ = false;
        serve();
    }
    void close() noexcept override
    {
        if (std::exchange(closed_, true))
            return;
        if (port_ != 0)
            hub_->forget(port_);
        for (auto const& p : waiting_) {
            p.in->end_reading();
            p.out->end_writing();
        }
        waiting_.clear();
    }
    std::uint16_t port() const noexcept override { return port_; }
    std::string address() const override { return name_of(port_); }

private:
    void serve()
    {
        while (taken_ && !paused_ && !closed_ && !waiting_.empty()) {
            auto p = std::move(waiting_.front());
            waiting_.pop_front();
            taken_(detail::make_memory_stream(on_, std::move(p), "memory"));
        }
    }

    asio::any_io_executor on_;
    std::shared_ptr<memory_hub> hub_;
    std::uint16_t port_ = 0;
    std::function<void(std::unique_ptr<net::byte_stream>)> taken_;
    std::deque<pipe_pair> waiting_;
    bool paused_ = false;
    bool closed_ = false;
};

}  // namespace

memory_network::memory_network(std::size_t buffer_max)
    : hub_{std::make_shared<memory_hub>(buffer_max)}
{
}

client::connection_options memory_network::client(client::connection_options options) const
{
    options.connector = connector();
    return options;
}

client::listener_options memory_network::server(client::listener_options options) const
{
    options.acceptor = acceptor();
    return options;
}

client::connector memory_network::connector() const
{
    return [hub = hub_](asio::any_io_executor const& on, std::string const&, std::uint16_t port,
                        std::function<void(net::connect_result)> done) {
        auto made = std::make_shared<connecting>(std::move(done));
        asio::post(on, [made, on, hub, port] {
            auto pipes = hub->connect(port);
            if (!pipes)
                return made->finish(
                    {net::to_boost(error::connect_failed),
                     "nobody listens at " + name_of(port) + " of this memory_network; listen first",
                     nullptr});
            made->finish({{}, {}, detail::make_memory_stream(on, *pipes, name_of(port))});
        });
        return std::shared_ptr<net::tcp_connect>{std::move(made)};
    };
}

client::acceptor memory_network::acceptor() const
{
    return [hub = hub_](asio::any_io_executor const& on, std::string const&, std::uint16_t port,
                        std::string* fault) -> result<std::shared_ptr<net::tcp_listener>> {
        auto made = std::make_shared<memory_listener>(on, hub);
        if (!made->listen(port)) {
            if (fault)
                *fault = "port " + std::to_string(port)
                         + " of this memory_network is in use; take another, or 0 for any";
            return unexpected{error::listen_failed};
        }
        return std::shared_ptr<net::tcp_listener>{std::move(made)};
    };
}

}  // namespace sluice::test
