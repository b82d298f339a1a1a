// The wire between two engines, and what has to be true in the end.
#include "support_world.hpp"

#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <sstream>

namespace sluice::prop {

std::ostream& operator<<(std::ostream& out, step const& s)
{
    static constexpr char const* names[] = {
        "send",     "send_settled", "stream",     "body_ready", "cancel",       "sender_settle",
        "credit",   "window",       "drain",      "flow_link",  "flow",         "settle",
        "update",   "read_body",    "write_some", "write_all",  "deliver_some", "deliver_all",
        "exchange", "begin",        "end",        "attach",     "detach",       "close"};
    return out << names[static_cast<std::size_t>(s.what)] << ':' << s.n;
}

world::world(world_options o)
    : options{o}, buffer_(128 * 1024), random_{o.seed | 1u}, cut_random_{o.seed}
{
    tracing_ = std::getenv("SLUICE_TRACE") != nullptr;
    for (std::size_t side : {0u, 1u}) ends[side] = std::make_unique<world_end>(*this, side);
}

void world::object(std::string what)
{
    if (objection.empty())
        objection = std::move(what);
}

void world::open()
{
    std::ignore = ends[0]->engine.open();
    for (unsigned s = 0; s < options.sessions; ++s) ends[0]->begin_one(0);
    come_to_rest(50);
    for (auto& end : ends)
        for (unsigned s = 0; s < options.sessions * options.links_each_way; ++s)
            end->attach_one(2u * (s % options.sessions) + 4096u * random());
    come_to_rest(50);
}

void world::audit(std::size_t at, std::size_t from, bytes_view in)
{
    auto const d = from == 0 ? audit::direction::from_client : audit::direction::from_server;
    auditors_[at].feed(d, in, now);
}

bool world::write(std::size_t side, std::size_t room, bool all)
{
    auto& engine = ends[side]->engine;
    auto any = false;
    do {
        auto const wanted = engine.wants_write();
        auto const n = engine.write({buffer_.data(), std::min(room, buffer_.size())}, now);
        if (n > 0 && !wanted)
            object("written unasked");
        bytes_view const out{buffer_.data(), n};
        audit(side, side, out);
        books.written(side, out);
        if (tracing_)
            traces_[side].feed(out, trace);
        pipes_[1 - side].insert(pipes_[1 - side].end(), out.begin(), out.end());
        if (options.keep_octets)
            octets[side].insert(octets[side].end(), out.begin(), out.end());
        ends[side]->poll();
        any = any || n > 0;
        if (n == 0)
            break;
    } while (all);
    return any;
}

bool world::deliver(std::size_t to, std::size_t count)
{
    auto& pipe = pipes_[to];
    count = std::min(count, pipe.size() - taken_[to]);
    if (count == 0)
        return false;
    bytes_view in{pipe.data() + taken_[to], count};
    taken_[to] += count;
    books.arrived(1 - to, count);
    while (!in.empty()) {
        auto piece = in.size();
        if (options.cut == cutting::one_by_one)
            piece = 1;
        if (options.cut == cutting::at_random) {
            cut_random_ = cut_random_ * 1664525u + 1013904223u;
            piece = std::min<std::size_t>(piece, 1 + (cut_random_ >> 8) % 40);
        }
        audit(to, 1 - to, in.first(piece));
        for (auto left = in.first(piece); !left.empty();) {
            auto const n = ends[to]->engine.receive(left, now);
            left = left.subspan(n);
            if (!left.empty())
                ends[to]->poll();
        }
        in = in.subspan(piece);
    }
    ends[to]->poll();
    if (taken_[to] == pipe.size()) {
        pipe.clear();
        taken_[to] = 0;
    }
    return true;
}

void world::apply(step const& s)
{
    auto const side = std::size_t{s.n & 1u};
    auto const n = s.n >> 1;
    switch (s.what) {
    case act::write_some:
        std::ignore = write(side, options.max_frame_size + n % 600, false);
        return;
    case act::write_all: std::ignore = write(side, options.write_room, true); return;
    case act::deliver_some: std::ignore = deliver(side, 1 + n % 700); return;
    case act::deliver_all: std::ignore = deliver(side, pipes_[side].size()); return;
    case act::exchange: std::ignore = exchange_once(); return;
    default: ends[side]->act_on(s.what, n);
    }
    if (!books.objection.empty())
        object(books.objection);
}

void world::run(std::vector<step> const& steps)
{
    for (auto const& s : steps) {
        if (tracing_)
            trace += static_cast<std::ostringstream>(std::ostringstream{} << s << '\n').str();
        apply(s);
        for (auto& end : ends)
            for (auto* x : end->senders)
                books.met.window_shut =
                    books.met.window_shut
                    || (x->queued() > 0 && x->session().state() == e::session_state::mapped
                        && x->session().remote_incoming_window() == 0);
        if (!objection.empty())
            return;
    }
}

bool world::exchange_once()
{
    auto moved = false;
    for (std::size_t side : {0u, 1u}) moved = write(side, options.write_room, true) || moved;
    for (std::size_t side : {0u, 1u}) moved = deliver(side, pipes_[side].size()) || moved;
    return moved;
}

std::size_t world::come_to_rest(std::size_t rounds_max)
{
    for (std::size_t round = 0;; ++round) {
        auto moved = false;
        auto const pulls = pulls_;
        for (auto& end : ends) moved = end->be_generous() || moved;
        moved = exchange_once() || moved || pulls_ != pulls;
        if (!moved)
            return round;
        if (round >= rounds_max) {
            object("nothing comes to rest in " + std::to_string(round) + " rounds");
            return round;
        }
    }
}

void world::conclude()
{
    auto rounds_max = std::size_t{60};
    for (auto const& [number, p] : parcels)
        rounds_max += 4 + p.size.value_or(8000) / (options.max_frame_size / 2);
    come_to_rest(rounds_max);
    for (auto& [number, p] : parcels)
        if (p.ends == 0 && !ends[0]->closed)
            object("parcel " + std::to_string(number) + " on " + p.link + " is stuck");
    std::ignore = ends[0]->engine.close();
    ends[0]->closing = true;
    come_to_rest(rounds_max);
    judge();
}

void world::collect_findings()
{
    for (std::size_t at : {0u, 1u}) {
        auditors_[at].advance(now);
        for (audit::finding f; auditors_[at].poll_finding(f);)
            // Users here do not always wait, and a network that is silent is no peer's fault.
            if (f.rule != audit::rule::delivery_unfinished
                && !(options.faults && f.rule == audit::rule::idle_time_out))
                object("auditor at " + std::to_string(at) + ": " + f.text());
    }
}

void world::transport_ends(std::size_t side)
{
    ends[side]->engine.transport_closed();
    ends[side]->poll();
}

void world::judge()
{
    if (!books.objection.empty())
        object(books.objection);
    for (auto& auditor : auditors_)
        auditor.finish(options.faults ? audit::ending::cut : audit::ending::complete);
    collect_findings();
    for (std::size_t side : {0u, 1u}) {
        if (!ends[side]->closed)
            object("end " + std::to_string(side) + " never heard of its connection's close");
        if (ends[side]->engine.state() != e::connection_state::ended)
            object("end " + std::to_string(side) + " is in connection state "
                   + std::to_string(static_cast<int>(ends[side]->engine.state())));
    }
    for (auto const& [number, p] : parcels) {
        auto const name = "parcel " + std::to_string(number) + " on " + p.link;
        if (p.ends != 1)
            object(name + " has ended " + std::to_string(p.ends) + " times, last: " + p.how);
        if (p.arrived > 1)
            object(name + " has arrived " + std::to_string(p.arrived) + " times");
        auto const told = p.how == "outcome";
        if (told && p.heard != p.said)
            object(name + " has another outcome than its receiver stated");
        if (told && p.arrived == 0 && !p.refused_half)
            object(name + " was answered and never arrived");
        if (p.how == "aborted" && p.arrived > 0)
            object(name + " was aborted and arrived");
    }
    if (tracing_ && !objection.empty())
        std::printf("%s# %s\n\n", trace.c_str(), objection.c_str());
}

}  // namespace sluice::prop
