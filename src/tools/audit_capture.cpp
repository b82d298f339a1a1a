// Packets of a file, sorted into connections.
#include "tools/audit_capture.hpp"

#include "tools/captured_connection.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace sluice::tools {
namespace {

constexpr std::uint16_t amqp_port = 5672;

struct closer {
    void operator()(pcap_t* p) const noexcept { ::pcap_close(p); }
};

class capture_audit {
public:
    capture_audit(audit_capture_options const& o, audit_report& report)
        : options_{o}, report_{report}
    {
    }

    void packet(int link_type, pcap_pkthdr const& header, u_char const* data);
    void finish();
    std::string describe() const;

private:
    using key = std::pair<tcp_end, tcp_end>;  // the smaller end first

    void segment(tcp_segment const& s, stamp at);
    captured_connection::settings settings_of(tcp_segment const& s) const;
    bool is_server_port(std::uint16_t port) const;

    audit_capture_options const& options_;
    audit_report& report_;
    std::map<key, captured_connection> connections_;
    std::uint64_t packets_ = 0;
    std::uint64_t fragments_ = 0;
    std::uint64_t cut_ = 0;
    std::uint64_t other_connections_ = 0;
    std::optional<audit::time_point> first_;
    audit::time_point last_{};
};

void capture_audit::packet(int link_type, pcap_pkthdr const& header, u_char const* data)
{
    ++packets_;
    audit::time_point const time{std::int64_t{header.ts.tv_sec} * 1'000'000 + header.ts.tv_usec};
    if (!first_)
        first_ = time;
    last_ = std::max(last_, time - *first_);
    tcp_segment s;
    bytes_view const octets{reinterpret_cast<std::byte const*>(data), header.caplen};
    switch (read_packet(link_type, octets, header.len, s)) {
    case packet_kind::tcp: return segment(s, {.time = time - *first_, .packet = packets_});
    case packet_kind::fragment: ++fragments_; return;
    case packet_kind::cut: ++cut_; return;
    case packet_kind::other: return;
    }
}

bool capture_audit::is_server_port(std::uint16_t port) const
{
    if (options_.ports.empty())
        return port == amqp_port;
    return std::find(options_.ports.begin(), options_.ports.end(), port) != options_.ports.end();
}

captured_connection::settings capture_audit::settings_of(tcp_segment const& s) const
{
    bool to_server = s.syn && !s.ack;
    if (!s.syn)  // whoever has the well-known port, or the lower one, is likely to have listened
        to_server =
            is_server_port(s.to.port) || (!is_server_port(s.from.port) && s.to.port < s.from.port);
    captured_connection::settings out;
    out.client = to_server ? s.from : s.to;
    out.server = to_server ? s.to : s.from;
    out.from_start = s.syn;
    if (s.syn)
        out.syn = s.ack ? s.acknowledged - 1 : s.sequence;
    // Where the start is in the capture, it says itself what it is.
    out.amqp_port = is_server_port(out.server.port);
    out.is_amqp = out.amqp_port && (!options_.ports.empty() || !s.syn);
    return out;
}

void capture_audit::segment(tcp_segment const& s, stamp at)
{
    if (!options_.ports.empty() && !is_server_port(s.to.port) && !is_server_port(s.from.port))
        return;
    auto const k = s.from < s.to ? key{s.from, s.to} : key{s.to, s.from};
    auto found = connections_.find(k);
    if (found != connections_.end() && s.syn && !s.ack) {
        auto& before = found->second;
        bool const again = before.client() == s.from && before.syn() == s.sequence;
        if (!again) {  // the same ports once more
            before.finish("another connection took its ports");
            other_connections_ += before.is_other();
            connections_.erase(found);
            found = connections_.end();
        }
    }
    if (found == connections_.end()) {
        if (!s.syn && s.length == 0)
            return;
        found = connections_.try_emplace(k, settings_of(s), report_).first;
    }
    found->second.take(s, at);
}

void capture_audit::finish()
{
    for (auto& [k, c] : connections_) {
        c.finish("open when the capture ended");
        other_connections_ += c.is_other();
    }
    connections_.clear();
    if (other_connections_ != 0 && options_.ports.empty())
        report_.remark(fmt::format("{} other TCP connections were not looked at (--port N takes "
                                   "those to port N for AMQP)",
                                   other_connections_));
    if (fragments_ != 0)
        report_.remark(fmt::format("{} IP fragments were left out", fragments_));
    if (cut_ != 0)
        report_.remark(
            fmt::format("{} packets are too short to be read: capture whole ones (-s 0)", cut_));
}

std::string capture_audit::describe() const
{
    if (!first_)
        return "no packets";
    auto const seconds = static_cast<std::time_t>(first_->count() / 1'000'000);
    return fmt::format("{} packets from {:%Y-%m-%dT%H:%M:%SZ} on, {:.1f} s", packets_,
                       fmt::gmtime(seconds), std::chrono::duration<double>(last_).count());
}

}  // namespace

std::string audit_capture(std::string const& file, audit_capture_options const& o,
                          audit_report& report)
{
    char fault[PCAP_ERRBUF_SIZE] = "";
    std::unique_ptr<pcap_t, closer> const in{::pcap_open_offline(file.c_str(), fault)};
    if (!in)
        throw std::runtime_error{fmt::format("cannot read {} as a capture: {}", file, fault)};
    auto const link_type = ::pcap_datalink(in.get());
    if (!is_readable_link(link_type)) {
        auto const* const name = ::pcap_datalink_val_to_name(link_type);
        throw std::runtime_error{fmt::format(
            "cannot read {}: its link type is {}; Ethernet, loopback, Linux cooked (the device "
            "`any`) and raw IP can be read",
            file, name != nullptr ? name : std::to_string(link_type))};
    }
    capture_audit audit{o, report};
    pcap_pkthdr* header = nullptr;
    u_char const* data = nullptr;
    int status = 0;
    while ((status = ::pcap_next_ex(in.get(), &header, &data)) == 1)
        audit.packet(link_type, *header, data);
    audit.finish();
    if (status == PCAP_ERROR)
        report.remark(fmt::format("the file breaks off: {}", ::pcap_geterr(in.get())));
    return audit.describe();
}

}  // namespace sluice::tools
