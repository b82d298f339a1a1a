// Recognising AMQP, and feeding the checker.
#include "tools/captured_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace sluice::tools {
namespace {

using audit::direction;

constexpr std::size_t early_max = std::size_t{64} * 1024;

enum class beginning : std::uint8_t { too_short, amqp_1, amqp_older, tls, other };

beginning beginning_of(bytes_view octets) noexcept
{
    constexpr std::string_view magic = "AMQP";
    if (octets.size() >= 2 && octets[0] == std::byte{0x16} && octets[1] == std::byte{3})
        return beginning::tls;
    for (std::size_t i = 0; i != std::min(magic.size(), octets.size()); ++i)
        if (octets[i] != static_cast<std::byte>(magic[i]))
            return i == 0 && octets.size() < 2 && octets[0] == std::byte{0x16}
                       ? beginning::too_short
                       : beginning::other;
    if (octets.size() < 8)
        return beginning::too_short;
    // Versions before 1.0 have other numbers here; RabbitMQ's 0-9-1 has a 0 in front of them.
    return octets[5] == std::byte{1} && octets[6] == std::byte{0} && octets[7] == std::byte{0}
               ? beginning::amqp_1
               : beginning::amqp_older;
}

}  // namespace

captured_connection::captured_connection(settings s, audit_report& report)
    : settings_{s}, report_{report}, tcp_{new tcp_reassembly{*this}}
{
}

void captured_connection::take(tcp_segment const& s, stamp at)
{
    if (over_)
        return;
    tcp_->take(s.from == settings_.client ? direction::from_client : direction::from_server, s, at);
    if (tcp_->was_reset())
        end("reset");
    else if (tcp_->closed())
        end("closed");
}

void captured_connection::finish(std::string how)
{
    if (over_)
        return;
    tcp_->flush();
    end(tcp_->closed() ? "closed" : std::move(how));
}

void captured_connection::on_data(direction d, bytes_view octets, stamp at)
{
    now_ = std::max(now_, at.time);  // what was late has an earlier time
    if (is_ == kind::amqp) {
        checker_->feed(d, octets, now_);
        report_.collect(*audited_, *checker_, at.packet);
    } else if (is_ == kind::undecided) {
        early_.push_back({.way = d, .octets = {octets.begin(), octets.end()}, .lost = 0, .at = at});
        early_octets_ += octets.size();
        decide(early_octets_ > early_max);
    }
}

void captured_connection::on_lost(direction d, std::uint64_t octets, stamp at)
{
    now_ = std::max(now_, at.time);
    if (is_ == kind::amqp) {
        checker_->lost(d, now_);
        report_.collect(*audited_, *checker_, at.packet);
    } else if (is_ == kind::undecided) {
        early_.push_back({.way = d, .octets = {}, .lost = octets, .at = at});
    }
}

/// By the first octets of whichever end has sent enough of them.
/// @param now nothing better will come: where they were lost, the port has to say it
void captured_connection::decide(bool now)
{
    bool lost_start = false;
    for (auto const d : {direction::from_client, direction::from_server}) {
        bytes first;
        bool gap = false;
        for (auto const& e : early_) {
            if (e.way != d)
                continue;
            gap |= e.lost != 0 && first.empty();
            first.insert(first.end(), e.octets.begin(), e.octets.end());
        }
        if (first.empty())
            continue;
        lost_start |= gap;
        if (gap && !settings_.is_amqp)
            continue;
        auto const begins = gap ? beginning::other : beginning_of(first);
        if (begins == beginning::too_short)
            continue;
        if (begins == beginning::tls || begins == beginning::amqp_older) {
            is_ = kind::other;
            report_.unchecked(report_.begin(settings_.client.text(), settings_.server.text()),
                              begins == beginning::tls
                                  ? "TLS: cannot be read"
                                  : "an AMQP version other than 1.0: not checked");
        } else {
            is_ = begins == beginning::amqp_1 || settings_.is_amqp ? kind::amqp : kind::other;
        }
        break;
    }
    if (is_ == kind::undecided && now)
        is_ = lost_start && settings_.amqp_port ? kind::amqp : kind::other;
    if (is_ == kind::undecided)
        return;
    if (is_ == kind::amqp)
        follow();
    early_ = {};
}

/// It is AMQP: what was kept until now is checked, and everything from now on.
void captured_connection::follow()
{
    auto const in_the_middle =
        !settings_.from_start && beginning_of(early_.front().octets) != beginning::amqp_1;
    checker_ = std::make_unique<audit::checker>(
        audit::options{.mid_stream = in_the_middle, .findings_max = 16'384});
    audited_ = report_.begin(settings_.client.text(), settings_.server.text());
    if (in_the_middle)
        report_.remark(fmt::format(
            "#{} begins before the capture: what was agreed before is not known, so that not "
            "everything could be checked",
            audited_->number()));
    for (auto const& e : std::exchange(early_, {})) {
        if (e.lost != 0)
            on_lost(e.way, e.lost, e.at);
        else
            on_data(e.way, e.octets, e.at);
    }
}

void captured_connection::end(std::string how)
{
    over_ = true;
    if (is_ == kind::undecided)
        decide(true);
    if (audited_) {
        checker_->finish(how == "closed" ? audit::ending::complete : audit::ending::cut);
        remark_losses(audited_->number());
        report_.end(std::move(audited_), *checker_, std::move(how));
    }
    checker_.reset();
    tcp_.reset();
    early_ = {};
}

void captured_connection::remark_losses(std::uint64_t number)
{
    for (auto const d : {direction::from_client, direction::from_server}) {
        auto const& c = tcp_->counters(d);
        if (c.lost != 0)
            report_.remark(fmt::format(
                "#{} {}: {} octets are missing from the capture; what was known before them was "
                "forgotten (tcpdump: a larger buffer, -B 65536, and whole packets, -s 0)",
                number, audit::name(d), c.lost));
        if (c.retransmitted + c.out_of_order != 0)
            report_.remark(fmt::format("#{} {}: {} TCP segments retransmitted, {} out of order; "
                                       "each octet was checked once, in its place",
                                       number, audit::name(d), c.retransmitted, c.out_of_order));
    }
}

}  // namespace sluice::tools
