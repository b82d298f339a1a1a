// `sluice node`: an in-memory message node to talk to.
#include "command.hpp"
#include "tools/address.hpp"
#include "tools/hangup.hpp"
#include "tools/http_metrics.hpp"
#include "tools/interrupt.hpp"
#include "tools/json_text.hpp"
#include "tools/listen_address.hpp"
#include "tools/node_metrics.hpp"
#include "tools/option_text.hpp"
#include "tools/progress.hpp"
#include "tools/terminal.hpp"
#include "tools/user_file.hpp"

#include <sluice/node/node.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <stdexcept>

namespace sluice::tools {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

struct settings {
    std::vector<std::string> listen{"127.0.0.1:5672"};
    std::vector<std::string> queues;
    std::string metrics;
    net::tls_server_options tls;
    bool tls_client_optional = false;
    std::string users;
    bool allow_plain_unencrypted = false;
    std::string policy = "strict";
    std::string message_size_max;
    std::string stored_max;
    std::string full = "reject";
    double idle_timeout = 60;
    double handshake_timeout = 10;
    double stop_timeout = 5;
    bool stats = false;
    bool trace = false;
    bool json = false;
    bool no_auto_create = false;
    node::node_options node;
};

node::milliseconds from_seconds(double s)
{
    return node::milliseconds{static_cast<std::int64_t>(s * 1000)};
}

node::node_options options_of(settings const& s)
{
    auto o = s.node;
    o.auto_create = !s.no_auto_create;
    o.policy = s.policy == "strict" ? engine::flow_policy::strict : engine::flow_policy::tolerant;
    o.queue.full = s.full == "reject" ? node::when_full::reject : node::when_full::withhold;
    if (!s.message_size_max.empty())
        o.message_size_max = parse_size(s.message_size_max);
    if (!s.stored_max.empty())
        o.stored_max = parse_size(s.stored_max);
    o.idle_timeout = from_seconds(s.idle_timeout);
    o.handshake_timeout = from_seconds(s.handshake_timeout);
    o.stop_timeout = from_seconds(s.stop_timeout);
    if (!s.tls.cert_file.empty()) {
        o.tls = s.tls;
        o.tls->client_required = !s.tls_client_optional;
    }
    o.users_file = s.users;
    o.allow_plain_unencrypted = s.allow_plain_unencrypted;
    return o;
}

std::string shown(std::string const& host, std::uint16_t port)
{
    return host.find(':') == host.npos ? fmt::format("{}:{}", host, port)
                                       : fmt::format("[{}]:{}", host, port);
}

class node_run {
public:
    explicit node_run(settings const& s) : s_{s}, node_{telling_options()} {}

    int execute()
    {
        for (auto const& text : s_.queues) {
            auto const [name, options] = parse_queue(text, options_of(s_).queue);
            auto const code = node_.declare(name, options);
            if (code == error::invalid_argument && !options.dead_letter.empty())
                throw std::invalid_argument{fmt::format(
                    "--queue {}: what is rejected would come back to '{}' by way of '{}'; give "
                    "dead letters a queue where they may stay",
                    text, name, options.dead_letter)};
            if (code)
                throw std::invalid_argument{fmt::format("--queue {}: {}", text, code.message())};
        }
        for (auto const& text : s_.listen) listen(text);
        if (!s_.metrics.empty())
            serve_metrics();
        if (!s_.users.empty() && is_open_to_others(s_.users))
            out_.note(fmt::format("--users: others can read {}; chmod 600 keeps its keys from them",
                                  s_.users));
        wait();
        out_.live("");
        if (!s_.json)
            out_.note(
                "stopping: no more connections are taken in (Ctrl-C again ends this at once)");
        node_.stop();
        metrics_.reset();
        say_goodbye();
        return 0;
    }

private:
    void listen(std::string const& text)
    {
        std::string fault;
        auto const tls = !s_.tls.cert_file.empty();
        auto const at = parse_listen_address(text, tls, fault);
        if (!at)
            throw std::invalid_argument{"--listen " + fault};
        if (at->under.tls && !tls)
            throw std::invalid_argument{"--listen " + text
                                        + " needs a certificate; give --tls-cert and --tls-key"};
        auto const port = node_.listen(at->where.host, at->where.port, at->under, &fault);
        if (!port)
            throw std::runtime_error{fmt::format("--listen {}: {}", text, fault)};
        auto const sentence = at->scheme == "amqp://" ? std::string{"listening on {}"}
                                                      : "listening on " + at->scheme + "{}";
        announce("listening", at->where.host, *port, sentence);
    }

    node::node_options telling_options()
    {
        auto o = options_of(s_);
        o.on_handshake_failed = [this](std::string const& text) { out_.note(text); };
        return o;
    }

    void serve_metrics()
    {
        std::string fault;
        auto const where = parse_address(s_.metrics, std::nullopt, fault);
        if (!where)
            throw std::invalid_argument{"--metrics " + fault};
        try {
            metrics_ = std::make_unique<http_metrics>(where->host, where->port, [this] {
                return prometheus_text(node_.stats(), SLUICE_VERSION);
            });
        } catch (boost::system::system_error const& e) {
            throw std::runtime_error{fmt::format(
                "--metrics: cannot listen on {}: {}; is another program there? Port 0 takes any",
                s_.metrics, e.code().message())};
        }
        announce("metrics", where->host, metrics_->port(), "metrics at http://{}/metrics");
    }

    void reload()
    {
        std::string fault;
        if (!s_.tls.cert_file.empty())
            out_.note(node_.reload_tls(&fault) ? "SIGHUP: the certificate stays as it was: " + fault
                                               : "read the certificate again");
        if (s_.users.empty())
            return;
        if (node_.reload_users(&fault))
            return out_.note("SIGHUP: the users stay as they were: " + fault);
        if (s_.json)
            return out_.result(json_object{}.add("event", "users").text());
        out_.note("read the users again");
    }

    void announce(char const* event, std::string const& host, std::uint16_t port,
                  std::string_view sentence)
    {
        if (s_.json)
            out_.result(json_object{}
                            .add("event", event)
                            .add("host", host)
                            .add("port", std::uint64_t{port})
                            .text());
        else
            out_.result(fmt::format(fmt::runtime(sentence), shown(host, port)));
    }

    void wait()
    {
        auto before = node_.stats();
        auto since = clock::now();
        for (;;) {
            pollfd signal{stop_.descriptor(), POLLIN, 0};
            ::poll(&signal, 1, s_.stats ? 1000 : -1);
            if (stop_.requested())
                return;
            if (!s_.stats)
                continue;
            auto const now = clock::now();
            auto const stats = node_.stats();
            std::chrono::duration<double> const passed = now - since;
            show(stats, before, passed.count());
            before = stats;
            since = now;
        }
    }

    /// On a terminal one line that changes, else a line each time.
    void show(node::node_stats const& stats, node::node_stats const& before, double seconds)
    {
        if (s_.json)
            return out_.result(
                json_object{}.add("event", "stats").add_json("stats", stats_json(stats)).text());
        auto line = stats_line(stats, before, seconds);
        ::isatty(STDERR_FILENO) == 1 ? out_.live(std::move(line)) : out_.note(std::move(line));
    }

    void say_goodbye()
    {
        auto const s = node_.stats();
        if (s_.json)
            return out_.result(
                json_object{}.add("event", "stopped").add_json("stats", stats_json(s)).text());
        out_.note(fmt::format("stopped; {}, {} in, {} delivered, {} accepted, "
                              "{} dropped with the node",
                              counted(s.connections_accepted, "connection"),
                              counted(s.received, "message"), grouped(s.delivered),
                              grouped(s.accepted), grouped(s.messages)));
    }

    settings const& s_;
    interrupt stop_;
    terminal out_{stdout, stderr, terminal::when_full::drop};
    node::node node_;
    std::unique_ptr<http_metrics> metrics_;  // asks the node: goes first
    hangup reload_{[this] { reload(); }};
};

int run_node(settings const& s)
{
    if (s.trace)
        // NOLINTNEXTLINE(concurrency-mt-unsafe): the program has no other thread that looks yet
        ::setenv("SLUICE_TRACE", "frames", 1);
    return node_run{s}.execute();
}

void add_tls(CLI::App& app, settings& s)
{
    auto const group = "TLS and WebSocket";
    auto* const certificate =
        app.add_option("--tls-cert", s.tls.cert_file,
                       "PEM: the node's certificate, then those up to its CA; addresses without a "
                       "scheme are amqps:// then; SIGHUP reads the files again")
            ->group(group);
    app.add_option("--tls-key", s.tls.key_file, "PEM: its key; default: in --tls-cert")
        ->needs(certificate)
        ->group(group);
    app.add_option("--tls-key-password", s.tls.key_password)
        ->envname("SLUICE_TLS_KEY_PASSWORD")
        ->group(group);
    auto* const ca = app.add_option("--tls-client-ca", s.tls.client_ca_file,
                                    "PEM: CAs of clients' certificates; who has none is refused")
                         ->needs(certificate)
                         ->group(group);
    app.add_flag("--tls-client-optional", s.tls_client_optional,
                 "with --tls-client-ca: who has none is let in all the same")
        ->needs(ca)
        ->group(group);
    app.add_option("--websocket-origin", s.node.websocket_origins,
                   "https://example.org: its web pages may connect to ws:// and wss://; as often "
                   "as wanted; *: all")
        ->allow_extra_args(false)
        ->group(group);
}

void add_limits(CLI::App& app, settings& s)
{
    auto const group = "Limits";
    auto& n = s.node;
    auto const seconds = CLI::Range(0.001, 1e6);
    auto const add = [&](char const* name, auto& into, char const* what) {
        return app.add_option(name, into, what)->group(group)->capture_default_str();
    };
    add("--connections-max", n.connections_max, "beyond: the next waits")->check(above_zero());
    add("--queues-max", n.queues_max, "beyond: a link to one more is refused");
    add("--length-max", n.queue.length_max, "messages of a queue that has no limit of its own")
        ->check(above_zero());
    add("--full", s.full, "what a full queue does: reject, or withhold credit")
        ->check(CLI::IsMember({"reject", "withhold"}));
    add("--credit", n.credit, "given to each sender")->check(CLI::Range(1, 1'000'000));
    add("--incoming-window", n.incoming_window, "transfer frames of a session")
        ->check(CLI::Range(1, 1'000'000));
    add("--unsettled-max", n.unsettled_max, "deliveries at one consumer")->check(above_zero());
    add("--max-frame-size", n.max_frame_size, "octets")->check(CLI::Range(512u, 1u << 24));
    add("--message-size-max", s.message_size_max, "octets, such as 10MiB (128MiB)");
    add("--stored-max", s.stored_max, "octets of all queues (4GiB)");
    add("--idle-timeout", s.idle_timeout, "seconds of silence, then a connection is closed")
        ->check(CLI::Range(0.0, 1e6));
    add("--handshake-timeout", s.handshake_timeout, "seconds to the peer's open")->check(seconds);
    add("--stop-timeout", s.stop_timeout, "seconds for what is under way at the end")
        ->check(CLI::Range(0.0, 1e6));
}

}  // namespace

void add_node(CLI::App& program, action& chosen)
{
    auto s = std::make_shared<settings>();
    auto& app = *program.add_subcommand(
        "node",
        "Run a message node: queues in memory that any AMQP 1.0 client can use.\n"
        "Ctrl-C or SIGTERM stops it: what is under way is finished, then connections are closed. "
        "Nothing is stored on disk.\n"
        "Exit status: 0 stopped as asked to; 2 could not run.");
    app.add_option("-l,--listen", s->listen,
                   "HOST:PORT, or the same behind amqp://, amqps://, ws:// or wss://; as often as "
                   "wanted; port 0: any")
        ->allow_extra_args(false)
        ->capture_default_str();
    app.add_option("-q,--queue", s->queues,
                   "NAME or NAME:length_max=..,bytes_max=..,full=withhold,dead_letter=..; as "
                   "often as wanted")
        ->allow_extra_args(false);
    app.add_flag("--no-auto-create", s->no_auto_create,
                 "refuse links to queues that were not declared");
    app.add_option("--flow-policy", s->policy,
                   "a client's wrong flow ends its session (strict), or is only noted (tolerant)")
        ->check(CLI::IsMember({"strict", "tolerant"}))
        ->capture_default_str();
    app.add_option("--users", s->users,
                   "a file of `sluice passwd`: who may log in and do what; SIGHUP reads it again");
    app.add_flag("--allow-plain-unencrypted", s->allow_plain_unencrypted,
                 "take passwords of --users from other machines over unencrypted connections");
    app.add_option("--container-id", s->node.container_id)->capture_default_str();
    app.add_option("--metrics", s->metrics,
                   "HOST:PORT for Prometheus: http://HOST:PORT/metrics; port 0: any");
    app.add_flag("--stats", s->stats, "a line a second");
    app.add_flag("--json", s->json, "events as JSON, one object a line");
    app.add_flag("--trace", s->trace, "print every frame to standard error");
    add_tls(app, *s);
    add_limits(app, *s);
    app.callback([s, &chosen] { chosen = [s] { return run_node(*s); }; });
}

}  // namespace sluice::tools
