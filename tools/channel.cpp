// `sluice channel`: send, recv, close, destroy, stat.
#include "command.hpp"
#include "tools/channeling.hpp"

#include <memory>

namespace sluice::tools {
namespace {

struct settings : channel_settings {
    std::optional<std::uint32_t> capacity;
    std::optional<double> seconds;
    bool at_most_once = false;
};

using run_command = int (*)(channel_settings const&);

CLI::App& add_one(CLI::App& channel, action& chosen, std::shared_ptr<settings> const& s,
                  char const* name, char const* what, run_command run)
{
    auto& one = *channel.add_subcommand(name, what);
    one.add_option("NAME", s->name, "the channel's")->required();
    s->peer.add_to(one);
    one.get_option("URL")->required();
    one.add_option("--codec", s->codec, "what its values are called; they go as they are")
        ->check(CLI::IsMember({"text", "json", "bytes"}))
        ->capture_default_str();
    one.add_option("--capacity", s->capacity,
                   "make it, with so many slots (0: rendezvous), if it is not there");
    one.add_flag("--at-most-once", s->at_most_once, "with --capacity: no acknowledgements");
    one.callback([&chosen, s, run] {
        chosen = [s, run] {
            s->options.create = s->capacity.has_value();
            s->options.capacity = s->capacity.value_or(0);
            if (s->at_most_once)
                s->options.delivery = channels::guarantee::at_most_once;
            if (s->seconds)
                s->timeout = channels::milliseconds{static_cast<std::int64_t>(*s->seconds * 1000)};
            return run(*s);
        };
    });
    return one;
}

void add_waiting(CLI::App& one, settings& s)
{
    one.add_flag("--now", s.now, "do not wait: exit status 1 if it cannot be done at once");
    one.add_option("--timeout", s.seconds, "seconds to wait for each value; default: for ever");
}

}  // namespace

void add_channel(CLI::App& program, action& chosen)
{
    auto& channel = *program.add_subcommand(
        "channel", "send to and receive from a channel of a node (docs/channels.md)");
    channel.require_subcommand(1);
    auto const s = std::make_shared<settings>();
    auto& send = add_one(channel, chosen, s, "send", "send the lines of standard input, or --body",
                         run_channel_send);
    send.add_option("--body", s->body, "send this one value");
    add_waiting(send, *s);
    auto& recv =
        add_one(channel, chosen, s, "recv",
                "print one value a line until the channel is closed and drained", run_channel_recv);
    recv.add_option("-n,--count", s->count, "stop after so many");
    add_waiting(recv, *s);
    add_one(channel, chosen, s, "close", "close it for everyone", run_channel_close);
    add_one(channel, chosen, s, "destroy", "remove it with what is in it", run_channel_destroy);
    add_one(channel, chosen, s, "stat", "what is in it, and who waits", run_channel_stat);
}

}  // namespace sluice::tools
