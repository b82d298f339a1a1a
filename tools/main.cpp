// The `sluice` command.
#include "command.hpp"
#include "tools/nearest_word.hpp"

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

/// "sluice channel", down to the subcommand that was read last.
CLI::App const& innermost(CLI::App const& program, std::string& name)
{
    auto const* at = &program;
    name = "sluice";
    while (!at->get_subcommands().empty()) {
        at = at->get_subcommands().front();
        name += " " + at->get_name();
    }
    return *at;
}

/// What the parser found wrong, in words that name it.
std::string fault(CLI::App const& program, CLI::App const& at, CLI::Error const& e)
{
    std::string what = e.what();
    constexpr std::string_view conversion = "Could not convert: ";
    if (what.starts_with(conversion))
        return what.substr(conversion.size()) + " is no number in the range of this option";
    std::vector<std::string> names;
    for (auto const* const sub : at.get_subcommands({})) names.push_back(sub->get_name());
    if (names.empty() || dynamic_cast<CLI::RequiredError const*>(&e) == nullptr)
        return what;
    auto const typed = program.remaining(true);
    if (typed.empty())
        return fmt::format("a subcommand is missing: {}", fmt::join(names, ", "));
    if (typed.front().starts_with('-'))
        return fmt::format("unknown option '{}' where a subcommand is expected: {}", typed.front(),
                           fmt::join(names, ", "));
    auto const meant = nearest_word(typed.front(), names);
    return fmt::format("unknown subcommand '{}'; {}", typed.front(),
                       meant.empty() ? fmt::format("there are: {}", fmt::join(names, ", "))
                                     : fmt::format("did you mean '{}'?", meant));
}

/// What an exception of the library says, without the number of its code, which tells a person
/// nothing.
std::string text_of(boost::system::system_error const& e)
{
    std::string text = e.what();
    std::error_code const code = e.code();
    for (auto const& number : {e.code().what().substr(e.code().message().size()),
                               fmt::format(" [{}:{}]", code.category().name(), code.value())})
        if (text.ends_with(number))
            text.resize(text.size() - number.size());
    return text;
}

int run(int argc, char** argv)
{
    CLI::App program{"Sluice: tools for AMQP 1.0", "sluice"};
    program.set_version_flag("--version", SLUICE_VERSION);
    program.require_subcommand(1);
    program.failure_message([](CLI::App const* app, CLI::Error const& e) {
        std::string name;
        auto const& at = innermost(*app, name);
        auto const what = fault(*app, at, e);
        return fmt::format("{}: {}{} '{} --help' lists what it understands\n", name, what,
                           what.ends_with('?') ? "" : ";", name);
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
        fmt::print(stderr, "sluice: {}\n", text_of(e));
        return could_not_run;
    } catch (std::exception const& e) {
        fmt::print(stderr, "sluice: {}\n", e.what());
        return could_not_run;
    }
}

}  // namespace
}  // namespace sluice::tools

int main(int argc, char** argv) { return sluice::tools::run(argc, argv); }
