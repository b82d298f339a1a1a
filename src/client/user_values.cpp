// Checks of options, states and errors that come from users.
#include "client/user_values.hpp"

#include <sluice/codec/codec.hpp>
#include <sluice/codec/scalars.hpp>
#include <sluice/codec/value.hpp>

#include <algorithm>

namespace sluice::client::detail {
namespace {

constexpr std::uint32_t frame_size_least = 512;  // [2.7.1]

enum class content : std::uint8_t { any, map, fields, described };

/// What is wrong with octets that have to be one value; empty: nothing. Null is no value.
std::string fault_in_octets(bytes_view octets, content wanted)
{
    value v;
    auto rest = octets;
    if (auto const failed = decode(rest, v))
        return "is not an encoded value: " + failed.message();
    if (!rest.empty())
        return "has " + std::to_string(rest.size()) + " octets after its value; encode one value";
    if (wanted == content::described)
        return v.get_if<described_value>() ? "" : "is not a described value";
    if (wanted == content::any || v.is_null())
        return {};
    auto const* const map = v.get_if<value_map>();
    if (!map)
        return "is not an encoded map";
    if (wanted == content::fields)
        for (auto const& [key, held] : *map)
            if (!key.get_if<symbol_string>())
                return "has a key that is no symbol: " + to_string(key);
    return {};
}

/// Keeps the first fault of many fields.
class finder {
public:
    explicit finder(char const* of) : of_{of} {}

    bool good() const noexcept { return fault_.empty(); }
    std::string take() noexcept { return std::move(fault_); }
    void say(char const* field, std::string const& what)
    {
        if (good() && !what.empty())
            fault_ = std::string{of_} + field + (*field ? " " : "") + what;
    }
    void text(char const* field, std::string_view is)
    {
        if (good() && !sluice::detail::is_utf8(is))
            say(field, "is not UTF-8");
    }
    void name(char const* field, std::string_view is)
    {
        auto const ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
        if (good() && !std::ranges::all_of(is, ascii))
            say(field, "has other than ASCII, which a symbol cannot have");
    }
    void names(char const* field, std::vector<std::string> const& are)
    {
        for (auto const& n : are) name(field, n);
    }
    void octets(char const* field, bytes const& are, content wanted)
    {
        if (good() && !are.empty())
            say(field, fault_in_octets(are, wanted));
    }
    template <class Duration>
    void time(char const* field, Duration is)
    {
        if (good() && is < Duration{0})
            say(field, "is negative");
    }
    template <class T>
    void least(char const* field, T is, T least)
    {
        if (good() && is < least)
            say(field, "is " + std::to_string(is) + "; " + std::to_string(least) + " at least");
    }

private:
    char const* of_;
    std::string fault_;
};

/// @param decoded it, if nothing is wrong
std::string fault_in_one_state(bytes_view state, delivery_state& decoded)
{
    auto what = fault_in_octets(state, content::described);
    if (what.empty())
        if (auto const failed = decode(raw_value{state}, decoded))
            what = "is not a delivery state: " + failed.message();
    return what;
}

/// Of one in a transaction. [4.5.8]
std::string fault_in_outcome(delivery_state const& state)
{
    auto const* const in = std::get_if<transactional_state>(&state);
    if (!in || is_null(in->outcome))
        return {};
    delivery_state outcome;
    auto what = fault_in_one_state(in->outcome.encoded, outcome);
    if (what.empty() && std::holds_alternative<transactional_state>(outcome))
        what = "is a transactional-state in another one";
    return what.empty() ? what : "has an outcome that " + what;
}

/// @param of such as "sender_options::source."
void find(finder& found, char const* of, terminus const& t)
{
    finder here{of};
    here.text("address", t.address);
    here.name("expiry_policy", t.expiry_policy);
    here.names("capabilities", t.capabilities);
    here.octets("dynamic_node_properties", t.dynamic_node_properties, content::map);
    here.name("distribution_mode", t.distribution_mode);
    here.octets("filter", t.filter, content::map);
    here.octets("default_outcome", t.default_outcome, content::described);
    here.names("outcomes", t.outcomes);
    found.say("", here.take());
}

void find(finder& found, link_options const& o)
{
    found.text("name", o.name);
    found.time("timeout", o.timeout);
    found.names("offered_capabilities", o.offered_capabilities);
    found.names("desired_capabilities", o.desired_capabilities);
    found.octets("properties", o.properties, content::fields);
}

/// Of a sender or a receiver.
template <class Options>
void find_of_link(finder& found, Options const& o)
{
    find(found, o);
    find(found, "source.", o.source);
    find(found, "target.", o.target);
    found.octets("encoded_target", o.encoded_target, content::described);
}

void find(finder& found, reconnect_options const& o)
{
    found.time("initial_delay", o.initial_delay);
    found.time("max_delay", o.max_delay);
    found.time("give_up_after", o.give_up_after);
    found.time("keep_links", o.keep_links);
    if (!(o.jitter >= 0 && o.jitter <= 1))
        found.say("jitter", "is not from 0 to 1");
    if (!(o.factor >= 1))
        found.say("factor", "is less than 1");
}

}  // namespace

std::string fault_in(container_options const& o)
{
    finder found{"container_options::"};
    found.text("id", o.id);
    return found.take();
}

std::string fault_in(connection_options const& o)
{
    finder found{"connection_options::"};
    found.text("hostname", o.hostname);
    found.time("timeout", o.timeout);
    found.least("max_frame_size", o.max_frame_size, frame_size_least);
    found.least("outgoing_frame_max", o.outgoing_frame_max, frame_size_least);
    found.time("idle_timeout", o.idle_timeout);
    found.least("output_buffer_size", o.output_buffer_size, std::size_t{1});
    found.least("input_buffer_size", o.input_buffer_size, std::size_t{1});
    found.names("offered_capabilities", o.offered_capabilities);
    found.names("desired_capabilities", o.desired_capabilities);
    found.octets("properties", o.properties, content::fields);
    if (!o.reconnect || !found.good())
        return found.take();
    finder back{"reconnect_options::"};
    find(back, *o.reconnect);
    return back.take();
}

std::string fault_in(listener_options const& o)
{
    finder found{"listener_options::"};
    found.least("connections_max", o.connections_max, std::size_t{1});
    found.time("handshake_timeout", o.handshake_timeout);
    found.time("stop_timeout", o.stop_timeout);
    found.least("password_checks_max", o.password_checks_max, std::size_t{1});
    if (found.good())
        found.say("connection:", fault_in(o.connection));
    if (found.good())
        found.say("session:", fault_in(o.session));
    return found.take();
}

std::string fault_in(session_options const& o)
{
    finder found{"session_options::"};
    found.time("timeout", o.timeout);
    found.names("offered_capabilities", o.offered_capabilities);
    found.names("desired_capabilities", o.desired_capabilities);
    found.octets("properties", o.properties, content::fields);
    return found.take();
}

std::string fault_in(sender_options const& o)
{
    finder found{"sender_options::"};
    find_of_link(found, o);
    return found.take();
}

std::string fault_in(receiver_options const& o)
{
    finder found{"receiver_options::"};
    find_of_link(found, o);
    found.least("inbox_max", o.inbox_max, 1u);
    if (o.streamed)
        found.least("stream_buffer_max", o.stream_buffer_max, std::size_t{1});
    return found.take();
}

std::string fault_in(send_options const& o)
{
    finder found{"send_options::"};
    if (o.tag.size() > tag_most)
        found.say("tag", "has " + std::to_string(o.tag.size()) + " octets; "
                             + std::to_string(tag_most) + " at most");
    found.time("timeout", o.timeout);
    if (found.good())
        found.say("", fault_in_state("state", o.state));
    return found.take();
}

std::string fault_in(amqp_error const& e)
{
    finder found{"amqp_error::"};
    found.name("condition", e.condition);
    found.text("description", e.description);
    found.octets("info", e.info, content::fields);
    return found.take();
}

std::string fault_in(modification const& m)
{
    finder found{"modification::"};
    found.octets("message_annotations", m.message_annotations, content::map);
    return found.take();
}

std::string fault_in_state(char const* field, bytes_view state)
{
    if (state.empty() || same_bytes(state, encoded_accepted))
        return {};
    delivery_state decoded;
    auto what = fault_in_one_state(state, decoded);
    if (what.empty())
        what = fault_in_outcome(decoded);
    return what.empty() ? what : std::string{field} + ' ' + what;
}

std::string fault_in_host(std::string_view host)
{
    return sluice::detail::is_utf8(host) ? "" : "the host of the URL is not UTF-8";
}

failure_ptr refusal(std::string fault)
{
    return fault.empty()
               ? nullptr
               : make_failure(make_error_code(sluice::error::invalid_argument), std::move(fault));
}

void require_none(std::string const& fault)
{
    if (!fault.empty())
        net::throw_error(make_error_code(sluice::error::invalid_argument), fault);
}

std::string as_utf8(std::string text)
{
    if (!sluice::detail::is_utf8(text))
        std::ranges::replace_if(
            text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
    return text;
}

}  // namespace sluice::client::detail
