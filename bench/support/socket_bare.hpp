// The floor of the socket benchmark: the same octets from one process to another, and nothing else.
#pragma once

#include "socket_work.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

namespace sluice::bench {

inline constexpr std::size_t bare_chunk = 65'536;

inline void bare_receive(socket_work const& w)
{
    using boost::asio::ip::tcp;
    boost::asio::io_context io;
    tcp::acceptor acceptor{io, {boost::asio::ip::address_v4::loopback(), 0}};
    say_port(std::to_string(acceptor.local_endpoint().port()));
    auto peer = acceptor.accept();
    socket_meter meter{w};
    std::vector<char> buffer(bare_chunk);
    std::uint64_t octets = 0;
    std::uint64_t counted = 0;
    while (counted < w.count) {
        octets += peer.read_some(boost::asio::buffer(buffer));
        for (; counted < octets / frame_size(w) && counted < w.count; ++counted) meter.count();
    }
    meter.report();
}

inline void bare_send(socket_work const& w)
{
    using boost::asio::ip::tcp;
    boost::asio::io_context io;
    tcp::socket to{io};
    to.connect(
        {boost::asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(std::stoi(w.port))});
    socket_meter meter{w};
    std::vector<char> const buffer(bare_chunk / frame_size(w) * frame_size(w));
    auto const at_once = buffer.size() / frame_size(w);
    for (std::uint64_t sent = 0; sent < w.count; sent += at_once) {
        boost::asio::write(to, boost::asio::buffer(buffer));
        for (std::uint64_t i = sent; i < sent + at_once && i < w.count; ++i) meter.count();
    }
    meter.report();
    boost::system::error_code gone;  // it may have all it wants, and have left
    to.shutdown(tcp::socket::shutdown_send, gone);
    char c = 0;
    boost::system::error_code ec;
    to.read_some(boost::asio::buffer(&c, 1), ec);
}

}  // namespace sluice::bench
