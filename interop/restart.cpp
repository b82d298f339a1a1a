// The broker's process is killed (SIGKILL) in the middle of traffic and started again on its port:
// everything comes back by itself in time, and what docs/recovery.md guarantees is counted.
#include "load_run.hpp"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdlib>
#include <random>
#include <stdexcept>

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

struct settings {
    std::string script;
    std::string folder;
    std::string credentials;
    int times = 3;
    std::uint32_t max_delay_ms = 2'000;
};

std::string output_of(std::string const& command)
{
    auto* const pipe = ::popen(command.c_str(), "r");  // NOLINT(cert-env33-c): a test's own script
    if (!pipe)
        throw std::runtime_error("cannot run " + command);
    std::string out;
    for (char some[256]; std::fgets(some, sizeof some, pipe);) out += some;
    if (::pclose(pipe) != 0)
        throw std::runtime_error("failed: " + command);
    return out;
}

/// A broker as the scripts of interop/brokers start it, on one port all the time.
class broker {
public:
    explicit broker(settings const& s) : settings_{s} {}
    ~broker()
    {
        try {
            std::ignore = output_of(command("stop"));
        } catch (std::exception const& e) {
            fmt::print(stderr, "{}\n", e.what());
        }
    }
    broker(broker const&) = delete;
    broker& operator=(broker const&) = delete;
    void start()
    {
        auto const line = output_of(command("start") + " --port " + std::to_string(port_));
        port_ = static_cast<std::uint16_t>(number(line, " port="));
        pid_ = static_cast<pid_t>(number(line, " pid="));
    }
    void kill() const
    {
        ::kill(pid_, SIGKILL);
        while (::kill(pid_, 0) == 0) {  // gone, or nobody's but its parent's
            std::ifstream in{fmt::format("/proc/{}/stat", pid_)};
            std::string text;
            std::getline(in, text);
            if (text.empty() || text.find(") Z ") != text.npos)
                return;
            std::this_thread::sleep_for(10ms);
        }
    }
    std::uint16_t port() const noexcept { return port_; }

private:
    std::string command(char const* what) const
    {
        return fmt::format("'{}' {} --dir '{}/broker'", settings_.script, what, settings_.folder);
    }
    static long number(std::string const& line, std::string const& name)
    {
        auto const at = (" " + line).rfind(name);
        if (at == std::string::npos)
            throw std::runtime_error("no" + name + " in: " + line);
        return std::strtol(line.c_str() + at + name.size() - 1, nullptr, 10);
    }
    settings const settings_;
    std::uint16_t port_ = 0;
    pid_t pid_ = 0;
};

/// Ctrl-C: the broker is in a session of its own and has to be stopped.
std::sig_atomic_t volatile interrupted = 0;

template <class F>
bool within(std::chrono::milliseconds most, F f)
{
    auto const until = clock_type::now() + most;
    while (clock_type::now() < until) {
        if (interrupted)
            throw std::runtime_error("interrupted");
        if (f())
            return true;
        std::this_thread::sleep_for(10ms);
    }
    return f();
}

void require(bool holds, std::string const& text)
{
    if (!holds)
        throw std::runtime_error(text);
}

void kill_and_start(broker& b, interop::load_run& load, settings const& s)
{
    using state = sluice::client::connection_state;
    auto const changes = {load.sending().state_changes(), load.receiving().state_changes()};
    b.kill();
    for (auto const& c : changes) {
        auto const change = c.next(10s);
        require(change && change->state == state::recovering, "the loss was not noticed");
    }
    load.new_epoch();
    auto const before = load.counts();
    std::this_thread::sleep_for(500ms);  // attempts that find nobody
    b.start();
    auto const up = clock_type::now();
    auto const back = within(std::chrono::milliseconds{s.max_delay_ms} + 5s, [&] {
        auto const now = load.counts();
        return now.accepted > before.accepted + 100 && now.received > before.received + 100;
    });
    require(back, "it is not back within max_delay and 5 s: " + interop::text_of(load.counts())
                      + " " + load.fault());
    fmt::print(
        "back after {} ms\n",
        std::chrono::duration_cast<std::chrono::milliseconds>(clock_type::now() - up).count());
    std::fflush(stdout);
}

void run(settings const& s)
{
    broker b{s};
    b.start();
    auto const url = fmt::format("amqp://{}127.0.0.1:{}", s.credentials, b.port());
    interop::load_run load{{.sender_url = url,
                            .receiver_url = url,
                            .address = "test.restart",
                            .max_delay = std::chrono::milliseconds{s.max_delay_ms},
                            .run = fmt::format("{:x}", std::random_device{}())}};
    load.start();
    for (int i = 0; i < s.times; ++i) {
        require(
            within(30s,
                   [&, n = load.counts().received] { return load.counts().received > n + 1'000; }),
            "no traffic: " + interop::text_of(load.counts()) + " " + load.fault());
        kill_and_start(b, load, s);
    }
    load.stop_sending();
    auto const done = load.wait_until_done(60s);
    auto const c = load.counts();
    fmt::print("{}\nwent with the process that had accepted them: {}\n", interop::text_of(c),
               c.lost_before);
    require(done && c.lost == 0, "what the last process accepted was not received");
    require(c.failed == 0, "sends failed");
    require(c.out_of_order == 0, "messages came out of order");
    require(load.fault().empty(), load.fault());
    require(load.sending().reconnects() == static_cast<std::uint64_t>(s.times)
                || s.credentials.size() > 0,
            fmt::format("{} reconnects", load.sending().reconnects()));
    load.close();
}

}  // namespace

int main(int argc, char** argv)
{
    settings s;
    CLI::App app{"Kills a broker in the middle of traffic and starts it again"};
    app.add_option("script", s.script, "of interop/brokers")->required();
    app.add_option("--credentials", s.credentials, "such as guest:guest@");
    app.add_option("--times", s.times, "how often")->capture_default_str();
    app.add_option("--max-delay", s.max_delay_ms, "ms between two attempts")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    char folder[] = "/tmp/sluice-restart.XXXXXX";
    if (!::mkdtemp(folder))
        return 1;
    s.folder = folder;
    for (auto const signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = 1; });
    auto status = 0;
    try {
        run(s);
    } catch (std::exception const& e) {
        fmt::print(stderr, "restart: {}\n", e.what());
        status = 1;
    }
    std::ignore = std::system(("rm -rf '" + s.folder + "'").c_str());  // NOLINT
    return status;
}
