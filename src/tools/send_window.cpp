// Sends in flight.
#include "tools/send_window.hpp"

namespace sluice::tools {

void send_totals::count(client::outcome const& o)
{
    using client::outcome_kind;
    switch (o.kind()) {
    case outcome_kind::accepted: ++accepted; return;
    case outcome_kind::rejected: ++rejected; break;
    case outcome_kind::released: ++released; break;
    case outcome_kind::modified: ++modified; break;
    default: ++settled; return;
    }
    if (problem.empty())
        problem = "the first that was not accepted was " + o.to_string();
}

void send_totals::count(client::error_code const& why, std::string const& text)
{
    ++(why == make_error_code(error::outcome_unknown) ? unknown : not_sent);
    if (problem.empty())
        problem = text;
}

void send_window::send(client::sender const& to, bytes message, bool settled)
{
    {
        std::lock_guard const lock{mutex_};
        ++totals_.sent;
    }
    client::send_options options;
    options.settled = settled;
    to.async_send(client::encoded_message{std::move(message)}, std::move(options),
                  [this, to](client::error_code ec, client::outcome o) {
                      std::lock_guard const lock{mutex_};
                      if (ec) {
                          auto const why = to.error();
                          totals_.count(ec, why && !why->text.empty() ? why->text : ec.message());
                          broken_ = true;
                      } else {
                          totals_.count(o);
                      }
                      if (waiting_ && (in_flight() <= wanted_ || broken_))
                          changed_.notify_all();
                  });
}

void send_window::add(client::outcome const& o)
{
    std::lock_guard const lock{mutex_};
    ++totals_.sent;
    totals_.count(o);
}

void send_window::add(client::error_code const& why, std::string const& text)
{
    std::lock_guard const lock{mutex_};
    ++totals_.sent;
    totals_.count(why, text);
}

bool send_window::wait_for_room(std::chrono::milliseconds patience)
{
    std::unique_lock lock{mutex_};
    if (in_flight() < in_flight_max_)
        return true;
    // Woken when there is room for a batch, since waking for each message costs more than sending
    // it.
    wanted_ = in_flight_max_ - 1 - in_flight_max_ / 4;
    waiting_ = true;
    changed_.wait_for(lock, patience, [&] { return in_flight() <= wanted_ || broken_ || woken_; });
    waiting_ = false;
    return in_flight() < in_flight_max_;
}

bool send_window::wait_for_all(std::chrono::milliseconds patience)
{
    std::unique_lock lock{mutex_};
    wanted_ = 0;
    waiting_ = true;
    changed_.wait_for(lock, patience, [&] { return in_flight() == 0; });
    waiting_ = false;
    return in_flight() == 0;
}

void send_window::wait_until(std::chrono::steady_clock::time_point then)
{
    std::unique_lock lock{mutex_};
    changed_.wait_until(lock, then, [&] { return woken_ || broken_; });
}

void send_window::wake()
{
    {
        std::lock_guard const lock{mutex_};
        woken_ = true;
    }
    changed_.notify_all();
}

bool send_window::broken() const
{
    std::lock_guard const lock{mutex_};
    return broken_;
}

send_totals send_window::totals() const
{
    std::lock_guard const lock{mutex_};
    return totals_;
}

}  // namespace sluice::tools
