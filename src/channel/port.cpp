// A port's links: opened, read, opened again after a loss.
#include "channel/port.hpp"

#include "client/connection_core.hpp"

#include <sluice/codec/codec.hpp>
#include <sluice/codec/messaging.hpp>

#include <algorithm>
#include <map>
#include <random>

namespace sluice::channels::detail {
namespace {

constexpr std::uint32_t replies_window = 1000;
constexpr std::size_t replies_at_once = 256;

std::string random_name()
{
    std::random_device source;
    return "channels-" + std::to_string((std::uint64_t{source()} << 32) | source());
}

/// Given as octets, a link is not brought back by the client, but by the port itself: the node has
/// to see a new port, and what waits has to be repeated in the order of the calls.
bytes encoded_target(std::string_view address)
{
    bytes text;
    append(text, address);
    bytes out;
    append(out, target{.address = address.empty() ? raw_value{} : raw_value{text}});
    return out;
}

/// Where the connection's own answers are gathered.
std::shared_ptr<client::detail::completion_queue> const& completions_of(client::connection const& c)
{
    return static_cast<client::detail::connection_core const*>(c.identity())->completions();
}

/// The port of each connection that has one.
struct registry {
    std::mutex mutex;
    std::map<void const*, std::weak_ptr<port>> ports;
};
registry& all_ports()
{
    static auto* const all = new registry;  // for ports that outlive main()
    return *all;
}

/// The call that a request belongs to, if the node may find it too large; else 0.
operation_id id_of(bytes const& request)
{
    constexpr std::size_t small = 4'096;
    protocol::request r;
    std::string fault;
    if (request.size() < small || decode(request, r, fault))
        return 0;
    auto const* const s = std::get_if<protocol::select>(&r);
    return s ? s->id : 0;
}

/// What is worth another attempt while the connection lives.
bool may_pass(client::error_code code)
{
    return code != sluice::error::link_refused && code != sluice::error::invalid_argument
           && code != sluice::error::handle_max_exceeded
           && code != sluice::error::channel_max_exceeded;
}

}  // namespace

std::shared_ptr<port> port::of(client::connection const& c)
{
    auto& all = all_ports();
    std::shared_ptr<port> there;  // outlives the lock, which its end takes
    std::unique_lock lock{all.mutex};
    auto& known = all.ports[c.identity()];
    there = known.lock();
    if (there && !there->with([](port_core& core, auto) { return core.ended(); }))
        return there;
    auto made = std::make_shared<port>(c);
    known = made;
    lock.unlock();
    made->start();
    return made;
}

port::port(client::connection c)
    : connection_{std::move(c)},
      completions_{completions_of(connection_)},
      deadlines_{deadline_thread::shared()}
{
}

port::~port()
{
    auto& all = all_ports();
    std::lock_guard const lock{all.mutex};
    if (auto const it = all.ports.find(connection_.identity());
        it != all.ports.end() && it->second.expired())
        all.ports.erase(it);
}

/// Requests go out in the order in which they were made, so under the lock; nothing there waits or
/// runs anybody's code. None is ever given up, for nobody would notice: a call has its own
/// deadline.
void port::leave(std::unique_lock<std::mutex> lock)
{
    for (auto& r : core_.take_requests()) {
        auto const id = id_of(r);
        sender_.async_send(
            client::encoded_message{std::move(r)}, {.settled = true, .timeout = client::no_timeout},
            [keep = links_, weak = weak_from_this(), id](client::error_code code,
                                                         client::outcome const&) {
                auto const too_large = make_error_code(sluice::error::message_size_exceeded);
                auto const self = id != 0 && code == too_large ? weak.lock() : nullptr;
                if (self)
                    self->with([&](port_core& core, time_point) { core.refuse(id, too_large); });
            });
    }
    auto done = core_.take_finished();
    auto const next = std::min(core_.next_time(), again_);
    if (next < armed_) {
        armed_ = next;
        deadlines_->call(weak_from_this(), next);
    }
    lock.unlock();
    for (auto& d : done) d.to->finish(std::move(d.what));
}

void port::on_time()
{
    auto const now = std::chrono::steady_clock::now();
    std::unique_lock lock{mutex_};
    if (armed_ <= now)
        armed_ = never;
    core_.on_time(now);
    auto const starts = again_ <= now;
    if (starts)
        again_ = never;
    leave(std::move(lock));
    if (starts)
        start();
}

// ---- opening

void port::start()
{
    std::unique_lock lock{mutex_};
    if (core_.ended())
        return;
    auto const attempt = ++attempt_;
    session_ = {};
    sender_ = {};
    receiver_ = {};
    links_ = {};
    lock.unlock();
    connection_.async_begin(
        client::session_options{.incoming_window = 4096},
        [weak = weak_from_this(), attempt](client::error_code code, client::session s) {
            auto const self = weak.lock();
            if (self && code)
                self->failed(attempt, code, s.error() ? s.error()->text : std::string{});
            else if (self)
                self->open_links(attempt, std::move(s));
        });
}

void port::open_links(std::uint64_t attempt, client::session s)
{
    auto const name = random_name();
    {
        std::lock_guard const lock{mutex_};
        if (attempt != attempt_)
            return;
        session_ = s;
        name_ = name;
    }
    client::sender_options out;
    out.name = name;
    out.snd_settle_mode = sender_settle_mode::settled;
    out.encoded_target = encoded_target(protocol::address);
    s.async_open_sender(
        std::string{protocol::address}, std::move(out),
        [weak = weak_from_this(), attempt](client::error_code code, client::sender made) {
            if (auto const self = weak.lock())
                self->on_sender(attempt, code, std::move(made));
        });
    client::receiver_options in;
    in.name = name;
    in.snd_settle_mode = sender_settle_mode::settled;
    in.encoded_target = encoded_target({});
    in.credit_window = replies_window;
    in.inbox_max = replies_window;
    s.async_open_receiver(
        std::string{protocol::address}, std::move(in),
        [weak = weak_from_this(), attempt](client::error_code code, client::receiver made) {
            if (auto const self = weak.lock())
                self->on_receiver(attempt, code, std::move(made));
        });
}

void port::on_sender(std::uint64_t attempt, client::error_code code, client::sender s)
{
    if (code)
        return failed(attempt, code, s.error() ? s.error()->text : std::string{});
    std::unique_lock lock{mutex_};
    if (attempt != attempt_)
        return;
    sender_ = std::move(s);
    open_if_complete(std::move(lock));
}

void port::on_receiver(std::uint64_t attempt, client::error_code code, client::receiver r)
{
    if (code)
        return failed(attempt, code, r.error() ? r.error()->text : std::string{});
    std::unique_lock lock{mutex_};
    if (attempt != attempt_)
        return;
    receiver_ = r;
    receive(attempt, r);
    open_if_complete(std::move(lock));
}

void port::open_if_complete(std::unique_lock<std::mutex> lock)
{
    if (!sender_ || !receiver_)
        return;
    was_open_ = true;
    retries_.on_open(std::chrono::steady_clock::now());
    links_ = std::make_shared<links const>(links{session_, sender_, receiver_});
    // What the receiver does not notice: that the peer has detached the sender alone.
    detached_ = sender_.detached();
    detached_.async_next(
        [weak = weak_from_this(), attempt = attempt_](client::error_code, auto const&) {
            if (auto const self = weak.lock())
                self->failed(attempt, make_error_code(sluice::error::link_detached_by_peer),
                             "the link to $channels was detached");
        });
    core_.on_open();
    leave(std::move(lock));
}

// ---- replies

/// The call does not hold the link: the port does, and its end ends both.
void port::receive(std::uint64_t attempt, client::receiver const& r)
{
    r.async_receive(
        [weak = weak_from_this(), attempt](client::error_code code, client::delivery d) {
            if (auto const self = weak.lock())
                self->on_delivery(attempt, code, std::move(d));
        });
}

void port::on_delivery(std::uint64_t attempt, client::error_code code, client::delivery first)
{
    std::unique_lock lock{mutex_};
    if (attempt != attempt_)
        return;
    auto const r = receiver_;
    if (code) {
        lock.unlock();
        return failed(attempt, code, r.error() ? r.error()->text : std::string{});
    }
    core_.on_message(first.body());
    for (std::size_t i = 1; i < replies_at_once; ++i) {
        auto const next = r.try_receive();
        if (!next)
            break;
        core_.on_message(next.body());
    }
    if (!core_.ended()) {
        leave(std::move(lock));
        return receive(attempt, r);
    }
    ++attempt_;  // the node broke the protocol
    auto const gone = std::tuple{std::exchange(session_, {}), std::exchange(sender_, {}),
                                 std::exchange(receiver_, {}), std::exchange(links_, {})};
    leave(std::move(lock));
}

// ---- losses

void port::failed(std::uint64_t attempt, client::error_code code, std::string const& text)
{
    std::unique_lock lock{mutex_};
    if (attempt != attempt_ || core_.ended())
        return;
    ++attempt_;  // of two links only the first is heard
    if (auto const why = connection_.error())
        return end(std::move(lock), why->code ? why->code : std::error_code{code}, why->text);
    if (!core_.is_open() && !may_pass(code)) {
        auto const refused = code == sluice::error::link_refused && !was_open_;
        return end(std::move(lock),
                   refused ? make_error_code(errc::not_a_node) : std::error_code{code}, text);
    }
    core_.on_lost();
    auto const now = std::chrono::steady_clock::now();
    again_ = now + retries_.on_failed(now);
    leave(std::move(lock));
}

void port::end(std::unique_lock<std::mutex> lock, std::error_code code, std::string text)
{
    core_.on_ended(code, std::move(text));
    auto const gone = std::tuple{std::exchange(session_, {}), std::exchange(sender_, {}),
                                 std::exchange(receiver_, {}), std::exchange(links_, {})};
    leave(std::move(lock));
}

}  // namespace sluice::channels::detail
