// Requests from links to the hub, replies from the hub to links.
#include "node/channel_link.hpp"

#include "node/node_core.hpp"
#include "node/peer.hpp"

#include <sluice/codec/message.hpp>

#include <random>

namespace sluice::node::detail {
namespace {

constexpr std::size_t replies_max = 200'000;         // not taken yet, of one connection's ports
constexpr std::size_t reply_bytes_max = 64u << 20;   // of them, unless it is one alone
constexpr std::size_t spare_max = 64;                // buffers that are used again
constexpr std::size_t spare_octets_max = 16u << 10;  // of one

std::uint64_t random_number()
{
    std::random_device source;
    return (std::uint64_t{source()} << 32) | source();
}

protocol::handle_id random_id()
{
    protocol::handle_id id{};
    std::random_device source;
    for (auto& octet : id) octet = static_cast<std::byte>(source());
    return id;
}

}  // namespace

// ---- the service

channel_service::channel_service(node_core& core)
    : core_{core}, hub_{*this, random_number(), random_id()}
{
}

channel_service::~channel_service() = default;

bool channel_service::reserve(std::size_t octets)
{
    if (core_.stored_bytes() + octets > core_.options().stored_max)
        return false;
    stored_ += octets;
    return true;
}

void channel_service::dead_letter(letter const& l)
{
    sluice::message m;
    m.body = data_body{{bytes(l.octets.begin(), l.octets.end())}};
    m.application_properties["channel"] = std::string{l.channel};
    m.application_properties["codec"] = std::string{l.codec};
    m.application_properties["tries"] = l.tries;
    m.application_properties["reason"] = std::string{l.reason};
    auto const made = message::make(encoded(m), 0, core_.now(), core_.wall_clock());
    if (made)
        core_.push_to(std::string{l.queue}, *made);
}

bool channel_service::has_room(peer& p, std::string const& name) const
{
    if (pairs_.contains({&p, name}))
        return true;
    std::size_t count = 0;
    for (auto it = pairs_.lower_bound({&p, {}}); it != pairs_.end() && it->first.first == &p; ++it)
        ++count;
    return count < ports_max;
}

channel_pair& channel_service::pair_of(peer& p, std::string const& name)
{
    auto& pair = pairs_[{&p, name}];
    if (!pair)
        pair = std::make_unique<channel_pair>(*this, p, name);
    return *pair;
}

void channel_service::flush()
{
    hub_.flush();
    while (!leaving_.empty()) {
        auto const it = pairs_.find(leaving_.back());
        leaving_.pop_back();
        if (it != pairs_.end())
            it->second->leave_if_overflown();
        hub_.flush();  // what others are told because of it
    }
}

void channel_service::leave_later(channel_pair const& pair)
{
    leaving_.emplace_back(&pair.owner(), pair.name());
}

void channel_service::erase(channel_pair& pair) { pairs_.erase({&pair.owner(), pair.name()}); }

// ---- a pair of links

void channel_pair::join(channel_requests& l)
{
    requests_ = &l;
    begin();
}

void channel_pair::join(channel_replies& l)
{
    replies_ = &l;
    begin();
}

void channel_pair::begin()
{
    if (requests_ && replies_ && !port_)
        port_ = &all_.hub().add_port(*this);
}

void channel_pair::leave_hub()
{
    if (!port_)
        return;
    all_.hub().on_time(peer_.core().now());
    all_.hub().on_port_lost(*std::exchange(port_, nullptr));
}

void channel_pair::leave_if_overflown()
{
    if (!port_ || !replies_ || !replies_->ended())
        return;
    leave_hub();
    requests_->set_ended();
    requests_->detach(condition::resource_deleted,
                      "the replies of '" + name_ + "' are not taken: its port is gone");
}

void channel_pair::leave(node_link const& l, ending how)
{
    leave_hub();
    node_link* const other = &l == requests_ ? static_cast<node_link*>(replies_) : requests_;
    (&l == requests_ ? static_cast<void>(requests_ = nullptr)
                     : static_cast<void>(replies_ = nullptr));
    peer_.touch();
    if (!other)
        return all_.erase(*this);
    if (!other->ended() && (how == ending::closed || how == ending::detached))
        other->detach(condition::resource_deleted,
                      "the other link '" + name_ + "' to $channels is gone, and with it the port");
}

void channel_pair::on_request(bytes_view octets)
{
    if (!port_)
        return requests_->detach(condition::precondition_failed,
                                 "there is no link '" + name_
                                     + "' from $channels for the replies: attach both first");
    std::string fault;
    if (decode(octets, request_, fault))
        return requests_->detach(condition::decode_error, "not a request: " + fault);
    all_.hub().on_time(peer_.core().now());
    peer_.touch();  // what was accepted is told at the end of the turn
    if (auto const* const o = std::get_if<protocol::open>(&request_)) {
        // Who may open could else send what it gives up where it may not write.
        auto const& to = o->options.dead_letter;
        if (o->create && !to.empty() && !peer_.may(net::access::write, to))
            return send(protocol::done{.id = o->id,
                                       .status = protocol::status::not_allowed,
                                       .text = "the user may not write to the dead-letter queue '"
                                               + to + "'"});
    }
    all_.hub().on_request(*port_, request_);
}

void channel_pair::send(protocol::reply const& r)
{
    if (replies_)
        replies_->send(r);
}

unsigned channel_pair::may(std::string_view channel) const
{
    return (peer_.may(net::access::read, channel) ? may_receive : 0)
           | (peer_.may(net::access::write, channel) ? may_send : 0);
}

// ---- the links

channel_requests::channel_requests(peer& p, engine::receiver& r)
    : node_link{p, r}, receiver_{r}, pair_{&p.core().channels().pair_of(p, r.name())}
{
    pair_->join(*this);
}

void channel_requests::on_event(engine::event const& e)
{
    if (e.kind != engine::event_kind::delivery)
        return;
    auto& d = *e.incoming;
    auto const octets = receiver_.take_body(d);
    std::ignore = receiver_.settle(d);
    if (pair_ && !ended())
        pair_->on_request(octets);
}

void channel_requests::on_ended(ending how)
{
    set_ended();
    if (auto* const pair = std::exchange(pair_, nullptr))
        pair->leave(*this, how);
}

channel_replies::channel_replies(peer& p, engine::sender& s)
    : node_link{p, s}, sender_{s}, pair_{&p.core().channels().pair_of(p, s.name())}
{
    pair_->join(*this);
}

channel_replies::~channel_replies()
{
    count(-std::ssize(pending_), -static_cast<std::ptrdiff_t>(pending_bytes_));
}

void channel_replies::count(std::ptrdiff_t replies, std::ptrdiff_t octets) noexcept
{
    pending_bytes_ += static_cast<std::size_t>(octets);
    owner().replies += static_cast<std::size_t>(replies);
    owner().reply_octets += static_cast<std::size_t>(octets);
}

/// Too much of its own ends the link; too much of all of a connection's, the connection.
bool channel_replies::overflows()
{
    auto const text = [](std::size_t replies, std::size_t octets, char const* whose) {
        return std::to_string(replies) + " replies of " + std::to_string(octets)
               + " octets wait for " + whose + " to take them, as many as may";
    };
    auto const& p = owner();
    if (p.replies == 0)
        return false;
    if (pending_.size() >= replies_max || pending_bytes_ > reply_bytes_max)
        detach(condition::resource_limit_exceeded,
               text(pending_.size(), pending_bytes_, "this link"), true);
    else if (p.replies >= replies_max || p.reply_octets > reply_bytes_max)
        owner().close(condition::resource_limit_exceeded,
                      text(p.replies, p.reply_octets, "the links of this connection"));
    else
        return false;
    return true;
}

void channel_replies::send(protocol::reply const& r)
{
    if (ended())
        return;
    if (overflows()) {
        set_ended();
        if (pair_)
            owner().core().channels().leave_later(*pair_);
        return;
    }
    auto& made = pending_.emplace_back();
    if (!spare_.empty()) {
        made.octets = std::move(spare_.back());
        spare_.pop_back();
    }
    encode(made.octets, r);
    if (!sender_.send(engine::payload{.head = made.octets},
                      {.settled = true, .notify_sent = true, .context = &made}))
        return pending_.pop_back();  // the link is on its way out
    count(1, std::ssize(made.octets));
    owner().touch();
}

void channel_replies::on_event(engine::event const& e)
{
    if (e.kind == engine::event_kind::drain_requested)
        return sender_.drained();
    if (!e.final || !e.outgoing || !e.outgoing->context)
        return;
    static_cast<reply*>(e.outgoing->context)->over = true;
    while (!pending_.empty() && pending_.front().over) {
        auto octets = std::move(pending_.front().octets);
        pending_.pop_front();
        count(-1, -std::ssize(octets));
        octets.clear();
        if (spare_.size() < spare_max && octets.capacity() <= spare_octets_max)
            spare_.push_back(std::move(octets));
    }
}

void channel_replies::on_ended(ending how)
{
    set_ended();
    if (auto* const pair = std::exchange(pair_, nullptr))
        pair->leave(*this, how);
}

}  // namespace sluice::node::detail
