// `sluice send`: messages from the command line, standard input or a file.
#include "command.hpp"
#include "tools/option_text.hpp"
#include "tools/sending.hpp"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <tuple>

namespace sluice::tools {
namespace {

struct settings : send_settings {
    std::string dash;
    std::optional<std::string> body;
    std::string size_text;
    std::string file;
    std::string subject;
    std::string to;
    std::string reply_to;
    std::string correlation_id;
    std::string content_type;
    std::string group;
    std::vector<std::string> properties;
    std::optional<std::uint32_t> ttl;
    std::optional<std::uint8_t> priority;
    bool durable = false;
};

void choose_body(settings& s)
{
    auto const choices = (s.dash.empty() ? 0 : 1) + (s.body ? 1 : 0) + (s.size_text.empty() ? 0 : 1)
                         + (s.file.empty() ? 0 : 1);
    if (choices > 1)
        throw std::invalid_argument{
            "send: one body only: --body, --size, --file or - (the lines of standard input)"};
    if (!s.dash.empty() && s.dash != "-")
        throw std::invalid_argument{fmt::format("send: what is '{}'? After the URL comes - for the "
                                                "lines of standard input, or nothing; "
                                                "a text is given with --body, a file with --file",
                                                s.dash)};
    // Standard input is never read unasked, and never left lying unnoticed: one that is not a
    // terminal may be what was to be sent, or what a script was started with.
    if (choices == 0 && !s.count)
        throw std::invalid_argument{"send: nothing to send; give --body TEXT, --size OCTETS or "
                                    "--file FILE, or a - at the end "
                                    "for the lines of standard input (--file - sends all of it as "
                                    "one message; --body '' is "
                                    "an empty one)"};
    s.text = s.file.empty() ? s.body.value_or("") : s.file;
    s.origin = !s.dash.empty()        ? body_origin::lines
               : !s.size_text.empty() ? body_origin::size
               : !s.file.empty()      ? body_origin::file
                                      : body_origin::text;
    if (s.size_text.empty())
        return;
    constexpr auto size_max = std::uint64_t{1} << 30;
    s.size = parse_size(s.size_text);
    if (s.size > size_max)
        throw std::invalid_argument{"send: --size is 1GiB at most; stream more from a file"};
}

void fill_sections(settings const& s, outgoing_sections& to)
{
    auto const set = [](auto& field, std::string const& text) {
        if (!text.empty())
            field = std::decay_t<decltype(*field)>{text};
    };
    set(to.properties.subject, s.subject);
    set(to.properties.to, s.to);
    set(to.properties.reply_to, s.reply_to);
    set(to.properties.content_type, s.content_type);
    set(to.properties.group_id, s.group);
    for (auto const& [option, text] :
         std::initializer_list<std::pair<char const*, std::string const&>>{
             {"--subject", s.subject},
             {"--to", s.to},
             {"--reply-to", s.reply_to},
             {"--group-id", s.group},
             {"--correlation-id", s.correlation_id},
             {"--message-id", to.message_id}})
        check_string(option, text);
    check_symbol("--content-type", s.content_type);
    if (!s.correlation_id.empty())
        to.properties.correlation_id = s.correlation_id;
    if (s.durable)
        to.head.durable = true;
    to.head.ttl = s.ttl;
    to.head.priority = s.priority;
    for (auto const& p : s.properties) to.application_properties.push_back(parse_property(p));
}

}  // namespace

void add_send(CLI::App& program, action& chosen)
{
    auto s = std::make_shared<settings>();
    auto& app = *program.add_subcommand(
        "send",
        "Send messages: a text, octets, the lines of standard input (-), or a file as one streamed "
        "body.\n"
        "Ctrl-C ends it after the outcomes of what is under way, and says what was settled.\n"
        "Exit status: 0 every message was accepted (or sent settled); 1 some were rejected, "
        "released or modified, their outcome is unknown, or fewer than asked for were sent; 2 "
        "could not run.");
    s->peer.add_to(app);
    app.get_option("URL")->required();
    app.add_option("LINES", s->dash, "-: send each line of standard input as a message");
    app.add_option("-c,--count", s->count,
                   "so many messages (1; with -: all lines); empty ones if nothing is given to "
                   "send");
    app.add_option("--rate", s->rate, "messages a second (as fast as they go)")
        ->check(above_zero());
    app.add_option("--window", s->window, "messages without an outcome at most")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000'000));
    app.add_flag("--settled", s->settled, "send settled: no outcome comes back");
    app.add_flag("--json", s->json, "the summary as JSON, on standard output");
    auto const message = "Message";
    app.add_option("-b,--body,-m,--message", s->body, "a text")->group(message);
    app.add_option("-s,--size", s->size_text, "a body of so many octets: 100, 64k, 20MiB")
        ->group(message);
    app.add_option("-f,--file", s->file, "a file's content, streamed; - is standard input")
        ->group(message);
    app.add_option("--subject", s->subject)->group(message);
    app.add_option("-P,--property", s->properties,
                   "application property NAME=VALUE; true, 5 and 2.5 are what they look like, "
                   "\"5\" in double quotes is a string")
        ->allow_extra_args(false)
        ->group(message);
    app.add_flag("--durable", s->durable)->group(message);
    app.add_option("--ttl", s->ttl, "milliseconds to live")->group(message);
    app.add_option("--priority", s->priority, "0 to 255; the standard's default is 4")
        ->group(message);
    app.add_option("--message-id", s->sections.message_id, "{} becomes the message's number")
        ->group(message);
    app.add_option("--correlation-id", s->correlation_id)->group(message);
    app.add_option("--to", s->to)->group(message);
    app.add_option("--reply-to", s->reply_to)->group(message);
    app.add_option("--content-type", s->content_type)->group(message);
    app.add_option("--group-id", s->group)->group(message);
    app.callback([s, &chosen] {
        chosen = [s] {
            std::ignore = s->peer.target();  // what is wrong with the URL is told first
            fill_sections(*s, s->sections);
            choose_body(*s);
            return run_send(*s);
        };
    });
}

}  // namespace sluice::tools
