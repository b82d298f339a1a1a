// The `sluice` command.
#include "command.hpp"

#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <exception>

namespace sluice::tools {
namespace {

constexpr add_command* commands[] = {
    add_node, add_send, add_recv, add_channel, add_bench, add_audit, add_passwd,
};

constexpr int could_not_run = 2;

int run(int argc, char** argv)
{
    CLI::App program{"Sluice: tools for AMQP 1.0", "sluice"};
    program.set_version_flag("--version", SLUICE_VERSION);
    program.require_subcommand(1);
    program.failure_message([](CLI::App const* app, CLI::Error const& e) {
        auto const& used = app->get_subcommands();
        auto const name =
            used.empty() ? std::string{"sluice"} : "sluice " + used.front()->get_name();
        std::string what = e.what();
        constexpr std::string_view conversion = "Could not convert: ";
        if (what.starts_with(conversion))
            what = what.substr(conversion.size()) + " is no number in the range of this option";
        return fmt::format("{}: {}; '{} --help' lists what it understands\n", name, what, name);
    });
    action chosen;
    for (auto* const add : commands) add(program, chosen);
    try {
        program.parse(argc, argv);
    } catch (CLI::ParseError const& e) {
        auto const status = program.exit(e);
        return status == 0 ? 0 : could_not_run;
    }
    try {
        return chosen();
    } catch (boost::system::system_error const& e) {
        // The sentence without its code, which says nothing to a person that it does not.
        std::string_view text = e.what();
        if (auto const code = ": " + e.code().what(); text.ends_with(code))
            text.remove_suffix(code.size());
        fmt::print(stderr, "sluice: {}\n", text);
        return could_not_run;
    } catch (std::exception const& e) {
        fmt::print(stderr, "sluice: {}\n", e.what());
        return could_not_run;
    }
}

}  // namespace
}  // namespace sluice::tools

int main(int argc, char** argv) { return sluice::tools::run(argc, argv); }
