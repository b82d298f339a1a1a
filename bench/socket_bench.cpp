// From one process to another over loopback TCP, by turns: Sluice's engine in a loop around
// poll(2), Sluice's client and listener with their threads, Proton-C's proactor, Proton C++ with
// its work queue (round trips and through a broker; where it is installed), and the bare octets.
//
//     socket_bench [--count N] [--rounds N] [--size B] [--links N] [--rate N] [--json FILE]
//     socket_bench --through amqp://[user:password@]host:port[/address] [...]
//
// Each run is two processes of this program, a receiver that listens and a sender that connects.
// With --through both connect to a broker or node, whose queue (`bench`, unless an address is
// given) must be empty and either there or made when asked for: then a client's processor time a
// message is what counts, settled only. --rate: messages a second of the last table, 20,000 by
// default. Rates and processor time are counted after the first tenth of the messages.
#include "support/socket_bare.hpp"
#include "support/socket_engine.hpp"
#include "support/socket_proton.hpp"
#include "support/socket_sluice.hpp"
#if defined(SLUICE_HAVE_PROTON_CPP)
#include "support/socket_proton_cpp.hpp"
#endif

#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <map>

namespace sluice::bench {
namespace {

/// What one side said at its end.
struct said {
    double rate = 0;                    // messages a second
    double cpu_ns = 0;                  // of this process, a message
    double p50 = 0, p99 = 0, p999 = 0;  // microseconds
};

std::map<std::string, char const*> const names = {{"engine", "engine, poll(2)"},
                                                  {"sluice", "client"},
                                                  {"proton", "Proton-C, proactor"},
                                                  {"proton_cpp", "Proton C++, work queue"}};

/// With Proton C++, where it is.
std::vector<std::string> and_proton_cpp(std::vector<std::string> who)
{
#if defined(SLUICE_HAVE_PROTON_CPP)
    who.emplace_back("proton_cpp");
#endif
    return who;
}

struct outcome_of_run {
    said sender, receiver;
};

/// A process of this program that plays one side.
class child {
public:
    child(std::string const& who, std::string const& role, socket_work const& w)
    {
        std::array<int, 2> in{};
        std::array<int, 2> out{};
        if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0)
            throw std::runtime_error{"no pipe"};
        pid_ = fork();
        if (pid_ == 0) {
            dup2(in[0], 0);
            dup2(out[1], 1);
            for (auto const fd : {in[0], in[1], out[0], out[1]}) ::close(fd);
            auto const count = std::to_string(w.count);
            auto const size = std::to_string(w.size);
            auto const links = std::to_string(w.links);
            auto const rate = std::to_string(w.rate);
            execl("/proc/self/exe", "socket_bench", "--peer", who.c_str(), "--role", role.c_str(),
                  "--port", w.port.c_str(), "--count", count.c_str(), "--size", size.c_str(),
                  "--links", links.c_str(), "--rate", rate.c_str(), "--through", w.through.c_str(),
                  w.serial ? "--serial" : "--no-serial",
                  w.presettled ? "--presettled" : "--unsettled", nullptr);
            _exit(127);
        }
        ::close(in[0]);
        ::close(out[1]);
        to_ = in[1];
        from_ = fdopen(out[0], "r");
    }
    child(child const&) = delete;
    child& operator=(child const&) = delete;
    ~child()
    {
        if (to_ >= 0)
            ::close(to_);
        std::fclose(from_);
        if (!gone_)
            kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }

    std::string line()
    {
        std::array<char, 256> text{};
        if (!std::fgets(text.data(), text.size(), from_))
            throw std::runtime_error{"a side of the benchmark ended early"};
        return text.data();
    }
    said result()
    {
        said s;
        if (std::sscanf(line().c_str(), "done %lf %lf %lf %lf %lf", &s.rate, &s.cpu_ns, &s.p50,
                        &s.p99, &s.p999)
            != 5)
            throw std::runtime_error{"a side of the benchmark said something else"};
        return s;
    }
    void let_go()
    {
        ::close(std::exchange(to_, -1));
        while (std::fgetc(from_) != EOF) {}
        gone_ = true;
    }

private:
    pid_t pid_ = 0;
    int to_ = -1;
    std::FILE* from_ = nullptr;
    bool gone_ = false;
};

outcome_of_run run(std::string const& who, socket_work w)
{
    child receiver{who, "receive", w};
    auto const port = receiver.line();
    if (port.rfind("port ", 0) != 0)
        throw std::runtime_error{"no port from the receiver"};
    w.port = port.substr(5, port.find('\n') - 5);
    child sender{who, "send", w};
    outcome_of_run out;
    out.sender = sender.result();
    out.receiver = receiver.result();
    receiver.let_go();
    sender.let_go();
    return out;
}

struct middle {
    double min = 0, median = 0, max = 0;
};

middle of(std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    return {v.front(), v[v.size() / 2], v.back()};
}

using rounds = std::map<std::string, std::vector<outcome_of_run>>;

middle over(rounds const& r, std::string const& who, double (*what)(outcome_of_run const&))
{
    std::vector<double> v;
    for (auto const& o : r.at(who)) v.push_back(what(o));
    return of(std::move(v));
}

middle ratio(rounds const& r, std::string const& who, double (*what)(outcome_of_run const&),
             std::string const& other)
{
    std::vector<double> v;
    for (std::size_t i = 0; i < r.at(who).size(); ++i)
        v.push_back(what(r.at(who)[i]) / what(r.at(other)[i]));
    return of(std::move(v));
}

double rate_of(outcome_of_run const& o) { return o.receiver.rate; }
double sender_cpu(outcome_of_run const& o) { return o.sender.cpu_ns; }
double receiver_cpu(outcome_of_run const& o) { return o.receiver.cpu_ns; }
double p50_of(outcome_of_run const& o) { return o.sender.p50; }
double p99_of(outcome_of_run const& o) { return o.sender.p99; }
double p999_of(outcome_of_run const& o) { return o.sender.p999; }

rounds measure(socket_work const& w, int count, std::vector<std::string> const& all)
{
    rounds r;
    for (int i = 0; i < count; ++i)
        for (auto const& who : all) r[who].push_back(run(who, w));
    return r;
}

void throughput(socket_work const& w, int count, std::FILE* json)
{
    auto const r = measure(w, count, {"engine", "sluice", "proton", "bare"});
    for (std::string const who : {"engine", "sluice", "proton"}) {
        auto const faster = ratio(r, who, rate_of, "proton");
        auto const floor = ratio(r, who, rate_of, "bare").median;
        auto const rate = over(r, who, rate_of).median;
        auto const sends = over(r, who, sender_cpu).median;
        auto const sends_ratio = ratio(r, who, sender_cpu, "proton").median;
        auto const receives = over(r, who, receiver_cpu).median;
        auto const receives_ratio = ratio(r, who, receiver_cpu, "proton").median;
        auto const* const mode = w.presettled ? "presettled" : "settled";
        std::printf("| %s, %zu B, %u link%s | %s | %.0f | %.2f / %.2f / %.2f | %.0f (%.2f) | %.0f "
                    "(%.2f) | %.2f |\n",
                    mode, w.size, w.links, w.links == 1 ? "" : "s", names.at(who), rate, faster.min,
                    faster.median, faster.max, sends, sends_ratio, receives, receives_ratio, floor);
        if (json)
            std::fprintf(json,
                         "{\"case\":\"%s\",\"size\":%zu,\"links\":%u,\"who\":\"%s\",\"rate\":%.0f,"
                         "\"ratio\":%.3f,\"sender_cpu_ratio\":%.3f,\"receiver_cpu_ratio\":%.3f,"
                         "\"of_bare\":%.3f}\n",
                         mode, w.size, w.links, names.at(who), rate, faster.median, sends_ratio,
                         receives_ratio, floor);
    }
    std::fflush(stdout);
}

void latency(socket_work w, int count, std::FILE* json)
{
    w.serial = w.rate == 0;
    w.presettled = false;
    auto const wanted = w.serial ? w.count / 20 : std::min(w.count, std::uint64_t{w.rate} * 5);
    w.count = std::max<std::uint64_t>(wanted, 1'000);
    auto const how = w.serial ? std::string{"one at a time"} : std::to_string(w.rate) + " a second";
    auto const all = and_proton_cpp({"engine", "sluice", "proton"});
    auto const r = measure(w, count, all);
    for (auto const& who : all) {
        auto const p50 = over(r, who, p50_of).median;
        auto const p99 = over(r, who, p99_of).median;
        auto const p999 = over(r, who, p999_of).median;
        std::printf("| %s, %s, settled, %zu B | %.1f | %.1f | %.1f |\n", names.at(who), how.c_str(),
                    w.size, p50, p99, p999);
        if (json)
            std::fprintf(json,
                         "{\"case\":\"%s\",\"size\":%zu,\"who\":\"%s\",\"p50_us\":%.1f,"
                         "\"p99_us\":%.1f,\"p999_us\":%.1f}\n",
                         how.c_str(), w.size, names.at(who), p50, p99, p999);
    }
    std::fflush(stdout);
}

/// Both sides are clients of something else, so each side's own processor time says it all.
void through(socket_work w, int count, bool size_given, char const* json_file)
{
    auto* const json = json_file ? std::fopen(json_file, "w") : nullptr;
    std::printf("Through a broker, medians of %d rounds by turns; processor nanoseconds a message "
                "(times Proton-C's).\n\n"
                "| case | who | messages/s | sender's processor | receiver's |\n"
                "|---|---|---|---|---|\n",
                count);
    w.presettled = false;
    auto const sizes =
        size_given ? std::vector<std::size_t>{w.size} : std::vector<std::size_t>{100, 1024};
    for (auto const size : sizes) {
        w.size = size;
        auto const all = and_proton_cpp({"sluice", "proton"});
        auto const r = measure(w, count, all);
        for (auto const& who : all) {
            auto const rate = over(r, who, rate_of).median;
            auto const sends = ratio(r, who, sender_cpu, "proton").median;
            auto const receives = ratio(r, who, receiver_cpu, "proton").median;
            std::printf("| settled, %zu B | %s | %.0f | %.0f (%.2f) | %.0f (%.2f) |\n", size,
                        names.at(who), rate, over(r, who, sender_cpu).median, sends,
                        over(r, who, receiver_cpu).median, receives);
            if (json)
                std::fprintf(json,
                             "{\"case\":\"through\",\"size\":%zu,\"who\":\"%s\",\"rate\":%.0f,"
                             "\"sender_cpu_ratio\":%.3f,\"receiver_cpu_ratio\":%.3f}\n",
                             size, names.at(who), rate, sends, receives);
        }
        std::fflush(stdout);
    }
    if (json)
        std::fclose(json);
}

void compare(socket_work w, int count, bool size_given, bool links_given, char const* json_file)
{
    auto* const json = json_file ? std::fopen(json_file, "w") : nullptr;
    auto const rate = std::exchange(w.rate, 0u);
    std::printf("Messages a second, medians of %d rounds by turns; processor nanoseconds a message "
                "(times Proton-C's).\n\n",
                count);
    std::printf(
        "| case | who | messages/s | times Proton-C: min / median / max | sender's processor "
        "| receiver's | of the bare octets' rate |\n|---|---|---|---|---|---|---|\n");
    auto const sizes =
        size_given ? std::vector<std::size_t>{w.size} : std::vector<std::size_t>{64, 100, 1024};
    for (auto const size : sizes)
        for (auto const presettled : {true, false}) {
            w.size = size;
            w.presettled = presettled;
            throughput(w, count, json);
        }
    if (!links_given && !size_given)
        for (auto const links : {2u, 4u, 8u}) {
            w.size = 64;
            w.presettled = false;
            w.links = links;
            throughput(w, count, json);
        }
    w.links = 1;
    w.size = sizes.front();
    std::printf(
        "\n| round trip of a send, microseconds | p50 | p99 | p99.9 |\n|---|---|---|---|\n");
    latency(w, count, json);
    w.rate = rate;
    latency(w, count, json);
    if (json)
        std::fclose(json);
}

int main_of(int argc, char** argv)
{
    socket_work w;
    w.count = 1'000'000;
    w.rate = 20'000;
    auto rounds_wanted = 5;
    auto size_given = false;
    auto links_given = false;
    std::string peer;
    std::string role;
    char const* json = nullptr;
    option const options[] = {
        {"count", 1, nullptr, 'c'},      {"rounds", 1, nullptr, 'r'},  {"size", 1, nullptr, 's'},
        {"links", 1, nullptr, 'l'},      {"json", 1, nullptr, 'j'},    {"peer", 1, nullptr, 'P'},
        {"role", 1, nullptr, 'R'},       {"port", 1, nullptr, 'p'},    {"serial", 0, nullptr, 'S'},
        {"rate", 1, nullptr, 'a'},       {"through", 1, nullptr, 't'}, {"no-serial", 0, nullptr, 0},
        {"presettled", 0, nullptr, 'y'}, {"unsettled", 0, nullptr, 0}, {nullptr, 0, nullptr, 0}};
    for (int c = 0; (c = getopt_long(argc, argv, "", options, nullptr)) != -1;) switch (c) {
        case 'c': w.count = std::stoull(optarg); break;
        case 'r': rounds_wanted = std::stoi(optarg); break;
        case 's':
            w.size = std::stoull(optarg);
            size_given = true;
            break;
        case 'l':
            w.links = static_cast<unsigned>(std::stoul(optarg));
            links_given = true;
            break;
        case 'j': json = optarg; break;
        case 'a': w.rate = static_cast<unsigned>(std::stoul(optarg)); break;
        case 't': w.through = optarg; break;
        case 'P': peer = optarg; break;
        case 'R': role = optarg; break;
        case 'p': w.port = optarg; break;
        case 'S': w.serial = true; break;
        case 'y': w.presettled = true; break;
        case 0: break;
        default: return 2;
        }
    if (w.count < 1'000 || w.links == 0 || rounds_wanted < 1 || w.size > 60'000) {
        std::fprintf(stderr, "socket_bench: at least 1,000 messages, one link and one round; "
                             "at most 60,000 octets\n");
        return 2;
    }
    using side = std::function<void(socket_work const&)>;
    std::map<std::string, side> const sides = {
        {"engine receive", engine_receive},
        {"engine send", engine_send},
        {"sluice receive", sluice_receive},
        {"sluice send", sluice_send},
        {"proton receive", proton_receive},
        {"proton send", proton_send},
        {"bare receive", bare_receive},
        {"bare send", bare_send},
#if defined(SLUICE_HAVE_PROTON_CPP)
        {"proton_cpp receive", proton_cpp_receive},
        {"proton_cpp send", proton_cpp_send},
#endif
    };
    if (peer.empty() && w.rate == 0)
        throw std::runtime_error{"--rate needs at least one message a second"};
    if (peer.empty() && !w.through.empty()) {
        w.rate = 0;
        through(w, rounds_wanted, size_given, json);
    } else if (peer.empty())
        compare(w, rounds_wanted, size_given, links_given, json);
    else
        sides.at(peer + " " + role)(w);
    return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv)
{
    try {
        return sluice::bench::main_of(argc, argv);
    } catch (std::exception const& e) {
        std::fprintf(stderr, "socket_bench: %s\n", e.what());
        return 1;
    }
}
