// Committing and rolling back.
#include "node/transactions.hpp"

#include "node/node_core.hpp"
#include "node/peer.hpp"

#include <algorithm>

namespace sluice::node::detail {

void settle_entry(node_core& core, queue& from, entry what, engine::outcome_kind kind,
                  raw_value state, std::uint64_t link)
{
    switch (kind) {
    case engine::outcome_kind::accepted: core.count_accepted(); return from.done(what);
    case engine::outcome_kind::rejected: core.count_rejected(); return from.bury(what);
    default: break;
    }
    delivery_state decoded;
    if (kind == engine::outcome_kind::modified && !decode(state, decoded)) {
        if (auto const* const m = std::get_if<modified>(&decoded)) {
            if (m->delivery_failed.value_or(false))
                what.message->count_failure();
            if (m->undeliverable_here.value_or(false))
                what.refused_by.push_back(link);
            from.annotate(what, m->message_annotations);
        }
    }
    core.count_released();
    from.give_back(std::move(what));
}

transaction::~transaction() { roll_back(); }

void transaction::post(std::shared_ptr<queue> to, message_ptr m)
{
    posted_.push_back({.to = std::move(to), .message = std::move(m)});
}

void transaction::retire(std::shared_ptr<queue> from, entry what, engine::outcome_kind kind,
                         raw_value state, std::uint64_t link)
{
    retired_.push_back({.from = std::move(from),
                        .what = std::move(what),
                        .kind = kind,
                        .state = {state.encoded.begin(), state.encoded.end()},
                        .link = link});
}

void transaction::hold(lent& l, engine::outcome_kind kind, raw_value state)
{
    forget(l);
    l.in = this;
    held_.push_back(
        {.what = &l, .kind = kind, .state = {state.encoded.begin(), state.encoded.end()}});
}

void transaction::forget(lent const& l) noexcept
{
    std::erase_if(held_, [&](held const& h) { return h.what == &l; });
}

bool transaction::commit()
{
    auto const gone = std::any_of(posted_.begin(), posted_.end(),
                                  [](posted const& p) { return p.to->removed(); });
    if (gone) {
        roll_back();
        return false;
    }
    for (auto& p : std::exchange(posted_, {})) p.to->push_reserved(p.message);
    for (auto& r : std::exchange(retired_, {}))
        settle_entry(core_, *r.from, std::move(r.what), r.kind, {r.state}, r.link);
    for (auto& h : std::exchange(held_, {})) {
        h.what->in = nullptr;
        h.what->to->settle_held(*h.what, h.kind, {h.state});
    }
    return true;
}

/// What was retired is delivered again, and says so; what its receiver still holds it keeps.
void transaction::roll_back()
{
    for (auto const& p : std::exchange(posted_, {})) p.to->unreserve(p.message->size());
    for (auto& r : std::exchange(retired_, {})) {
        r.what.message->count_failure();
        core_.count_released();
        r.from->give_back(std::move(r.what));
    }
    for (auto const& h : std::exchange(held_, {})) h.what->in = nullptr;
}

}  // namespace sluice::node::detail
