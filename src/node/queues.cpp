// Queues by their names: made, found, filled, removed.
#include "node/node_core.hpp"
#include "node/peer.hpp"

#include <sluice/codec/reader.hpp>

namespace sluice::node::detail {

lifetime lifetime_of(raw_value node_properties) noexcept
{
    auto const policy = as_described(map_reader{node_properties}.find("lifetime-policy"));
    if (!policy)
        return lifetime::close;
    if (policy->is(0x2c, "amqp:delete-on-no-links:list"))
        return lifetime::no_links;
    if (policy->is(0x2d, "amqp:delete-on-no-messages:list"))
        return lifetime::no_messages;
    if (policy->is(0x2e, "amqp:delete-on-no-links-or-messages:list"))
        return lifetime::no_links_or_messages;
    return lifetime::close;
}

queue* node_core::find(std::string_view name) noexcept
{
    auto const it = queues_.find(name);
    return it == queues_.end() ? nullptr : it->second.get();
}

std::vector<queue_info> node_core::list() const
{
    std::vector<queue_info> out;
    out.reserve(queues_.size());
    for (auto const& [name, q] : queues_) out.push_back(q->info());
    return out;
}

/// What is rejected in `name` would come back to it, by way of other queues' dead letters or at
/// once. What the node says for all queues is no mistake of this one: its own end of that is
/// dropped.
bool node_core::leads_back(std::string const& name, queue_options const& options) noexcept
{
    if (options.dead_letter == options_.queue.dead_letter)
        return false;
    auto const* to = &options.dead_letter;
    for (std::size_t i = 0; i <= queues_.size() && !to->empty(); ++i) {
        if (*to == name)
            return true;
        auto const* const next = find(*to);
        if (!next)
            return false;
        to = &next->options().dead_letter;
    }
    return false;
}

std::error_code node_core::declare(std::string const& name, queue_options const& options)
{
    if (name.empty() || name.front() == '$' || name.size() > address_max)
        return make_error_code(error::invalid_argument);
    if (leads_back(name, options))
        return make_error_code(error::invalid_argument);
    if (auto* const there = find(name)) {
        auto const& o = there->options();
        auto const same = o.length_max == options.length_max && o.bytes_max == options.bytes_max
                          && o.full == options.full && o.dead_letter == options.dead_letter;
        if (!same)
            return make_error_code(error::precondition_failed);
        there->make_lasting();
        return {};
    }
    if (queues_.size() >= options_.queues_max)
        return make_error_code(error::resource_limit_exceeded);
    queues_.emplace(name, std::make_shared<queue>(*this, name, options, true));
    return {};
}

std::error_code node_core::remove(std::string const& name)
{
    auto* const there = find(name);
    if (!there)
        return make_error_code(error::not_found);
    erase(*there);
    return {};
}

void node_core::erase(queue& q)
{
    auto const it = queues_.find(q.name());
    if (it == queues_.end() || it->second.get() != &q)
        return;
    auto const held = std::move(it->second);
    queues_.erase(it);
    dynamic_.erase(held.get());
    held->set_removed();
}

std::shared_ptr<queue> node_core::find_or_create(std::string const& address, amqp_error& why)
{
    auto const it = queues_.find(address);
    if (it != queues_.end())
        return it->second;
    if (address.size() > address_max) {
        why = {.condition = condition::invalid_field,
               .description = "an address of " + std::to_string(address.size())
                              + " octets, more than " + std::to_string(address_max),
               .info = {}};
        return nullptr;
    }
    if (address.empty() || address.front() == '$' || !options_.auto_create) {
        why = {.condition = condition::not_found,
               .description = "there is no '" + address + "' here"
                              + (options_.auto_create ? "" : "; declare it first"),
               .info = {}};
        return nullptr;
    }
    if (queues_.size() >= options_.queues_max) {
        why = {.condition = condition::resource_limit_exceeded,
               .description = "no room for queue '" + address + "': there are "
                              + std::to_string(queues_.size()) + " already",
               .info = {}};
        return nullptr;
    }
    auto made = std::make_shared<queue>(*this, address, options_.queue, false);
    queues_.emplace(address, made);
    return made;
}

std::shared_ptr<queue> node_core::make_dynamic(engine::link& creator, lifetime how, amqp_error& why)
{
    if (queues_.size() >= options_.queues_max) {
        why = {.condition = condition::resource_limit_exceeded,
               .description = "no room for a dynamic node: there are "
                              + std::to_string(queues_.size()) + " queues already",
               .info = {}};
        return nullptr;
    }
    auto const name = dynamic_prefix_ + std::to_string(next_id());
    auto made = std::make_shared<queue>(*this, name, options_.queue, true);
    queues_.emplace(name, made);
    dynamic_.emplace(made.get(), dynamic_node{.creator = &creator, .how = how});
    return made;
}

bool node_core::dynamic_is_over(queue const& q, dynamic_node const& d) const
{
    switch (d.how) {
    case lifetime::close: return !d.creator;
    case lifetime::no_links: return q.links() == 0;
    case lifetime::no_messages: return !d.creator && q.empty();
    case lifetime::no_links_or_messages: return q.links() == 0 && q.empty();
    }
    return false;
}

/// A link is over: what hung on it goes.
void node_core::on_link_gone(engine::link const& l)
{
    std::vector<queue const*> over;
    for (auto& [q, d] : dynamic_) {
        if (d.creator != &l)
            continue;
        d.creator = nullptr;
        if (dynamic_is_over(*q, d))
            over.push_back(q);
    }
    for (auto const* const q : over) erase(const_cast<queue&>(*q));
}

void node_core::on_idle(queue& q)
{
    auto const it = queues_.find(q.name());
    if (it == queues_.end() || it->second.get() != &q)
        return;
    if (q.lasting() && !dynamic_.contains(&q))
        return;
    idle_queues_.push_back(it->second);
    schedule();
}

/// Queues that came by themselves go by themselves: nobody can tell the difference.
void node_core::drop_idle(queue& q)
{
    auto const it = dynamic_.find(&q);
    auto const over =
        it == dynamic_.end() ? !q.lasting() && q.idle() : dynamic_is_over(q, it->second);
    if (over)
        erase(q);
}

// ---- messages

amqp_error node_core::full(queue const& q)
{
    auto const now = q.info();
    return {.condition = condition::resource_limit_exceeded,
            .description = "queue '" + q.name() + "' is full: " + std::to_string(now.length)
                           + " messages, " + std::to_string(now.bytes) + " octets",
            .info = {}};
}

amqp_error node_core::push_to(queue& q, message_ptr const& m)
{
    return q.push(m) ? amqp_error{} : full(q);
}

std::shared_ptr<queue> node_core::target_of(message_ptr const& m, peer const& from, amqp_error& why)
{
    message_view view;
    if (m->format() != 0 || decode(m->octets(), view)) {
        why = {.condition = condition::not_implemented,
               .description = "only message-format 0 says where to go",
               .info = {}};
        return nullptr;
    }
    auto const to = as_text(view.properties.to);
    if (!to || to->empty()) {
        why = {.condition = condition::precondition_failed,
               .description = "the message has no `to` and the link no address",
               .info = {}};
        return nullptr;
    }
    why = from.denied(net::access::write, *to);
    return why.empty() ? find_or_create(std::string{*to}, why) : nullptr;
}

amqp_error node_core::relay(message_ptr const& m, peer const& from)
{
    amqp_error why;
    auto const found = target_of(m, from, why);
    if (!found)
        return why;
    why = push_to(*found, m);
    on_idle(*found);  // if it was made for this message and cannot have it
    return why;
}

void node_core::push_to(std::string const& dead_letter, message_ptr const& m)
{
    amqp_error why;
    auto const found = find_or_create(dead_letter, why);
    if (!found || !found->push(m))
        count_refused();
    if (found)
        on_idle(*found);
}

void node_core::on_stored(std::size_t size) noexcept
{
    ++stats_.messages;
    stats_.bytes += size;
}

void node_core::on_dropped(std::size_t size) noexcept
{
    --stats_.messages;
    stats_.bytes -= size;
}

void node_core::on_dropped_all(std::uint64_t messages, std::uint64_t bytes) noexcept
{
    stats_.messages -= messages;
    stats_.bytes -= bytes;
}

}  // namespace sluice::node::detail
