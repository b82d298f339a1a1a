// The container: URLs become connections.
#include "client/connection_core.hpp"
#include "client/user_values.hpp"

#include <sluice/client/container.hpp>

#include <algorithm>
#include <charconv>

namespace sluice::client {
namespace {

template <class T>
bool read_number(std::string_view text, T& out)
{
    auto const* const end = text.data() + text.size();
    auto const [stop, code] = std::from_chars(text.data(), end, out);
    return code == std::errc{} && stop == end;
}

/// @returns what is wrong with the options of the URL, or nothing
std::string apply(net::url const& where, connection_options& o)
{
    for (auto const& [name, value] : where.options) {
        auto good = true;
        if (name == "sasl") {
            auto const mechanism = std::ranges::find(net::sasl_known(), value);
            auto const known = mechanism != net::sasl_known().end();
            good = known || value == "none" || value == "anonymous" || value == "plain";
            o.sasl = value == "none"    ? sasl_choice::none
                     : value == "plain" ? sasl_choice::plain
                     : known            ? sasl_choice::automatic
                                        : sasl_choice::anonymous;
            if (known)
                o.sasl_mechanisms = {value};
        } else if (name == "hostname") {
            o.hostname = value;
        } else if (name == "max_frame_size") {
            good = read_number(value, o.max_frame_size) && o.max_frame_size >= 512;
        } else if (name == "channel_max") {
            good = read_number(value, o.channel_max);
        } else if (name == "idle_timeout_ms") {
            std::uint32_t ms = 0;
            good = read_number(value, ms);
            o.idle_timeout = milliseconds{ms};
        } else {
            return "the URL's option '" + name
                   + "' is unknown; there are sasl, hostname, max_frame_size, channel_max and "
                     "idle_timeout_ms";
        }
        if (!good)
            return "the URL's option " + name + " has a value out of its range: " + value;
    }
    return {};
}

/// @returns which mechanism there is not, or nothing
std::string unknown_mechanism(connection_options const& o)
{
    std::string known;
    for (auto const name : net::sasl_known())
        known += (known.empty() ? "" : ", ") + std::string{name};
    for (auto const& name : o.sasl_mechanisms)
        if (std::ranges::find(net::sasl_known(), name) == net::sasl_known().end())
            return "connection_options::sasl_mechanisms: '" + name + "' is unknown; there are "
                   + known;
    return {};
}

std::string scheme_of(net::url const& u)
{
    return u.websocket ? (u.tls ? "wss://" : "ws://") : (u.tls ? "amqps://" : "amqp://");
}

/// @returns what is wrong with values that go out, or cannot work, or nothing
std::string unfit(connection_options const& o)
{
    auto fault = unknown_mechanism(o);
    return fault.empty() ? detail::fault_in(o) : fault;
}

/// The other places of reconnect_options.
std::error_code add_places(std::vector<std::string> const& urls, std::vector<net::url>& out,
                           std::string& fault)
{
    auto const first = out.front();
    for (auto const& text : urls) {
        auto parsed = net::parse_url(text, &fault);
        if (!parsed)
            return parsed.error();
        if (parsed->user || parsed->password || !parsed->options.empty()) {
            fault = "reconnect_options::urls: " + parsed->to_string()
                    + " has credentials or options; only scheme, host and port are read there, the "
                      "rest is the connection's";
            return make_error_code(error::invalid_url);
        }
        if (!parsed->has_scheme)  // as the first
            parsed = net::parse_url(scheme_of(first) + text, &fault);
        if (first.tls && !parsed->tls) {
            fault = "reconnect_options::urls: " + parsed->to_string()
                    + " is not encrypted, and the connection's first URL is; write "
                    + scheme_of(first);
            return make_error_code(error::invalid_url);
        }
        if (fault = detail::fault_in_host(parsed->host); !fault.empty())
            return make_error_code(error::invalid_url);
        out.push_back(std::move(*parsed));
    }
    return {};
}

}  // namespace

container::container(container_options options)
{
    detail::require_none(detail::fault_in(options));
    core_ = std::make_shared<detail::container_core>(std::move(options));
}

container::container(std::string id) : container{container_options{.id = std::move(id)}} {}

container::~container() { core_->stop(); }

std::string const& container::id() const noexcept { return core_->id(); }

executor container::get_executor() const { return core_->completions().get_executor(); }

void container::start_connect(std::shared_ptr<detail::container_core> const& core, std::string url,
                              connection_options options, detail::reply_ptr<connection> r)
{
    std::string fault;
    auto parsed = net::parse_url(url, &fault);
    auto where = parsed ? std::move(*parsed) : net::url{};
    auto code = parsed.error();
    if (!code) {
        fault = detail::fault_in_host(where.host);
        if (fault.empty())
            fault = apply(where, options);
        if (!fault.empty())
            code = make_error_code(error::invalid_url);
        else if (fault = unfit(options); !fault.empty())
            code = make_error_code(error::invalid_argument);
    }
    if (options.timeout == milliseconds{0})
        options.timeout = default_timeout;
    if (!options.user && where.user)
        options.user = std::move(where.user);
    if (!options.password && where.password)
        options.password = std::move(where.password);
    where.user.reset();
    where.password.reset();
    std::vector<net::url> places{std::move(where)};
    if (options.reconnect && !code)
        code = add_places(options.reconnect->urls, places, fault);
    auto const made =
        std::make_shared<detail::connection_core>(core, std::move(places), std::move(options));
    if (code)
        return made->fail_start(code, std::move(fault), std::move(r));
    if (!core->add(made))
        return made->fail_start(make_error_code(error::operation_aborted), "the container is going",
                                std::move(r));
    made->start(std::move(r));
}

}  // namespace sluice::client
