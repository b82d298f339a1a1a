// Channels found or made by name, and the handles that are bound to them.
#include "node/channel_hub.hpp"

namespace sluice::node::detail {

using protocol::status;

namespace {

/// What is asked for and what there is, where they differ; empty if nowhere.
std::string difference(protocol::channel_options const& asked, protocol::channel_options const& is)
{
    std::string out;
    auto const add = [&out](char const* what, auto const& a, auto const& b) {
        if (a == b)
            return;
        auto const text = [](auto const& v) {
            if constexpr (std::is_convertible_v<decltype(v), std::string>)
                return "'" + std::string{v} + "'";
            else
                return std::to_string(v);
        };
        out +=
            (out.empty() ? "" : ", ") + std::string{what} + " " + text(b) + " and not " + text(a);
    };
    auto const name = [](protocol::guarantee g) {
        return std::string{g == protocol::guarantee::at_most_once ? "at most once"
                                                                  : "at least once"};
    };
    add("capacity", asked.capacity, is.capacity);
    add("codec", asked.codec, is.codec);
    add("guarantee", name(asked.delivery), name(is.delivery));
    add("visibility time-out", asked.visibility_timeout_ms, is.visibility_timeout_ms);
    add("maximum of tries", asked.tries_max, is.tries_max);
    add("dead-letter queue", asked.dead_letter, is.dead_letter);
    return out;
}

}  // namespace

void channel_hub::on(channel_port& p, protocol::open const& r)
{
    if (auto* const c = open_channel(p, r); c && bind(p, r, *c))
        tell(p,
             protocol::opened{.id = r.id, .channel = c->id, .node = node_, .options = c->options});
}

/// Null: it was answered why not.
channel_state* channel_hub::open_channel(channel_port& p, protocol::open const& r)
{
    auto const no = [&](status s, std::string text) {
        tell(p, r.id, s, std::move(text));
        return nullptr;
    };
    if (r.name.empty() || r.name.size() > limits_.name_octets)
        return no(status::malformed, "a channel's name has 1 to "
                                         + std::to_string(limits_.name_octets) + " octets, not "
                                         + std::to_string(r.name.size()));
    if (p.sink_.may(r.name) == 0)
        return no(status::not_allowed, "the user may neither read nor write '" + r.name + "'");
    auto const it = names_.find(r.name);
    auto* const there = it == names_.end() ? nullptr : it->second;
    if (r.expected != 0) {
        if (there && there->id == r.expected)
            return there;
        if (destroyed_.contains(r.expected))
            return no(status::destroyed, "channel '" + r.name + "' was destroyed");
        return no(status::not_found,
                  "the channel '" + r.name + "' of before is not there any more");
    }
    if (there && r.create)
        if (auto const text = difference(r.options, there->options); !text.empty())
            return no(status::mismatch, "channel '" + r.name + "' has " + text);
    if (there)
        return there;
    if (!r.create)
        return no(status::not_found, "there is no channel '" + r.name + "'");
    if (r.options.capacity == 0 && r.options.delivery == protocol::guarantee::at_most_once)
        return no(status::malformed,
                  "at most once needs a capacity of 1 or more: without a buffer, "
                  "a value is its sender's until its pickup is told");
    for (auto const* const kept : {&r.options.codec, &r.options.dead_letter})
        if (kept->size() > limits_.name_octets)
            return no(status::malformed, "the names of a codec and of a dead-letter queue have at "
                                         "most "
                                             + std::to_string(limits_.name_octets) + " octets");
    if (channels_.size() >= limits_.channels)
        return no(status::limit, "the node has " + std::to_string(channels_.size())
                                     + " channels, as many as it may have");
    auto made = std::make_unique<channel_state>();
    made->id = ++last_channel_;
    made->name = r.name;
    made->options = r.options;
    auto& c = *made;
    names_.emplace(c.name, &c);
    channels_.emplace(c.id, std::move(made));
    counts_.channels = channels_.size();
    touch(c);  // goes again if nobody is bound to it
    return &c;
}

/// The handle is this port's from now on.
bool channel_hub::bind(channel_port& p, protocol::open const& r, channel_state& c)
{
    auto* h = find(r.handle);
    if (h && h->channel != &c) {
        tell(p, r.id, status::malformed,
             "this handle is one of channel '" + h->channel->name + "'");
        return false;
    }
    if (!h && handles_.size() >= limits_.handles) {
        tell(p, r.id, status::limit,
             "the node has " + std::to_string(handles_.size())
                 + " handles of channels, as many as it may have");
        return false;
    }
    if (h && h->port == &p)
        return true;
    if (!h) {
        auto& made = handles_[r.handle];
        made = std::make_unique<channel_handle>();
        h = made.get();
        h->id = r.handle;
        h->channel = &c;
        c.handles.push_back(*h);
        counts_.handles = handles_.size();
    } else if (!h->port) {
        lost_.erase(lost_.iterator_to(*h));
    } else {  // its client is back before the loss of its old port was noticed
        stop(*h, std::nullopt);
        h->port->handles_.erase(h->port->handles_.iterator_to(*h));
    }
    h->port = &p;
    h->access = p.sink_.may(c.name);
    p.handles_.push_back(*h);
    return true;
}

void channel_hub::recheck()
{
    for (auto const& p : ports_) {
        for (auto& h : p->handles_) h.access = p->sink_.may(h.channel->name);
        auto const forbidden = [&p](wait_case const& c) {
            return c.of_channel.is_linked()
                   && (p->sink_.may(c.channel->name)
                       & (c.sends ? port_sink::may_send : port_sink::may_receive))
                          == 0;
        };
        std::vector<std::pair<channel_wait*, std::uint32_t>> ends;
        for (auto& w : p->waits_)
            w.each([&](wait_case const& c) {
                if ((ends.empty() || ends.back().first != &w) && forbidden(c))
                    ends.emplace_back(&w, c.index);
            });
        for (auto const& [w, index] : ends)
            if (w->pending)
                give_up(*w, status::not_allowed, index, forbidden);
            else
                finish(*w, status::not_allowed, index);
    }
    settle();
}

}  // namespace sluice::node::detail
