// `sluice audit`: a proxy under any client and broker, or a recording of what they said.
#include "command.hpp"
#include "tools/address.hpp"
#include "tools/audit_capture.hpp"
#include "tools/audit_proxy.hpp"
#include "tools/audit_report.hpp"
#include "tools/terminal.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <csignal>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace sluice::tools {
namespace {

struct settings {
    std::vector<std::string> files;
    std::string listen;
    std::string forward;
    net::tls_server_options listen_tls;
    bool forward_tls = false;
    net::tls_client_options tls;
    bool tls_insecure = false;
    double seconds = 0;
    bool until_violation = false;
    bool rules = false;
    std::vector<std::uint16_t> ports;
    audit_report_options report;
    std::optional<std::uint64_t> shown;
};

address address_of(std::string_view option, std::string const& text,
                   std::optional<std::uint16_t> port_default)
{
    std::string fault;
    auto parsed = parse_address(text, port_default, fault);
    if (!parsed)
        throw std::invalid_argument{fmt::format("{} {}", option, fault)};
    return *parsed;
}

std::string utc_now()
{
    auto const t = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(t));
}

audit_proxy_options proxy_options(settings const& s, address const& listen, address const& forward)
{
    audit_proxy_options o{.listen_host = listen.host,
                          .listen_port = listen.port,
                          .forward_host = forward.host,
                          .forward_port = forward.port,
                          .until_violation = s.until_violation};
    std::string fault;
    if (!s.listen_tls.cert_file.empty()) {
        auto made = net::make_tls_server(s.listen_tls, &fault);
        if (!made)
            throw std::invalid_argument{"--listen-tls: " + fault};
        o.listen_tls = std::move(*made);
    }
    if (s.forward_tls) {
        o.forward_tls = s.tls;
        o.forward_tls->verify = !s.tls_insecure;
        if (!net::make_tls_client(*o.forward_tls, &fault))
            throw std::invalid_argument{"--forward-tls: " + fault};
    }
    return o;
}

int run_proxy(settings const& s)
{
    auto const listen = address_of("--listen", s.listen, std::nullopt);
    auto const forward = address_of("--forward", s.forward, s.forward_tls ? 5671 : 5672);
    auto const options = proxy_options(s, listen, forward);
    terminal out{stdout, stderr, terminal::when_full::drop};
    audit_report report{out, s.report};
    auto const began = std::chrono::steady_clock::now();
    auto const began_text = utc_now();

    boost::asio::io_context io{1};
    std::unique_ptr<audit_proxy> proxy;
    try {
        proxy = std::make_unique<audit_proxy>(io, options, report, out);
    } catch (boost::system::system_error const& e) {
        throw std::runtime_error{
            fmt::format("cannot listen on {}: {}", s.listen, e.code().message())};
    }
    auto const route =
        fmt::format("{}:{} -> {}:{}", listen.host, proxy->port(), forward.host, forward.port);
    out.note(fmt::format("auditing {} (Ctrl-C ends it)", route));

    boost::asio::signal_set signals{io, SIGINT, SIGTERM};
    boost::asio::steady_timer limit{io};
    signals.async_wait([&](boost::system::error_code ec, int) {
        if (ec)
            return;
        limit.cancel();
        proxy->stop();
    });
    if (s.seconds > 0) {
        limit.expires_after(std::chrono::milliseconds{static_cast<std::int64_t>(s.seconds * 1000)});
        limit.async_wait([&](boost::system::error_code ec) {
            if (!ec)
                proxy->stop();
        });
    }
    while (!proxy->stopped()) io.run_one();
    signals.clear();  // Ctrl-C once more ends the program
    io.poll();

    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - began;
    report.summary(fmt::format("sluice {} audit {}, from {}, {:.1f} s", SLUICE_VERSION, route,
                               began_text, took.count()));
    return static_cast<int>(report.status());
}

int run_captures(settings const& s)
{
    terminal out{stdout, stderr, terminal::when_full::wait};
    auto worst = audit_status::clean;
    for (auto const& file : s.files) {
        audit_report report{out, s.report};
        auto const about = audit_capture(file, {.ports = s.ports}, report);
        report.summary(fmt::format("sluice {} audit {}, {}", SLUICE_VERSION, file, about));
        worst = std::max(worst, report.status());
    }
    return static_cast<int>(worst);
}

int print_rules()
{
    for (auto const& r : audit::rules())
        fmt::print("{:<28} {:<8} {:<10} {}\n", r.name, r.section, audit::name(r.severity), r.says);
    return 0;
}

int run_audit(settings const& s)
{
    if (s.rules)
        return print_rules();
    bool const proxy = !s.listen.empty() || !s.forward.empty();
    if (proxy && !s.files.empty())
        throw std::invalid_argument{
            "audit: files, or --listen and --forward, but not both in one run"};
    if (!proxy && s.files.empty())
        throw std::invalid_argument{
            "audit: nothing to do; give --listen HOST:PORT and --forward HOST:PORT to audit live "
            "connections, or the names of capture files"};
    if (!proxy)
        return run_captures(s);
    if (s.listen.empty() || s.forward.empty())
        throw std::invalid_argument{"audit: --listen and --forward belong together"};
    return run_proxy(s);
}

void add_tls(CLI::App& app, settings& s)
{
    auto const group = "TLS of the proxy";
    auto* const listen =
        app.add_option("--listen-tls", s.listen_tls.cert_file,
                       "PEM: clients speak TLS to this certificate, and it ends here")
            ->group(group);
    app.add_option("--listen-tls-key", s.listen_tls.key_file,
                   "PEM: its key; default: in --listen-tls")
        ->needs(listen)
        ->group(group);
    auto* const forward =
        app.add_flag("--forward-tls", s.forward_tls, "speak TLS towards the broker")->group(group);
    auto const add = [&](char const* name, std::string& into, char const* what) {
        app.add_option(name, into, what)->needs(forward)->group(group);
    };
    add("--tls-ca", s.tls.ca_file, "PEM: whom to trust as the broker; default: the system's CAs");
    add("--tls-cert", s.tls.cert_file, "PEM: the certificate to show it; default: none");
    add("--tls-key", s.tls.key_file, "PEM: its key; default: in --tls-cert");
    add("--tls-server-name", s.tls.server_name, "whose certificate to want, if not the host's");
    app.add_flag("--tls-insecure", s.tls_insecure, "do not check the broker's certificate")
        ->needs(forward)
        ->group(group);
}

}  // namespace

void add_audit(CLI::App& program, action& chosen)
{
    auto s = std::make_shared<settings>();
    auto& app = *program.add_subcommand(
        "audit",
        "Hold AMQP 1.0 connections of any client and broker against the standard.\n"
        "As a proxy between them (--listen, --forward), or in captures (pcap, pcapng).\n"
        "Exit status: 0 clean; 1 findings; 2 could not run, or there was nothing to check.");
    app.add_option("FILE", s->files,
                   "capture files of tcpdump, tshark and the like; - is standard input");
    app.add_option("--listen", s->listen, "HOST:PORT for clients to connect to; port 0: any")
        ->group("Proxy");
    app.add_option("--forward", s->forward, "HOST:PORT of the broker")->group("Proxy");
    add_tls(app, *s);
    app.add_option("--seconds", s->seconds, "end after so long; else Ctrl-C ends it")
        ->check(above_zero())
        ->group("Proxy");
    app.add_flag("--until-violation", s->until_violation, "end at the first violation")
        ->group("Proxy");
    app.add_option(
           "--port", s->ports,
           "take connections to this port for AMQP, whatever they begin with, and no others")
        ->allow_extra_args(false)
        ->group("Captures");
    app.add_flag("--json", s->report.json,
                 "findings as JSON, one object a line; all else goes to standard error");
    app.add_option("--findings", s->shown,
                   "print so many of one rule and direction of a connection (20; 0, and with "
                   "--json: all)");
    app.add_flag("--rules", s->rules, "list the rules and end");
    app.callback([s, &chosen] {
        chosen = [s] {
            s->report.shown_max = s->shown.value_or(s->report.json ? 0 : 20);
            return run_audit(*s);
        };
    });
}

}  // namespace sluice::tools
