// Ports, channels and handles: how they come and go.
#include "node/channel_hub.hpp"

#include <algorithm>

namespace sluice::node::detail {

using protocol::status;

namespace {

constexpr std::size_t destroyed_max = 65'536;  // incarnations that are remembered

std::uint64_t mixed(std::uint64_t x) noexcept  // splitmix64
{
    x += 0x9e37'79b9'7f4a'7c15u;
    x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9u;
    x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11ebu;
    return x ^ (x >> 31);
}

}  // namespace

std::size_t channel_hub::hash::operator()(protocol::handle_id const& id) const noexcept
{
    return std::hash<std::string_view>{}({reinterpret_cast<char const*>(id.data()), id.size()});
}

void channel_handle::remember(std::uint64_t sequence)
{
    if (accepted_.size() < remembered_max)
        return accepted_.push_back(sequence);
    accepted_[next_] = sequence;
    next_ = (next_ + 1) % remembered_max;
}

bool channel_handle::remembers(std::uint64_t sequence) const noexcept
{
    return std::find(accepted_.begin(), accepted_.end(), sequence) != accepted_.end();
}

channel_hub::channel_hub(channel_outside& outside, std::uint64_t seed, protocol::handle_id node,
                         channel_limits limits)
    : outside_{outside},
      node_{node},
      limits_{limits},
      random_{mixed(seed) | 1},
      last_channel_{mixed(seed + 1) >> 16}  // another node's are others, even after a restart
{
}

channel_hub::~channel_hub()
{
    while (!ports_.empty()) on_port_lost(*ports_.back());
    while (!channels_.empty()) destroy(*channels_.begin()->second);
}

std::uint64_t channel_hub::random(std::uint64_t below) noexcept
{
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return (random_ >> 11) % below;
}

// ---- ports

channel_port& channel_hub::add_port(port_sink& s)
{
    auto& p = *ports_.emplace_back(std::make_unique<channel_port>(s));
    p.place_ = ports_.size() - 1;
    counts_.ports = ports_.size();
    return p;
}

void channel_hub::on_port_lost(channel_port& p)
{
    // What waits first, so that nothing of what goes back goes to it.
    waits all;
    for (auto& w : p.waits_) all.push_back(&w);
    for (auto* const w : all) w->pending && w->pending->handle ? orphan(*w) : withdraw(*w);
    while (!p.held_.empty()) go_back(p.held_.back(), "its receiver was lost");
    while (!p.handles_.empty()) {
        auto& h = p.handles_.front();
        p.handles_.pop_front();
        h.port = nullptr;
        h.until = now_ + limits_.handle_memory;
        lost_.push_back(h);
    }
    std::erase(unflushed_, &p);
    auto const place = p.place_;
    ports_[place].swap(ports_.back());
    ports_[place]->place_ = place;
    ports_.pop_back();
    counts_.ports = ports_.size();
    settle();
}

void channel_hub::on_request(channel_port& p, protocol::request const& r)
{
    std::visit([&](auto const& m) { on(p, m); }, r);
    settle();
}

void channel_hub::tell(channel_port& p, protocol::reply const& r)
{
    flush(p);
    p.sink_.send(r);
}

void channel_hub::tell(channel_port& p, protocol::request_id id, status s, std::string text,
                       std::uint32_t index)
{
    tell(p, protocol::done{.id = id, .index = index, .status = s, .text = std::move(text)});
}

void channel_hub::flush(channel_port& p)
{
    if (p.accepted_.empty())
        return;
    protocol::reply r = protocol::accepted{std::move(p.accepted_)};
    p.sink_.send(r);
    p.accepted_ = std::move(std::get<protocol::accepted>(r).ranges);  // its memory
    p.accepted_.clear();
}

void channel_hub::flush()
{
    for (auto* const p : unflushed_) {
        flush(*p);
        p->unflushed_ = false;
    }
    unflushed_.clear();
}

// ---- channels and handles

channel_state* channel_hub::find(protocol::channel_id id) const noexcept
{
    auto const it = channels_.find(id);
    return it == channels_.end() ? nullptr : it->second.get();
}

channel_handle* channel_hub::find(protocol::handle_id const& id) const noexcept
{
    auto const it = handles_.find(id);
    return it == handles_.end() ? nullptr : it->second.get();
}

channel_state const* channel_hub::find(std::string_view name) const noexcept
{
    auto const it = names_.find(name);
    return it == names_.end() ? nullptr : it->second;
}

/// What it waits for ends, what it holds goes back. Nobody is told if there is nothing to tell.
void channel_hub::stop(channel_handle& h, std::optional<status> told)
{
    std::vector<std::pair<channel_wait*, std::uint32_t>> ends;
    for (auto& c : h.channel->cases)
        if (c.handle == &h && !std::exchange(c.of->marked, true))
            ends.emplace_back(c.of, c.index);
    for (auto const& [w, index] : ends) {
        w->marked = false;
        if (w->pending && told)
            give_up(*w, *told, index, [&h](wait_case const& c) { return c.handle == &h; });
        else if (w->pending)
            orphan(*w);
        else
            told ? finish(*w, *told, index) : withdraw(*w);
    }
    std::vector<channel_value*> back;
    for (auto& v : h.channel->held)
        if (v.holder == &h)
            back.push_back(&v);
    for (auto it = back.rbegin(); it != back.rend(); ++it) go_back(**it, "its receiver stopped");
    touch(*h.channel);
}

/// Its client is gone before its pickup is known, and may ask again through another port.
void channel_hub::orphan(channel_wait& w)
{
    if (!w.port)
        return;
    w.port->octets_ -= w.octets;
    w.port->by_id_.erase(w);
    w.port->waits_.erase(w.port->waits_.iterator_to(w));
    w.port = nullptr;
    w.given_up.reset();
}

void channel_hub::erase(channel_handle& h)
{
    auto& c = *h.channel;
    for (auto it = c.cases.begin(); it != c.cases.end();)  // orphans only
        if (it->handle == &h) {
            withdraw(*it->of);
            it = c.cases.begin();
        } else {
            ++it;
        }
    (h.port ? h.port->handles_ : lost_)
        .erase(h.port ? h.port->handles_.iterator_to(h) : lost_.iterator_to(h));
    c.handles.erase(c.handles.iterator_to(h));
    handles_.erase(protocol::handle_id{h.id});
    counts_.handles = handles_.size();
    touch(c);
}

void channel_hub::on(channel_port& p, protocol::end const& r)
{
    auto* const h = find(r.handle);
    auto const bound = h && h->port == &p && h->channel->id == r.channel;
    if (r.how == protocol::ending::stop) {
        if (bound) {
            stop(*h, status::stopped);
            erase(*h);
        }
        return tell(p, r.id, status::ok);
    }
    auto* const c = find(r.channel);
    if (!c)
        return tell(p, r.id, status::destroyed);
    if (!bound)
        return tell(p, r.id, status::stopped);
    if ((h->access & port_sink::may_send) == 0)
        return tell(p, r.id, status::not_allowed, "the user may not write to '" + c->name + "'");
    r.how == protocol::ending::close ? close(*c) : destroy(*c);
    tell(p, r.id, status::ok);
}

void channel_hub::close(channel_state& c)
{
    c.closed = true;
    touch(c);
    settle();  // so that those who waited are told before the answer
}

void channel_hub::destroy(channel_state& c)
{
    while (!c.cases.empty()) {
        auto& one = c.cases.front();
        auto& w = *one.of;
        if (w.pending && w.pending->channel != &c)
            give_up(w, status::destroyed, one.index,
                    [&c](wait_case const& each) { return each.channel == &c; });
        else
            finish(w, status::destroyed, one.index);
    }
    while (!c.held.empty()) {
        auto& v = c.held.front();
        if (v.sender)  // of a handle that was stopped since
            finish(*v.sender->of, status::destroyed, v.sender->index);
        take_from_holder(v);
        c.held.pop_front();
        discard(v);
    }
    while (!c.ready.empty()) {
        auto& v = c.ready.front();
        c.ready.pop_front();
        discard(v);
    }
    while (!c.handles.empty()) erase(c.handles.front());
    if (destroyed_.size() >= destroyed_max) {
        destroyed_.erase(destroyed_in_order_.front());
        destroyed_in_order_.pop_front();
    }
    destroyed_.insert(c.id);
    destroyed_in_order_.push_back(c.id);
    erase(c);
}

bool channel_hub::destroy(std::string_view name)
{
    auto const it = names_.find(name);
    if (it == names_.end())
        return false;
    destroy(*it->second);
    settle();
    return true;
}

void channel_hub::forget_if_idle(channel_state& c)
{
    if (c.handles.empty() && c.drained() && c.cases.empty())
        erase(c);
}

void channel_hub::erase(channel_state& c)
{
    if (c.dirty)
        std::erase(dirty_, &c);
    if (c.armed)
        deadlines_.erase({c.armed_for, c.id});
    names_.erase(c.name);
    channels_.erase(protocol::channel_id{c.id});
    counts_.channels = channels_.size();
}

void channel_hub::on(channel_port& p, protocol::stat const& r)
{
    auto* const c = find(r.channel);
    if (!c)
        return tell(p, r.id, status::destroyed);
    if (p.sink_.may(c->name) == 0)  // ids can be guessed
        return tell(p, r.id, status::not_allowed);
    auto s = describe(*c);
    s.id = r.id;
    tell(p, s);
}

protocol::state channel_hub::describe(channel_state const& c) const
{
    protocol::state s{.size = c.used,
                      .buffered = c.ready.size(),
                      .unacknowledged = c.used - c.ready.size(),
                      .closed = c.closed,
                      .options = c.options};
    for (auto const& w : c.cases) ++(w.sends ? s.waiting_senders : s.waiting_receivers);
    for (auto const& h : c.handles) s.handles += h.port ? 1 : 0;
    return s;
}

}  // namespace sluice::node::detail
