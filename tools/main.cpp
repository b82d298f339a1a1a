// The `sluice` command.
#include "command.hpp"
#include "tools/nearest_word.hpp"
#include "tools/option_text.hpp"
#include "tools/plain_text.hpp"
#include "tools/standard_streams.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>

namespace sluice::tools {
namespace {

constexpr add_command* commands[] = {
    add_node, add_send, add_recv, add_channel, add_bench, add_audit, add_passwd,
};

constexpr int output_lost = 1;
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

/// Every number is held against the same rules, before its option looks at it.
void check_numbers(CLI::App& app)
{
    for (auto* const o : app.get_options()) {
        auto const type = o->get_type_name();
        auto const whole = type.starts_with("UINT") || type.starts_with("INT");
        if (whole || type.starts_with("FLOAT"))
            o->transform(CLI::Validator{
                [whole](std::string& text) { return number_fault(text, whole); }, ""});
    }
    for (auto* const sub : app.get_subcommands({})) check_numbers(*sub);
}

int act(action const& chosen)
{
    try {
        return chosen();
    } catch (std::exception const& e) {
        if (std::ferror(stdout) == 0)  // which is told at the end
            fmt::print(stderr, "sluice: {}\n", plain_text(e));
        return could_not_run;
    }
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
    check_numbers(program);
    auto status = 0;
    try {
        program.parse(argc, argv);
        status = act(chosen);
    } catch (CLI::ParseError const& e) {
        status = program.exit(e) == 0 ? 0 : could_not_run;
    }
    auto const fault = output_fault();
    if (fault.empty())
        return status;
    fmt::print(stderr, "sluice: {}\n", fault);
    if (program.got_subcommand("audit"))  // where 1 is a finding
        return could_not_run;
    return status == 0 ? output_lost : status;
}

}  // namespace
}  // namespace sluice::tools

int main(int argc, char** argv)
{
    sluice::tools::open_missing_streams();
    // Who reads a pipe may go away: the write says so, and a proxy goes on.
    std::signal(SIGPIPE, SIG_IGN);
    return sluice::tools::run(argc, argv);
}
