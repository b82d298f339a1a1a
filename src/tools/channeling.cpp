// `sluice channel`: values as lines.
#include "tools/channeling.hpp"

#include "tools/interrupt.hpp"
#include "tools/line_reader.hpp"

#include <sluice/channel/channel.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace sluice::tools {
namespace {

/// Values as they are; what they are is the other side's business.
template <char const* Name>
struct as_text : channels::codec<std::string> {
    static constexpr std::string_view name = Name;
};
constexpr char text_name[] = "text";
constexpr char json_name[] = "json";
constexpr char bytes_name[] = "bytes";
constexpr char any_name[] = "";

/// A channel of any codec, opened.
template <class F>
int with_channel(channel_settings const& s, F f)
{
    auto const container = s.peer.container();
    auto const connection = container->connect(s.peer.url, s.peer.connection());
    auto const run = [&]<char const * Name>() {
        auto const c =
            sluice::channel<std::string, as_text<Name>>::open(connection, s.name, s.options);
        auto const status = f(c);
        c.stop();
        return status;
    };
    auto const status = !s.options.create       ? run.template operator()<any_name>()
                        : s.codec == json_name  ? run.template operator()<json_name>()
                        : s.codec == bytes_name ? run.template operator()<bytes_name>()
                                                : run.template operator()<text_name>();
    connection.close();
    return status;
}

template <class Channel>
bool send_one(Channel const& c, channel_settings const& s, std::string const& value)
{
    if (s.now) {
        if (c.try_send(value))
            return true;
        fmt::print(stderr, "channel '{}' is full: not sent: {}\n", s.name, value);
        return false;
    }
    using namespace std::chrono_literals;
    auto sent =
        c.async_send(value, s.timeout.value_or(channels::no_timeout), boost::asio::use_future);
    if (sent.wait_for(300ms) != std::future_status::ready) {
        fmt::print(stderr, "channel '{}' is full: waiting to send: {}\n", s.name, value);
        sent.wait();
    }
    sent.get();
    return true;
}

}  // namespace

int run_channel_send(channel_settings const& s)
{
    return with_channel(s, [&](auto const& c) {
        if (s.body)
            return send_one(c, s, *s.body) ? 0 : 1;
        interrupt const stop;
        line_reader lines{STDIN_FILENO, stop};
        std::string line;
        auto status = 0;
        for (;;) {
            auto const what = lines.next(line);
            if (what == line_reader::result::end || what == line_reader::result::interrupted)
                return status;
            if (what == line_reader::result::line && !send_one(c, s, line))
                status = 1;
        }
    });
}

int run_channel_recv(channel_settings const& s)
{
    return with_channel(s, [&](auto const& c) {
        for (std::uint64_t i = 0; !s.count || i < *s.count; ++i) {
            std::optional<std::string> value;
            if (s.now)
                value = c.try_recv().value;
            else
                value = c.recv(s.timeout.value_or(channels::no_timeout));
            if (!value)
                return s.now && i == 0 ? 1 : 0;
            fmt::print("{}\n", *value);
            std::fflush(stdout);
        }
        return 0;
    });
}

int run_channel_close(channel_settings const& s)
{
    return with_channel(s, [](auto const& c) {
        c.close();
        return 0;
    });
}

int run_channel_destroy(channel_settings const& s)
{
    return with_channel(s, [](auto const& c) {
        c.destroy();
        return 0;
    });
}

int run_channel_stat(channel_settings const& s)
{
    return with_channel(s, [&](auto const& c) {
        auto const is = c.state();
        fmt::print("size              {}\n"
                   "capacity          {}\n"
                   "buffered          {}\n"
                   "unacknowledged    {}\n"
                   "waiting senders   {}\n"
                   "waiting receivers {}\n"
                   "handles           {}\n"
                   "closed            {}\n",
                   is.size, c.capacity(), is.buffered, is.unacknowledged, is.waiting_senders,
                   is.waiting_receivers, is.handles - 1, is.closed ? "yes" : "no");
        return 0;
    });
}

}  // namespace sluice::tools
