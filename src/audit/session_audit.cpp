// Channels and sessions: begin and end. [2.5.1 - 2.5.5]
#include "connection_audit.hpp"

#include <algorithm>

namespace sluice::audit::detail {
namespace {

constexpr std::size_t waiting_max = 16;  // begins on one channel that nobody has answered

}  // namespace

side::mapping& connection_audit::mapping(direction d, channel_number channel)
{
    auto& channels = of(d).channels;
    if (channel >= channels.size())
        channels.resize(std::size_t{channel} + 1);
    return channels[channel];
}

/// A frame on a channel that is not mapped: learns a session, or reports it. @returns that session.
session* connection_audit::find_no_session(direction d, channel_number channel)
{
    auto& m = mapping(d, channel);
    if (of(d).learned || loose_) {
        auto* const s = make_session();
        if (s == nullptr)
            return nullptr;
        s->learned = true;
        s->begun[index(d)] = true;
        s->channel[index(d)] = channel;
        m.current = s;
        return s;
    }
    if (!m.reported)
        report_.report(rule::channel_unmapped, "begin on channel " + text(std::uint32_t{channel}),
                       std::string{report_.at.performative},
                       m.end_frame == 0 ? std::string{}
                                        : "its session ended in frame " + text(m.end_frame));
    m.reported = true;
    return nullptr;
}

/// @returns nullptr when there are too many; frames of those that are not followed go unchecked.
session* connection_audit::make_session()
{
    if (sessions_.size() >= options_.sessions_max) {
        ++report_.totals.directions[index(report_.at.direction)].unchecked;
        loose_ = true;
        return nullptr;
    }
    sessions_.push_back(std::make_unique<session>(budget_));
    auto* const s = sessions_.back().get();
    s->place = sessions_.size() - 1;
    return s;
}

void connection_audit::drop_session(session* s)
{
    while (!s->links.empty()) drop_link(s->links.back().get());
    auto const place = s->place;
    sessions_.back()->place = place;
    std::swap(sessions_[place], sessions_.back());
    sessions_.pop_back();
}

/// The session that `b` answers; nullptr if that is none, or cannot be told.
session* connection_audit::answered(direction d, begin const& b)
{
    if (!b.remote_channel)
        return nullptr;
    auto const o = opposite(d);
    auto& theirs = mapping(o, *b.remote_channel);
    if (auto* const s = theirs.waiting; s != nullptr) {
        if (s->next_waiting != nullptr) {
            give_up_waiting(theirs);
            --theirs.surplus;  // this one
            return nullptr;
        }
        theirs.waiting = nullptr;
        s->waits = false;
        return s;
    }
    if (theirs.surplus != 0) {
        --theirs.surplus;
    } else if (!of(o).learned && !loose_) {
        report_.report(rule::begin_remote_channel, "a channel whose begin waits for an answer",
                       text(std::uint32_t{*b.remote_channel}));
        loose_ = true;
    }
    // In a recording the answer may be the first that is seen of the session.
    auto* const s = theirs.current;
    return s != nullptr && s->learned && !s->begun[index(d)] ? s : nullptr;
}

/// Where sessions began and ended on one channel before any was answered, an answer may be to each
/// of them: not all peers answer one that has ended meanwhile. So their directions are not held
/// together.
void connection_audit::give_up_waiting(side::mapping& m)
{
    while (m.waiting != nullptr) {
        auto* const s = m.waiting;
        m.waiting = s->next_waiting;
        s->next_waiting = nullptr;
        s->waits = false;
        s->learned = true;
        ++m.surplus;
        if (s != m.current)
            drop_session(s);
    }
}

void connection_audit::on_begin(direction d, channel_number channel, begin const& b)
{
    auto const o = opposite(d);
    auto& m = mapping(d, channel);
    if (m.current != nullptr) {
        if (!m.current->learned)
            report_.report(rule::channel_in_use, "end on channel " + text(std::uint32_t{channel}),
                           "begin");
        m.current->loose = true;
        return;
    }
    auto* s = answered(d, b);
    bool const answers = s != nullptr;
    if (!answers)
        s = make_session();
    if (s == nullptr)
        return;
    m.current = s;
    m.reported = false;
    if (!answers && b.remote_channel) {
        s->learned = true;
    } else if (!answers) {
        s->waits = true;
        std::size_t length = 0;
        auto** last = &m.waiting;
        for (; *last != nullptr; ++length) last = &(*last)->next_waiting;
        *last = s;
        if (length >= waiting_max)
            give_up_waiting(m);
    }
    s->begun[index(d)] = true;
    s->channel[index(d)] = channel;
    s->knows_begin[index(d)] = answers && !s->learned;
    s->handle_max[index(d)] = b.handle_max.value;
    auto& sent = s->sent[index(d)];
    sent.initial = b.next_outgoing_id.value();
    sent.initial_known = true;
    auto& theirs = s->sent[index(o)];
    theirs.window.state(b.incoming_window, 0);
    if (!s->learned && s->handle_used[index(o)] > b.handle_max.value)
        report_.report(rule::handle_max,
                       place{.direction = o,
                             .frame = report_.totals.directions[index(o)].frames,
                             .channel = s->channel[index(o)]},
                       "at most " + text(b.handle_max.value), text(s->handle_used[index(o)]),
                       "used before the other side's begin");
}

void connection_audit::on_end(direction d, channel_number channel)
{
    auto const o = opposite(d);
    auto& m = mapping(d, channel);
    auto* const s = m.current;
    m.current = nullptr;
    m.end_frame = report_.at.frame;
    s->ended[index(d)] = true;
    // Neither can be asked for anything any more, nor needs an answer.
    s->echo = {};
    for (auto& l : s->links) {
        l->echo = {};
        l->draining.open = false;
    }
    if (s->ended[index(o)] || (!s->begun[index(o)] && !s->waits))
        drop_session(s);
}

}  // namespace sluice::audit::detail
