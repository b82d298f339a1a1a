// Requests, and what comes of them.
#include "node/management.hpp"

#include "node/node_core.hpp"
#include "node/outcomes.hpp"
#include "node/peer.hpp"

namespace sluice::node::detail {
namespace {

constexpr std::size_t replies_max = 1'000;         // waiting on one link
constexpr std::size_t reply_bytes_max = 1u << 20;  // of them, unless it is one alone

sluice::message reply_to(sluice::message const& request, std::int32_t status, std::string text,
                         value body)
{
    sluice::message out{std::move(body)};
    out.properties.to = request.properties.reply_to;
    out.properties.correlation_id = request.properties.correlation_id.is_null()
                                        ? request.properties.message_id
                                        : request.properties.correlation_id;
    out.application_properties["statusCode"] = status;
    out.application_properties["statusDescription"] = std::move(text);
    return out;
}

value describe(queue_info const& q)
{
    value_map out;
    out["name"] = q.name;
    out["length"] = q.length;
    out["ready"] = q.ready;
    out["bytes"] = q.bytes;
    out["consumers"] = q.consumers;
    out["producers"] = q.producers;
    return out;
}

/// What the request's body asks of a queue. @returns what is wrong with it, or nothing
std::string read_options(sluice::message const& request, queue_options& out)
{
    auto const* const body = request.body_value();
    auto const* const map = body ? body->get_if<value_map>() : nullptr;
    if (!map)
        return body && !body->is_null() ? "the body has to be a map of options" : std::string{};
    for (auto const& [key, content] : *map) {
        auto const name = key.text().value_or(std::string_view{});
        auto const number = content.integer();
        auto const text = content.text();
        if ((name == "length_max" || name == "bytes_max") && number && *number >= 0)
            (name == "length_max" ? out.length_max : out.bytes_max) =
                static_cast<std::uint64_t>(*number);
        else if (name == "full" && (text == "reject" || text == "withhold"))
            out.full = text == "reject" ? when_full::reject : when_full::withhold;
        else if (name == "dead_letter" && text && !text->starts_with('$'))
            out.dead_letter = std::string{*text};
        else
            return "option '" + std::string{name}
                   + "' is unknown or has a value out of its range; there are length_max, "
                     "bytes_max, "
                     "full (reject, withhold) and dead_letter";
    }
    return {};
}

sluice::message declare(peer& asker, sluice::message const& request, std::string const& name)
{
    auto& core = asker.core();
    auto options = core.options().queue;
    if (auto const fault = read_options(request, options); !fault.empty())
        return reply_to(request, 400, fault, {});
    // Who may declare could else send rejected messages where it may not write.
    auto const& to = options.dead_letter;
    if (auto const no = asker.denied(net::access::write, to);
        !no.empty() && to != core.options().queue.dead_letter)
        return reply_to(request, 403, no.description, {});
    auto const failed = core.declare(name, options);
    if (!failed)
        return reply_to(request, 201, "declared", {});
    if (failed == error::precondition_failed)
        return reply_to(request, 409, "queue '" + name + "' exists with other options", {});
    if (failed == error::resource_limit_exceeded)
        return reply_to(request, 503, "there are as many queues as may be", {});
    if (core.leads_back(name, options))
        return reply_to(request, 400,
                        "dead letters of queue '" + name + "' would come back to it by way of '"
                            + to + "'",
                        {});
    return reply_to(request, 400,
                    "a queue needs a name of at most " + std::to_string(address_max)
                        + " octets that does not begin with '$'",
                    {});
}

bool may_see(peer const& asker, std::string const& name)
{
    return asker.may(net::access::manage, name) || asker.may(net::access::read, name);
}

sluice::message list(peer& asker, sluice::message const& request)
{
    value_list queues;
    for (auto const& q : asker.core().list())
        if (may_see(asker, q.name))
            queues.push_back(describe(q));
    return reply_to(request, 200, "OK", std::move(queues));
}

}  // namespace

sluice::message manage(peer& asker, sluice::message const& request)
{
    auto& core = asker.core();
    auto const text = [&](std::string_view key) {
        auto const* const v = request.application_properties.find(key);
        return std::string{v ? v->text().value_or(std::string_view{}) : std::string_view{}};
    };
    auto const operation = text("operation");
    auto const name = text("name");
    if (operation == "list" || operation == "QUERY")
        return list(asker, request);
    auto const reads = operation == "read" || operation == "READ";
    auto const no = asker.denied(net::access::manage, name);
    auto const denied = !no.empty() && !(reads && may_see(asker, name));
    if (operation == "declare" || operation == "CREATE")
        return denied ? reply_to(request, 403, no.description, {}) : declare(asker, request, name);
    auto const known =
        operation == "delete" || operation == "DELETE" || operation == "purge" || reads;
    if (!known)
        return reply_to(request, 501,
                        "operation '" + operation
                            + "' is unknown; there are declare, delete, purge, read and list",
                        {});
    if (denied)
        return reply_to(request, 403, no.description, {});
    auto* const q = core.find(name);
    if (!q)
        return reply_to(request, 404, "there is no queue '" + name + "'", {});
    if (reads)
        return reply_to(request, 200, "OK", describe(q->info()));
    if (operation == "purge") {
        value_map body;
        body["count"] = q->purge();
        return reply_to(request, 200, "OK", std::move(body));
    }
    std::ignore = core.remove(name);
    return reply_to(request, 204, "deleted", {});
}

void management_link::on_event(engine::event const& e)
{
    if (e.kind != engine::event_kind::delivery)
        return;
    auto& d = *e.incoming;
    auto const format = d.message_format();
    auto const octets = receiver_.take_body(d);
    sluice::message request;
    amqp_error why;
    if (auto const failed = decode(octets, request))
        why = {condition::decode_error, "not a message: " + failed.message(), {}};
    else if (format != 0)
        why = {condition::not_implemented, "only message-format 0 is known here", {}};
    else if (!request.properties.reply_to || request.properties.reply_to->empty())
        why = {condition::precondition_failed, "a request needs a reply-to", {}};
    if (why.empty())  // before anything is done
        why = owner().cannot_reply(*request.properties.reply_to);
    if (why.empty())
        why = owner().reply(*request.properties.reply_to, encoded(manage(owner(), request)));
    if (why.empty())
        std::ignore = receiver_.settle(d);
    else
        reject(receiver_, d, why);
}

reply_link::reply_link(peer& p, engine::sender& s, std::string address)
    : node_link{p, s}, sender_{s}, address_{std::move(address)}
{
    owner().add_reply_link(address_, *this);
}

reply_link::~reply_link() { owner().remove_reply_link(address_, *this); }

bool reply_link::has_room() const noexcept
{
    return !ended() && pending_.size() < replies_max && pending_bytes_ <= reply_bytes_max;
}

bool reply_link::send(bytes reply)
{
    auto const large = !pending_.empty() && pending_bytes_ + reply.size() > reply_bytes_max;
    if (!has_room() || large)
        return false;
    pending_bytes_ += reply.size();
    pending_.push_back(std::move(reply));
    auto const at = std::prev(pending_.end());
    auto const made = sender_.send(engine::payload{.head = *at},
                                   {.settled = true, .notify_sent = true, .context = &*at});
    if (!made)
        drop(at);
    owner().touch();
    return made.has_value();
}

void reply_link::on_event(engine::event const& e)
{
    if (e.kind == engine::event_kind::drain_requested)
        return sender_.drained();
    if (!e.final || !e.outgoing)
        return;
    auto const at = std::find_if(pending_.begin(), pending_.end(),
                                 [&](bytes const& held) { return &held == e.outgoing->context; });
    if (at != pending_.end())
        drop(at);
}

void reply_link::drop(std::list<bytes>::iterator reply) noexcept
{
    pending_bytes_ -= reply->size();
    pending_.erase(reply);
}

void reply_link::on_ended(ending)
{
    set_ended();
    owner().remove_reply_link(address_, *this);
}

}  // namespace sluice::node::detail
