// Links: attach, detach, names and handles. [2.6.1 - 2.6.6]
#include "connection_audit.hpp"

#include <sluice/codec/fields.hpp>

#include <algorithm>

namespace sluice::audit::detail {
namespace {

constexpr std::size_t name_kept = 64;
constexpr std::size_t namesakes_max = 64;  // links of one name at once, so that looking is short
constexpr std::uint64_t learned_hash = 0;  // of links whose name is not known

/// FNV-1a over the name and the direction of the link's transfers. [2.6.1]
std::uint64_t hash_of(std::string_view name, direction transfers) noexcept
{
    std::uint64_t h = 0xcbf29ce484222325u ^ (index(transfers) + 1);
    for (char const c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return h == learned_hash ? 1 : h;
}

}  // namespace

/// The link with this handle of `d`; reports if there is none.
link* connection_audit::find_link(direction d, session& s, std::uint32_t handle)
{
    if (auto* const l = s.handles[index(d)].find(handle); l != nullptr) [[likely]]
        return l;
    if (s.loose || s.learned) {
        ++report_.totals.directions[index(d)].unchecked;
        return nullptr;
    }
    report_.report(rule::handle_unattached, "an attach for handle " + text(handle),
                   std::string{report_.at.performative});
    return nullptr;
}

/// A link that a recording shows in use only: what can be told from its own frames is checked.
link* connection_audit::learn_link(direction d, session& s, std::uint32_t handle)
{
    auto* const l = make_link(s, d, {}, learned_hash);
    if (l == nullptr)
        return nullptr;
    l->learned = true;
    l->settling_in = true;
    l->sender = {link_end::attached, handle};
    s.handles[index(d)].set(handle, l);
    return l;
}

link* connection_audit::make_link(session& s, direction transfers, std::string_view name,
                                  std::uint64_t hash)
{
    std::size_t namesakes = 0;
    if (auto const at = names_.find(hash); at != names_.end())
        for (auto* l = at->second; l != nullptr; l = l->next_of_name) ++namesakes;
    if (links_ >= options_.links_max || namesakes >= namesakes_max) {
        ++report_.totals.directions[index(report_.at.direction)].unchecked;
        s.loose = true;
        return nullptr;
    }
    ++links_;
    s.links.push_back(std::make_unique<link>());
    auto* const l = s.links.back().get();
    l->of = &s;
    l->direction = transfers;
    l->place = s.links.size() - 1;
    l->name = name.substr(0, name_kept);
    l->name_hash = hash;
    if (hash == learned_hash)
        return l;
    auto** last = &names_[hash];
    while (*last != nullptr) last = &(*last)->next_of_name;
    *last = l;
    return l;
}

void connection_audit::drop_link(link* l)
{
    if (auto const at = names_.find(l->name_hash); at != names_.end()) {
        auto** p = &at->second;
        while (*p != nullptr && *p != l) p = &(*p)->next_of_name;
        if (*p == l)
            *p = l->next_of_name;
        if (at->second == nullptr)
            names_.erase(at);
    }
    auto& s = *l->of;
    for (auto const d : {direction::from_client, direction::from_server})
        if (auto const& e = l->end_of(d); e.is == link_end::attached)
            s.handles[index(d)].erase(e.handle);
    auto const place = l->place;
    s.links.back()->place = place;
    std::swap(s.links[place], s.links.back());
    s.links.pop_back();
    --links_;
}

/// Reports a link that this side has attached already. @returns it if it is of the same session.
link* connection_audit::attached_twice(direction d, session& s, attach const& a, std::uint64_t hash)
{
    auto const at = names_.find(hash);
    if (at == names_.end())
        return nullptr;
    for (auto* l = at->second; l != nullptr; l = l->next_of_name) {
        if (l->end_of(d).is != link_end::attached || l->of->ended[index(d)])
            continue;
        auto const before = "attached on channel " + text(std::uint32_t{l->of->channel[index(d)]})
                            + " as handle " + text(l->end_of(d).handle);
        if (l->of == &s) {
            report_.report(rule::link_name_in_use, "a name that is not attached", quoted(a.name),
                           before);
            return l;
        }
        report_.report(rule::link_name_reused, "a name that is not attached", quoted(a.name),
                       before);
        break;
    }
    return nullptr;
}

/// An attach answers the oldest one of the other side that has no answer yet.
link* connection_audit::pair_or_make(direction d, session& s, attach const& a, std::uint64_t hash)
{
    if (auto const at = names_.find(hash); at != names_.end())
        for (auto* l = at->second; l != nullptr; l = l->next_of_name)
            if (l->of == &s && l->end_of(d).is == link_end::none)
                return l;
    auto const transfers = a.role == role::sender ? d : opposite(d);
    return make_link(s, transfers, a.name, hash);
}

/// Source and target are decoded as values of any type; those that are not of this standard are not
/// looked into. [3.5.3, 3.5.4, 4.5.1]
void connection_audit::check_termini(attach const& a)
{
    decode_fault fault;
    auto const check = [&]<class T>(raw_value from, T terminus) {
        auto in = from.encoded;
        if (peek_descriptor(in) == composite_traits<T>::descriptor && decode(in, terminus, &fault))
            report_.report(rule::decode_error, "a well-formed attach", fault.message());
    };
    check(a.source, source{});
    check(a.target, target{});
    check(a.target, coordinator{});
}

void connection_audit::on_attach(direction d, session& s, attach const& a)
{
    auto const o = opposite(d);
    auto const handle = a.handle.value;
    report_.at.handle = handle;
    check_termini(a);
    if (s.begun[index(o)] && !s.learned) {
        if (handle > s.handle_max[index(o)])
            report_.report(rule::handle_max, "at most " + text(s.handle_max[index(o)]),
                           text(handle), "the other side's handle-max");
    } else {
        s.handle_used[index(d)] = std::max(s.handle_used[index(d)], handle);
    }
    if (s.handles[index(d)].find(handle) != nullptr) {
        if (!s.loose)
            report_.report(rule::handle_in_use, "detach of handle " + text(handle), "attach",
                           "link " + quoted(s.handles[index(d)].find(handle)->name) + " has it");
        s.loose = true;
        return;
    }
    auto const hash = hash_of(a.name, a.role == role::sender ? d : o);
    if (!s.loose && attached_twice(d, s, a, hash) != nullptr) {
        s.loose = true;
        return;
    }
    auto* const l = pair_or_make(d, s, a, hash);
    if (l == nullptr)
        return;
    auto& e = l->end_of(d);
    e.is = link_end::attached;
    e.handle = handle;
    s.handles[index(d)].set(handle, l);
    if (a.role == role::sender)
        attach_sender(*l, a);
    else
        attach_receiver(*l, a);
}

void connection_audit::attach_sender(link& l, attach const& a)
{
    l.settle_mode = a.snd_settle_mode;
    // One that answers `first` to a receiver that has attached with `second` will not settle first,
    // and a receiver that waited for that would wait for ever: either may be kept to. [2.7.3]
    if (a.rcv_settle_mode == receiver_settle_mode::first)
        l.second = false;
    l.resumable = static_cast<bool>(a.unsettled);
    if (a.initial_delivery_count)
        l.initial = a.initial_delivery_count->value();
    else
        report_.report(rule::initial_delivery_count, "a number", "absent", "from a sender");
}

void connection_audit::attach_receiver(link& l, attach const& a)
{
    l.second = a.rcv_settle_mode == receiver_settle_mode::second;
    l.message_size_max = a.max_message_size.value_or(0);
}

void connection_audit::on_detach(direction d, session& s, detach const& f)
{
    report_.at.handle = f.handle.value;
    auto* const l = find_link(d, s, f.handle.value);
    if (l == nullptr)
        return;
    l->end_of(d).is = link_end::detached;
    s.handles[index(d)].erase(f.handle.value);
    // Neither end owes the other an answer any more.
    l->echo = {};
    answer(l->draining);
    auto const& other = l->end_of(opposite(d));
    if (l->is_sender(d) && l->current.open) {
        if (!f.error && other.is != link_end::detached)
            report_.report(rule::delivery_unfinished, "the rest of the delivery, or its abort",
                           "detach", "delivery-id " + text(l->current.id));
        l->current.open = false;
    }
    if (other.is == link_end::detached || s.learned)
        drop_link(l);
}

}  // namespace sluice::audit::detail
