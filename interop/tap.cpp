// The audited relay as a program: what the reproducer measures with, put under any client.
//
// Prints `port=N`, relays until its standard input ends, then prints the totals in one line and
// each finding in one.
#include "audited_relay.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv)
{
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;
    CLI::App app{"Relays AMQP connections to a broker and holds them against the standard."};
    app.add_option("--host", host, "of the broker");
    app.add_option("--port", port, "of the broker")->required();
    CLI11_PARSE(app, argc, argv);
    try {
        interop::audited_relay relay{host, port};
        fmt::print("port={}\n", relay.port());
        std::fflush(stdout);
        while (std::getchar() != EOF) {}
        auto const& a = relay.stop();
        fmt::print("connections={} transfers={} flows={} unchecked={} stale_flows={} "
                   "client_violations={} findings={}\n",
                   a.connections, a.transfers, a.flows, a.unchecked, a.stale_flows,
                   a.client_violations, a.findings);
        for (auto const& text : a.texts) fmt::print("{}\n", text);
    } catch (std::exception const& e) {
        fmt::print(stderr, "tap: {}\n", e.what());
        return EXIT_FAILURE;
    }
}
