// Findings as lines, tables for a bug report, and the verdict.
#include "tools/audit_report.hpp"

#include "tools/progress.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::tools {
namespace {

constexpr std::size_t remarks_max = 50;

std::size_t index(audit::direction d) noexcept { return static_cast<std::size_t>(d); }

std::string described(audit::identity const& who)
{
    if (who.container_id.empty())
        return "(no open seen)";
    auto text = fmt::format("'{}'", who.container_id);
    if (!who.product.empty())
        text += fmt::format(", product '{}'", who.product);
    if (!who.version.empty())
        text += fmt::format(", version '{}'", who.version);
    return text;
}

void append_json(std::string& to, std::string_view key, std::string_view value)
{
    to += fmt::format("\"{}\":\"", key);
    for (char const c : value)
        if (c == '"' || c == '\\')
            (to += '\\') += c;
        else
            to += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    to += "\",";
}

}  // namespace

std::unique_ptr<audited_connection> audit_report::begin(std::string client, std::string server)
{
    auto c = std::make_unique<audited_connection>();
    c->number_ = ++connections_;
    c->client_ = std::move(client);
    c->server_ = std::move(server);
    return c;
}

void audit_report::collect(audited_connection& c, audit::checker& from, std::uint64_t packet)
{
    audit::finding f;
    while (from.poll_finding(f)) {
        ++(f.severity == audit::severity::violation ? violations_ : suspicious_);
        auto& tallied = by_rule_[index(f.direction)][static_cast<std::size_t>(f.rule)];
        if (tallied.count++ == 0) {
            tallied.connection = c.number();
            tallied.frame = f.frame;
        }
        print(c, f, packet);
    }
}

void audit_report::print(audited_connection& c, audit::finding const& f, std::uint64_t packet)
{
    auto& shown = c.shown_[index(f.direction)][static_cast<std::size_t>(f.rule)];
    if (options_.shown_max != 0 && shown >= options_.shown_max) {
        ++hidden_;
        return;
    }
    ++shown;
    if (options_.json) {
        auto line = fmt::format("{{\"connection\":{},", c.number());
        append_json(line, "client", c.client_);
        append_json(line, "server", c.server_);
        if (packet != 0)
            line += fmt::format("\"packet\":{},", packet);
        line += f.json().substr(1);
        return out_.result(std::move(line));
    }
    auto line = fmt::format("#{} {}", c.number(), f.text());
    if (packet != 0)
        line += fmt::format(" (packet {})", packet);
    out_.result(std::move(line));
    if (shown == options_.shown_max)
        out_.note(fmt::format("#{} further findings of {} in this direction are only counted "
                              "(--findings 0 prints all)",
                              c.number(), f.rule_name()));
}

void audit_report::end(std::unique_ptr<audited_connection> c, audit::checker& from, std::string how)
{
    using audit::direction;
    collect(*c, from);
    auto const& totals = from.totals();
    for (auto const& d : totals.directions) {
        frames_ += d.frames;
        unchecked_frames_ += d.unchecked;
    }
    dropped_ += totals.findings_dropped;
    ++checked_;
    keep({.number = c->number(),
          .client = std::move(c->client_),
          .server = std::move(c->server_),
          .totals = totals,
          .who = {from.who(direction::from_client), from.who(direction::from_server)},
          .how = std::move(how)});
}

/// Only as many as the table will show: those with findings stay.
void audit_report::keep(row r)
{
    auto const has_findings = [](row const& x) {
        return x.totals.violations + x.totals.suspicious != 0;
    };
    if (rows_.size() < options_.rows_max) {
        rows_.push_back(std::move(r));
        return;
    }
    if (!has_findings(r))
        return;
    auto const clean = std::find_if_not(rows_.begin(), rows_.end(), has_findings);
    if (clean == rows_.end())
        return;
    rows_.erase(clean);
    rows_.push_back(std::move(r));
}

void audit_report::unchecked(std::unique_ptr<audited_connection> c, std::string why)
{
    remark(fmt::format("#{} {} -> {}: {}", c->number(), c->client_, c->server_, why));
}

void audit_report::remark(std::string text)
{
    if (remarks_.size() < remarks_max)
        remarks_.push_back(std::move(text));
    else
        ++remarks_dropped_;
}

void audit_report::failure(std::string text)
{
    failed_ = true;
    remark(std::move(text));
}

void audit_report::table(std::string line)
{
    if (options_.json)
        out_.note(std::move(line));
    else
        out_.result(std::move(line));
}

void audit_report::print_connections()
{
    if (rows_.empty())
        return;
    std::sort(rows_.begin(), rows_.end(),
              [](row const& a, row const& b) { return a.number < b.number; });
    std::size_t client = 6;
    std::size_t server = 6;
    for (auto const& r : rows_) {
        client = std::max(client, r.client.size());
        server = std::max(server, r.server.size());
    }
    table("");
    table(fmt::format("{:<6} {:<{}}  {:<{}} {:>11} {:>11} {:>11} {:>11} {:>10} {:>10} {:>9}  {}",
                      "", "client", client, "server", server, "frames ->", "<-", "transfers ->",
                      "<-", "violations", "suspicious", "unchecked", "end"));
    for (auto const& r : rows_) {
        auto const& [to, back] = r.totals.directions;
        table(
            fmt::format("{:<6} {:<{}}  {:<{}} {:>11} {:>11} {:>12} {:>10} {:>10} {:>10} {:>9}  {}",
                        fmt::format("#{}", r.number), r.client, client, r.server, server, to.frames,
                        back.frames, to.transfers, back.transfers, r.totals.violations,
                        r.totals.suspicious, to.unchecked + back.unchecked, r.how));
        if (r.totals.violations + r.totals.suspicious != 0)
            table(fmt::format("       client {}; server {}", described(r.who[0]),
                              described(r.who[1])));
    }
    if (checked_ > rows_.size())
        table(fmt::format("       and {} more", counted(checked_ - rows_.size(), "connection")));
}

void audit_report::print_rules()
{
    if (findings() == 0)
        return;
    table("");
    table(fmt::format("{:<28} {:<8} {:<10} {:<14} {:>8}  {}", "rule", "section", "severity",
                      "direction", "count", "first seen"));
    for (auto const& rule : audit::rules())
        for (auto const d : {audit::direction::from_client, audit::direction::from_server}) {
            auto const& t = by_rule_[index(d)][static_cast<std::size_t>(rule.rule)];
            if (t.count != 0)
                table(fmt::format("{:<28} {:<8} {:<10} {:<14} {:>8}  #{} frame {}", rule.name,
                                  rule.section, audit::name(rule.severity), audit::name(d), t.count,
                                  t.connection, t.frame));
        }
}

std::string audit_report::verdict() const
{
    auto text = fmt::format("{}: {}, {} suspicious; {}, {}",
                            status() == audit_status::clean      ? "clean"
                            : status() == audit_status::findings ? "FINDINGS"
                                                                 : "NOT CHECKED",
                            counted(violations_, "violation"), grouped(suspicious_),
                            counted(checked_, "connection"), counted(frames_, "frame"));
    if (unchecked_frames_ != 0)
        text +=
            fmt::format("; {} could not be checked in full", counted(unchecked_frames_, "frame"));
    if (hidden_ != 0)
        text += fmt::format("; {} not printed", counted(hidden_, "finding"));
    if (dropped_ != 0)
        text += fmt::format("; {} more not kept", counted(dropped_, "finding"));
    return text;
}

void audit_report::summary(std::string const& title)
{
    table("");
    table(title);
    print_connections();
    print_rules();
    if (!remarks_.empty())
        table("");
    for (auto const& r : remarks_) table(r);
    if (remarks_dropped_ != 0)
        table(fmt::format("and {} more", counted(remarks_dropped_, "remark")));
    table("");
    table(verdict());
}

audit_status audit_report::status() const noexcept
{
    if (findings() != 0 || dropped_ != 0)
        return audit_status::findings;
    if (failed_ || frames_ == 0)
        return audit_status::could_not_run;
    return audit_status::clean;
}

}  // namespace sluice::tools
