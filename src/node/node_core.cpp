// Connections, their links, and what is done later on the node's thread.
#include "node/node_core.hpp"

#include "node/peer.hpp"
#include "node/transactions.hpp"

#include <sluice/codec/writer.hpp>
#include <sluice/net/never.hpp>

#include <random>

namespace sluice::node::detail {
namespace {

constexpr clock_time sweep_every{250};
constexpr clock_time stop_poll{10};
constexpr std::size_t transactions_least = 100;  // that a connection may have, at the least
constexpr clock_time close_patience{1'000};      // for the peers' closes when the node stops

std::string random_name()
{
    std::random_device source;
    std::string out;
    for (int i = 0; i < 16; ++i) out += "0123456789abcdef"[source() % 16];
    return out;
}

bytes product()
{
    bytes out;
    map_writer map{out};
    map.add(symbol{"product"}, std::string_view{"sluice"});
    map.finish();
    return out;
}

}  // namespace

node_core::node_core(node_options options)
    : options_{std::move(options)},
      properties_{product()},
      io_{std::make_shared<client::detail::io_thread>()},
      timer_{io_->context()},
      stop_timer_{io_->context()},
      away_{options_.suspended_max},
      dynamic_prefix_{"dynamic-" + random_name() + "-"}
{
    if (!options_.users_file.empty()) {
        std::string fault;
        auto read = net::sasl_users::read(options_.users_file, &fault);
        if (auto const twice = ": " + read.error().message(); !read && fault.ends_with(twice))
            fault.resize(fault.size() - twice.size());
        if (!read)
            net::throw_error(read.error(), fault);
        options_.users = std::make_shared<net::sasl_users const>(std::move(*read));
    }
    users_ = options_.users;
    passwords_.emplace(1);
    boost::asio::post(io_->context(), [this] { arm_timer(); });
}

node_core::~node_core()
{
    options_.stop_timeout = milliseconds{0};
    stop();
}

clock_time node_core::now() const noexcept
{
    return std::chrono::duration_cast<clock_time>(
        std::chrono::steady_clock::now().time_since_epoch());
}

std::int64_t node_core::wall_clock() const noexcept
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// ---- connections

void node_core::remove(peer& p)
{
    away_.on_connection_closed(&p, now());
    auto const it = peers_.find(&p);
    if (it == peers_.end())
        return;
    due_peers_.push_back(std::move(it->second));  // it goes once nobody is inside of it
    peers_.erase(it);
    stats_.connections = peers_.size();
    make_room();
    schedule();
}

void node_core::run_later(peer& p)
{
    if (std::exchange(p.due, true))
        return;
    auto const it = peers_.find(&p);
    if (it == peers_.end())
        return;
    due_peers_.push_back(it->second);
    schedule();
}

void node_core::schedule()
{
    if (std::exchange(scheduled_, true))
        return;
    boost::asio::post(io_->context(), [this] { run_due(); });
}

void node_core::dispatch_later(queue& q)
{
    auto const it = queues_.find(q.name());
    if (it == queues_.end() || it->second.get() != &q)
        return;
    if (due_queues_.empty() || due_queues_.back().get() != &q)
        due_queues_.push_back(it->second);
    schedule();
}

void node_core::run_due()
{
    scheduled_ = false;
    channels_.flush();
    for (auto const& q : std::exchange(due_queues_, {})) q->dispatch();
    for (auto const& p : std::exchange(due_peers_, {})) {
        p->due = false;
        p->run();
    }
    for (auto const& q : std::exchange(idle_queues_, {})) drop_idle(*q);
    publish();
}

std::size_t node_core::on_buffered(std::size_t before, std::size_t after) noexcept
{
    buffered_ = buffered_ - before + after;
    return buffered_;
}

// ---- links

void node_core::remember(node_link& l) { links_[l.key()] = &l; }

void node_core::forget(node_link& l)
{
    auto const it = links_.find(l.key());
    if (it != links_.end() && it->second == &l)
        links_.erase(it);
    on_link_gone(l.engine_link());
}

void node_core::steal(link_key const& key)
{
    auto const it = links_.find(key);
    if (it == links_.end())
        return;
    auto* const old = it->second;
    links_.erase(it);
    old->detach(condition::link_stolen,
                "link '" + key.name + "' of container '" + key.container
                    + "' was attached elsewhere [2.6.1]",
                true);
    // What it has not settled is the new link's to resume; the old peer may never answer.
    old->owner().end_link(old->engine_link(), ending::detached);
}

void node_core::suspend(std::unique_ptr<suspended> s) { away_.add(std::move(s), now()); }

// ---- transactions

bytes node_core::begin_transaction(peer& connection, std::uint64_t controller)
{
    // A tenth of all, so that nobody takes them from everybody else.
    auto const share = std::max(options_.transactions_max * 10, transactions_least);
    if (connection.transactions.size() >= share
        || transactions_.size() >= options_.transactions_max * 100)
        return {};
    auto const number = next_id();
    bytes id(8);
    for (unsigned i = 0; i < 8; ++i) id[i] = static_cast<std::byte>(number >> (56 - 8 * i));
    transactions_.emplace(id, std::make_unique<transaction>(
                                  *this, connection, controller,
                                  now() + net::at_most_never(options_.transaction_timeout)));
    connection.transactions.insert(id);
    return id;
}

transaction* node_core::find_transaction(bytes const& id, peer const& connection) noexcept
{
    auto const it = transactions_.find(id);
    return it == transactions_.end() || &it->second->connection() != &connection ? nullptr
                                                                                 : it->second.get();
}

void node_core::end_transaction(bytes const& id)
{
    auto const it = transactions_.find(id);
    if (it == transactions_.end())
        return;
    auto const over = std::move(it->second);  // rolls back what is left, which may come back here
    transactions_.erase(it);
}

// ---- time

void node_core::arm_timer()
{
    timer_.expires_after(sweep_every);
    timer_.async_wait([this](boost::system::error_code ec) {
        if (!ec && !stopping_)  // it may have been due when it was cancelled
            on_timer();
    });
}

void node_core::on_timer()
{
    auto const time = now();
    away_.expire(time);
    channels_.on_time(time);
    channels_.flush();
    for (auto const& [name, q] : queues_) q->expire(time);
    expire_transactions(time);
    publish();
    arm_timer();
}

/// Only their connection remembers them, so that it can be told what became of them.
void node_core::expire_transactions(clock_time time)
{
    std::vector<std::unique_ptr<transaction>> over;  // they roll back, which may come back here
    for (auto it = transactions_.begin(); it != transactions_.end();) {
        if (it->second->until() > time) {
            ++it;
            continue;
        }
        over.push_back(std::move(it->second));
        it = transactions_.erase(it);
    }
}

// ---- the end

void node_core::stop()
{
    {
        std::lock_guard const lock{stop_mutex_};
        if (std::exchange(stopped_, true))
            return;
    }
    std::promise<void> done;
    auto over = done.get_future();
    boost::asio::post(io_->context(), [&] { begin_stop(done); });
    over.wait();
    if (passwords_)
        passwords_->join();
    io_->stop();
}

void node_core::begin_stop(std::promise<void>& done)
{
    stopping_ = true;
    stopped_promise_ = &done;
    close_listeners();
    timer_.cancel();
    stop_at_ = now() + net::at_most_never(options_.stop_timeout);
    go_on_stopping();
}

/// First what is in flight, then the closes, then the sockets.
void node_core::go_on_stopping()
{
    auto const time = now();
    if (!closing_) {
        auto rest = true;
        for (auto const& [raw, p] : peers_) rest = rest && p->at_rest();
        if (rest || time >= stop_at_) {
            closing_ = true;
            stop_at_ = time + std::min<clock_time>(close_patience, options_.stop_timeout);
            for (auto const& [raw, p] : peers_)
                p->close(condition::connection_forced, "the node is stopping");
        }
    } else if (peers_.empty() || time >= stop_at_) {
        auto const left = peers_;
        for (auto const& [raw, p] : left) p->lose(make_error_code(error::operation_aborted));
        run_due();
        queues_.clear();
        publish();
        return stopped_promise_->set_value();
    }
    stop_timer_.expires_after(peers_.empty() ? clock_time{0} : stop_poll);
    stop_timer_.async_wait([this](boost::system::error_code) { go_on_stopping(); });
}

void node_core::publish() noexcept
{
    stats_.queues = queues_.size();
    auto const& c = channels_.hub().count();
    stats_.channels = c.channels;
    stats_.channel_requests = c.waiting;
    stats_.channel_values = c.values;
    stats_.channel_bytes = channels_.stored_bytes();
    std::lock_guard const lock{stats_mutex_};
    published_ = stats_;
}

node_stats node_core::stats()
{
    auto const last = [&] {
        std::lock_guard const lock{stats_mutex_};
        return published_;
    };
    return ask(
        [](node_core& c) {
            c.publish();
            return c.stats_;
        },
        last());
}

}  // namespace sluice::node::detail
