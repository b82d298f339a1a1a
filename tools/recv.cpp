// `sluice recv`: messages to standard output or files.
#include "command.hpp"
#include "tools/option_text.hpp"
#include "tools/receiving.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <stdexcept>

namespace sluice::tools {
namespace {

struct settings : recv_settings {
    std::string output;
    std::string answer_name = "accept";
};

void choose_output(settings& s)
{
    using format = message_output::format;
    static std::map<std::string_view, format> const formats{{"text", format::text},
                                                            {"json", format::json},
                                                            {"raw", format::raw},
                                                            {"none", format::none}};
    if (s.output.empty())
        s.output = s.json ? "json" : "text";
    auto const found = formats.find(s.output);
    s.format = found == formats.end() ? format::file : found->second;
    if (s.json && (s.format == format::text || s.format == format::raw))
        throw std::invalid_argument{fmt::format(
            "recv: --json and --output {} would mix on standard output; write to a file (--output "
            "FILE), or leave one of them out",
            s.output)};
    if (s.format != format::file)
        return;
    s.file = s.output;
    auto const numbered = s.file.find("{}") != s.file.npos;
    if (!numbered && s.count.value_or(1) != 1)
        throw std::invalid_argument{fmt::format(
            "recv: {} messages for one file: put {{}} into its name, which becomes the message's "
            "number, as in {}.{{}}",
            *s.count, s.file)};
    if (!numbered)
        s.count = 1;
}

}  // namespace

void add_recv(CLI::App& program, action& chosen)
{
    auto s = std::make_shared<settings>();
    auto& app = *program.add_subcommand(
        "recv",
        "Receive messages: their bodies as text, all of them as JSON lines, or octets as they "
        "are.\n"
        "A message is answered once it has been written. Ctrl-C ends it and says what was "
        "answered; what was not is still in the queue.\n"
        "Exit status: 0 as asked for; 1 fewer messages than --count, a body that could not be "
        "written, or the connection was lost; 2 could not run.");
    s->peer.add_to(app);
    app.get_option("URL")->required();
    app.add_option("-c,--count", s->count, "end after so many messages")->check(above_zero());
    app.add_option("-t,--timeout", s->timeout, "end after so many seconds without a message")
        ->check(above_zero());
    app.add_flag("--drain", s->drain, "end when the queue is empty");
    app.add_option(
        "--selector", s->selector,
        "only messages for which this holds, such as \"colour = 'red'\"; a peer that does "
        "not apply it is an error");
    app.add_flag("--browse", s->browse, "look at the messages and leave them in the queue");
    app.add_option("--credit", s->credit, "messages on their way at most")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--ack", s->answer_name,
                   "modify: a failed attempt; none: keep them until the end, then let them go back")
        ->check(CLI::IsMember({"accept", "release", "reject", "modify", "none"}))
        ->capture_default_str();
    app.add_option(
        "-o,--output", s->output,
        "text, json (one object a line), raw (octets without line ends), none, or the name "
        "of a file for one streamed body; {} in it becomes the message's number");
    app.add_flag(
        "--json", s->json,
        "messages as JSON lines, unless --output says otherwise, and the summary as one more "
        "behind them; -o json is the messages alone");
    app.callback([s, &chosen] {
        chosen = [s] {
            static std::map<std::string_view, answer> const answers{{"accept", answer::accept},
                                                                    {"release", answer::release},
                                                                    {"reject", answer::reject},
                                                                    {"modify", answer::modify},
                                                                    {"none", answer::none}};
            s->ack = answers.at(s->answer_name);
            choose_output(*s);
            check_string("--selector", s->selector);
            return run_recv(*s);
        };
    });
}

}  // namespace sluice::tools
