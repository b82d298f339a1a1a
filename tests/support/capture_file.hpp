// Captures that a test writes packet by packet: what goes wrong on a wire or in tcpdump, on
// purpose.
#pragma once

#include "support/audit_frames.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace sluice::test {

enum class link : std::uint32_t {
    null = 0,
    ethernet = 1,
    raw = 101,
    loop = 108,
    sll = 113,
    ipv4 = 228,
    ipv6 = 229,
    sll2 = 276,
};

struct end_point {
    std::uint8_t host = 1;  ///< 10.0.0.host or fd00::host
    std::uint16_t port = 0;
};

struct tcp_packet {
    end_point from;
    end_point to;
    std::uint32_t sequence = 0;
    std::uint32_t acknowledged = 0;
    char const* flags = "A";  ///< of S, A, F, R
    bytes payload{};
};

inline void put(bytes& to, std::uint64_t number, int octets)
{
    for (int i = octets; i-- > 0;) to.push_back(static_cast<std::byte>(number >> (8 * i)));
}

inline bytes tcp_of(tcp_packet const& p)
{
    unsigned flags = 0;
    for (auto const* f = p.flags; *f != 0; ++f)
        flags |= *f == 'F' ? 1u : *f == 'S' ? 2u : *f == 'R' ? 4u : 16u;
    bytes out;
    put(out, p.from.port, 2);
    put(out, p.to.port, 2);
    put(out, p.sequence, 4);
    put(out, p.acknowledged, 4);
    put(out, 0x60, 1);  // six words: one of options
    put(out, flags, 1);
    put(out, 0xffff'0000'0000, 6);  // window, checksum, urgent pointer
    put(out, 0x01010101, 4);        // options that do nothing
    out.insert(out.end(), p.payload.begin(), p.payload.end());
    return out;
}

inline bytes ipv4_of(tcp_packet const& p, unsigned fragment = 0)
{
    auto const inner = tcp_of(p);
    bytes out;
    put(out, 0x4500, 2);
    put(out, 20 + inner.size(), 2);
    put(out, 0, 2);
    put(out, fragment, 2);
    put(out, 0x4006, 2);
    put(out, 0, 2);
    for (auto const host : {p.from.host, p.to.host}) put(out, 0x0a000000u + host, 4);
    out.insert(out.end(), inner.begin(), inner.end());
    return out;
}

/// With a hop-by-hop header, to be stepped over.
inline bytes ipv6_of(tcp_packet const& p)
{
    auto const inner = tcp_of(p);
    bytes out;
    put(out, 0x60000000, 4);
    put(out, inner.size() + 8, 2);
    put(out, 0x0040, 2);
    for (auto const host : {p.from.host, p.to.host}) {
        put(out, 0xfd00'0000'0000'0000, 8);
        put(out, host, 8);
    }
    put(out, 0x0600, 2);
    put(out, 0, 6);
    out.insert(out.end(), inner.begin(), inner.end());
    return out;
}

inline bytes framed(link l, bytes const& ip, bool is_v6 = false)
{
    auto const type = is_v6 ? 0x86ddu : 0x0800u;
    bytes out;
    switch (l) {
    case link::ethernet: put(out, 0, 8), put(out, 0, 4), put(out, type, 2); break;
    case link::sll: put(out, 0, 8), put(out, 0, 6), put(out, type, 2); break;
    case link::sll2: put(out, type, 2), put(out, 0, 8), put(out, 0, 8), put(out, 0, 2); break;
    case link::null:
    case link::loop: put(out, is_v6 ? 30 : 2, 4); break;
    default: break;
    }
    out.insert(out.end(), ip.begin(), ip.end());
    return out;
}

/// A file in the temporary folder that goes with this object.
class capture_file {
public:
    explicit capture_file(link l = link::raw, std::uint32_t snap_length = 262144)
        : link_{l}, snap_length_{snap_length}
    {
        put(octets_, 0xa1b2c3d4'0002'0004, 8);
        put(octets_, 0, 8);
        put(octets_, snap_length, 4);
        put(octets_, static_cast<std::uint32_t>(l), 4);
    }
    /// One with this content.
    explicit capture_file(bytes content) : octets_{std::move(content)} {}
    capture_file(capture_file const&) = delete;
    capture_file& operator=(capture_file const&) = delete;
    ~capture_file() { std::remove(name_.c_str()); }

    void add(tcp_packet const& p) { add_raw(framed(link_, ipv4_of(p))); }
    void add_raw(bytes const& packet)
    {
        now_us += 10;
        put(octets_, 1'800'000'000 + now_us / 1'000'000, 4);
        put(octets_, now_us % 1'000'000, 4);
        auto const kept = std::min<std::size_t>(packet.size(), snap_length_);
        put(octets_, kept, 4);
        put(octets_, packet.size(), 4);
        octets_.insert(octets_.end(), packet.begin(),
                       packet.begin() + static_cast<std::ptrdiff_t>(kept));
    }
    /// Leaves out the last so many octets, as a tcpdump that was killed does.
    void cut(std::size_t n) { octets_.resize(octets_.size() - n); }

    /// Writes it. @returns its name.
    std::string const& name() const
    {
        auto* const f = std::fopen(name_.c_str(), "wb");
        if (f == nullptr || std::fwrite(octets_.data(), 1, octets_.size(), f) != octets_.size()
            || std::fclose(f) != 0)
            throw std::runtime_error{"cannot write " + name_};
        return name_;
    }

    std::uint64_t now_us = 0;

private:
    static std::string make_name()
    {
        auto name = (std::filesystem::temp_directory_path() / "sluice-capture.XXXXXX").string();
        auto const fd = ::mkstemp(name.data());
        if (fd < 0)
            throw std::runtime_error{"no temporary file " + name};
        ::close(fd);
        return name;
    }

    link link_ = link::raw;
    std::uint32_t snap_length_ = 0;
    std::string name_ = make_name();
    bytes octets_;
};

/// One TCP connection that writes packets: sequence numbers are kept as an honest stack does.
class tcp_talk {
public:
    tcp_talk(capture_file& into, end_point client = {1, 40000}, end_point server = {2, 5672},
             std::uint32_t first = 0xffff'ff00)
        : into_{into}, ends_{client, server}, next_{first, first + 12345}
    {
    }

    void handshake()
    {
        into_.add(packet(0, "S", {}));
        ++next_[0];
        into_.add(packet(1, "SA", {}));
        ++next_[1];
        into_.add(packet(0, "A", {}));
    }
    /// The packet that would be next, which counts as sent.
    tcp_packet sent(audit::direction d, bytes payload)
    {
        auto const i = static_cast<std::size_t>(d);
        auto p = packet(i, "A", std::move(payload));
        next_[i] += static_cast<std::uint32_t>(p.payload.size());
        return p;
    }
    void say(audit::direction d, bytes payload) { into_.add(sent(d, std::move(payload))); }
    void acknowledge(audit::direction d)
    {
        into_.add(packet(static_cast<std::size_t>(d), "A", {}));
    }
    void finish()
    {
        for (std::size_t i : {0u, 1u}) {
            into_.add(packet(i, "FA", {}));
            ++next_[i];
        }
        into_.add(packet(0, "A", {}));
    }
    void reset() { into_.add(packet(1, "RA", {})); }

private:
    tcp_packet packet(std::size_t i, char const* flags, bytes payload) const
    {
        return {.from = ends_[i],
                .to = ends_[1 - i],
                .sequence = next_[i],
                .acknowledged = std::string_view{flags} == "S" ? 0 : next_[1 - i],
                .flags = flags,
                .payload = std::move(payload)};
    }

    capture_file& into_;
    std::array<end_point, 2> ends_;
    std::array<std::uint32_t, 2> next_;
};

}  // namespace sluice::test
