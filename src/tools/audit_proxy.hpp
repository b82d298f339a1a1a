// The auditor as a TCP proxy: everything is passed on at once and unchanged, and looked at.
#pragma once

#include "tools/audit_report.hpp"

#include <sluice/net/transport.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace sluice::tools {

struct audit_proxy_options {
    std::string listen_host = "127.0.0.1";
    std::uint16_t listen_port = 0;  ///< 0: any free one; port() tells
    std::string forward_host = "127.0.0.1";
    std::uint16_t forward_port = 5672;
    net::tls_context_ptr listen_tls{};  ///< set: clients have to speak TLS, which ends here
    std::optional<net::tls_client_options> forward_tls{};  ///< set: TLS towards the broker
    bool until_violation = false;  ///< stop() by itself at the first violation
};

/// Relays any number of connections. Each way of one has a buffer of 64 KiB and is read only when
/// that is empty, so that a slow end slows down its peer and nothing else. The end of a stream is
/// passed on as an end and a reset as a reset.
///
/// Octets are given to the kernel before the checker looks at them. All runs on the context's
/// thread; not thread-safe.
class audit_proxy {
public:
    /// Listens at once. @throws boost::system::system_error if it cannot.
    audit_proxy(boost::asio::io_context& io, audit_proxy_options o, audit_report& report,
                line_output& out);
    ~audit_proxy();

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

    bool stopped() const noexcept { return stopped_; }

    /// Breaks off what is connected, and tells the report; then the context runs out of work.
    /// Harmless when called again.
    void stop();

private:
    using tcp = boost::asio::ip::tcp;
    using error_code = boost::system::error_code;
    struct relayed;

    boost::asio::awaitable<void> accept_all();
    boost::asio::awaitable<void> serve(tcp::socket client, std::string name);
    template <class Begin>
    boost::asio::awaitable<std::shared_ptr<net::connect_result>> finished(Begin begin);
    void failed(std::string const& name, std::string const& why);
    boost::asio::awaitable<void> pump(std::shared_ptr<relayed> r, audit::direction way);
    boost::asio::awaitable<void> watch();
    void examine(relayed& r, audit::direction way, bytes_view octets);
    void ended(relayed& r);
    void show_live(std::chrono::steady_clock::duration since_last);
    audit::time_point now() const;

    boost::asio::io_context& io_;
    audit_proxy_options options_;
    audit_report& report_;
    line_output& out_;
    std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
    tcp::acceptor acceptor_;
    boost::asio::steady_timer clock_;
    boost::asio::steady_timer pause_;
    std::list<std::shared_ptr<relayed>> live_;
    std::set<std::shared_ptr<net::tcp_connect>> connecting_;
    std::uint64_t frames_shown_ = 0;
    bool stopped_ = false;
};

}  // namespace sluice::tools
