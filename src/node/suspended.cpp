// Remembering links that are detached, and forgetting them in time.
#include "node/suspended.hpp"

namespace sluice::node::detail {

void suspended::expire()
{
    if (!from || from->removed())
        return;
    for (auto& r : unsettled) {
        r.what.message->count_failure();
        from->give_back(std::move(r.what));
    }
    unsettled.clear();
}

void suspended_links::add(std::unique_ptr<suspended> s, clock_time now)
{
    auto const over = s->when == expiry::link_detach
                      || (s->when == expiry::session_end && !s->session)
                      || (s->when == expiry::connection_close && !s->connection);
    if (over)
        start(*s, now);
    if (s->ends_at <= now)
        return s->expire();
    if (auto const old = take(s->key))
        old->expire();
    if (links_.size() >= most_ && !age_.empty())
        take(age_.front())->expire();
    next_ = std::min(next_, s->ends_at);
    age_.push_back(s->key);
    auto key = s->key;
    links_.emplace(std::move(key), std::move(s));
}

std::unique_ptr<suspended> suspended_links::take(link_key const& key)
{
    auto const it = links_.find(key);
    if (it == links_.end())
        return nullptr;
    auto found = std::move(it->second);
    links_.erase(it);
    age_.remove(found->key);
    return found;
}

void suspended_links::start(suspended& s, clock_time now)
{
    s.ends_at = now + std::chrono::seconds{s.timeout};
    next_ = std::min(next_, s.ends_at);
}

void suspended_links::on_session_ended(void const* session, clock_time now)
{
    for (auto& [key, s] : links_) {
        if (s->session != session)
            continue;
        s->session = nullptr;
        if (s->when == expiry::session_end)
            start(*s, now);
    }
    expire(now);
}

/// With it its sessions, of which a connection that was cut does not tell one by one.
void suspended_links::on_connection_closed(void const* connection, clock_time now)
{
    for (auto& [key, s] : links_) {
        if (s->connection != connection)
            continue;
        auto const lives_on = s->when == expiry::session_end && !s->session;  // runs already
        s->connection = s->session = nullptr;
        if ((s->when == expiry::session_end && !lives_on) || s->when == expiry::connection_close)
            start(*s, now);
    }
    expire(now);
}

void suspended_links::expire(clock_time now)
{
    if (next_ > now)
        return;
    next_ = clock_time::max();
    for (auto it = links_.begin(); it != links_.end();) {
        auto& s = *it->second;
        if (s.ends_at > now) {
            next_ = std::min(next_, s.ends_at);
            ++it;
            continue;
        }
        s.expire();
        age_.remove(s.key);
        it = links_.erase(it);
    }
}

}  // namespace sluice::node::detail
