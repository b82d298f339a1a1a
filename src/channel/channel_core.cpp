// Calls on a channel, on their way to its port and back.
#include "channel/port.hpp"
#include "channel/unfit.hpp"

#include <sluice/channel/detail/channel_core.hpp>
#include <sluice/net/never.hpp>

#include <algorithm>
#include <random>

namespace sluice::channels::detail {

// ---- answers

/// Hands an answer to whoever called. No code of a user's runs here.
class call_sink final : public sink {
public:
    call_sink(port& p, raw_reply r, std::shared_ptr<channel_core> one)
        : port_{p}, reply_{std::move(r)}, one_{std::move(one)}
    {
    }
    call_sink(port& p, raw_reply r, std::vector<std::shared_ptr<channel_core>> many)
        : port_{p}, reply_{std::move(r)}, many_{std::move(many)}
    {
    }
    static void* operator new(std::size_t size) { return client::detail::recycle_allocate(size); }
    static void operator delete(void* p, std::size_t size) noexcept
    {
        client::detail::recycle_free(p, size);
    }

    bool opens = false;  // the answer is the channel itself

    void finish(answer&& a) override
    {
        raw_answer out{.what = a.what, .index = a.index, .state = a.state, .text = a.text};
        if (!a.values.empty() || opens)
            out.held =
                lease{many_.empty() ? one_ : many_.at(a.index), a.generation, std::move(a.values)};
        client::failure_ptr why;
        if (a.code)
            why = std::make_shared<client::failure const>(
                client::failure{.code = a.code, .error = {}, .text = std::move(a.text)});
        reply_->set(a.code, std::move(why), std::move(out));
        port_.complete(std::move(reply_));
    }

private:
    port& port_;  // kept by its channels
    raw_reply reply_;
    std::shared_ptr<channel_core> one_;
    std::vector<std::shared_ptr<channel_core>> many_;  // of a select, by case
};

namespace {

/// Lets a caller's signal reach his call.
class cancel_call final : public client::detail::canceller {
public:
    cancel_call(std::weak_ptr<port> p, operation_id id) : port_{std::move(p)}, id_{id} {}
    void cancel() noexcept override
    {
        if (auto const p = port_.lock())
            p->with([&](port_core& core, time_point now) {
                core.cancel(id_, make_error_code(sluice::error::operation_aborted), now);
            });
    }

private:
    std::weak_ptr<port> port_;
    operation_id id_;
};

time_point due_after(time_point now, milliseconds timeout)
{
    return timeout >= net::never ? never : now + timeout;
}

/// The number that a call is cancelled by, connected before the call can complete.
operation_id prepare(std::shared_ptr<port> const& p, raw_reply& r)
{
    auto const id = p->next_id();
    if (r->cancellable())
        r->connect(std::make_shared<cancel_call>(p, id));
    return id;
}

/// Asking the machine for random bits takes long: all that it gives at once are used.
protocol::handle_id random_handle()
{
    std::random_device source;
    protocol::handle_id out;
    std::random_device::result_type bits = 0;
    for (std::size_t i = 0; i != out.size(); ++i) {
        bits = i % sizeof bits == 0 ? source() : bits >> 8;
        out[i] = static_cast<std::byte>(bits & 0xffU);
    }
    return out;
}

void answer_at_once(port& p, raw_reply r, std::error_code code, std::string text)
{
    call_sink{p, std::move(r), std::shared_ptr<channel_core>{}}.finish(
        {.code = code, .text = std::move(text)});
}

std::string not_with_at_most_once(options const& o)
{
    if (o.delivery != guarantee::at_most_once)
        return {};
    if (o.async_ack)
        return "at_most_once and async_ack exclude each other: nothing is acknowledged";
    if (o.capacity == 0)
        return "at_most_once wants a capacity of 1 or more: at capacity 0 a send waits for the "
               "pickup, which is an acknowledgement";
    return {};
}

}  // namespace

// ---- the handle

channel_core::channel_core(std::shared_ptr<port> p, std::string name, channels::options o)
    : port_{std::move(p)}, name_{std::move(name)}, options_{std::move(o)}
{
}

channel_core::~channel_core()
{
    if (key_ != 0)
        port_->with([this](port_core& core, time_point) { core.forget_handle(key_); });
}

client::executor channel_core::get_executor() const { return port_->get_executor(); }

channel_protocol::channel_options channel_core::in_force() const
{
    return port_->with([this](port_core& core, time_point) {
        auto const* const h = core.find_handle(key_);
        return h ? h->in_force : protocol::channel_options{};
    });
}

std::shared_ptr<channel_core> channel_core::open(client::connection const& on, std::string name,
                                                 channels::options o, std::string_view codec,
                                                 raw_reply r)
{
    auto p = port::of(on);
    std::shared_ptr<channel_core> made{new channel_core{p, std::move(name), std::move(o)}};
    auto const& opt = made->options_;
    if (auto const text = not_with_at_most_once(opt); !text.empty()) {
        made->refuse(r, make_error_code(errc::at_most_once_refused), text);
        return made;
    }
    if (auto const text = unfit(made->name_, opt); !text.empty()) {
        made->refuse(r, make_error_code(sluice::error::invalid_argument), text);
        return made;
    }
    auto const visibility = std::clamp<std::int64_t>(opt.visibility_timeout.count(), 0, UINT32_MAX);
    handle_record h;
    h.id = random_handle();
    h.name = made->name_;
    h.wanted = {.capacity = opt.capacity,
                .codec = std::string{codec},
                .delivery = opt.delivery,
                .visibility_timeout_ms = static_cast<std::uint32_t>(visibility),
                .tries_max = opt.tries_max,
                .dead_letter = opt.dead_letter};
    h.create = opt.create;
    h.async_ack = opt.async_ack;
    h.ack_delay = opt.async_ack_delay;
    auto const id = prepare(p, r);
    auto to = std::make_unique<call_sink>(*p, std::move(r), made);
    to->opens = true;
    p->with([&](port_core& core, time_point now) {
        made->key_ = core.add_handle(std::move(h));
        core.open(id, made->key_, std::move(to), due_after(now, opt.timeout));
    });
    return made;
}

bool channel_core::refuse(raw_reply& r, std::error_code code, std::string const& text) const
{
    answer_at_once(*port_, std::move(r), code, "channel '" + name_ + "': " + text);
    return true;
}

bool channel_core::refuses_undecodable(raw_reply& r)
{
    return tell_undecodable()
           && refuse(r, make_error_code(errc::undecodable),
                     "an earlier batch had a value that the codec does not take");
}

void channel_core::send(bytes octets, bool now, milliseconds timeout, raw_reply r)
{
    std::vector<part> parts(1);
    parts.front().handle = key_;
    parts.front().send = true;
    parts.front().octets = std::move(octets);
    auto const id = prepare(port_, r);
    auto to = std::make_unique<call_sink>(*port_, std::move(r), shared_from_this());
    port_->with([&](port_core& core, time_point at) {
        core.select(id, std::move(parts), now, false, std::move(to), due_after(at, timeout));
    });
}

void channel_core::receive(std::uint32_t max, bool now, bool by_hand, milliseconds timeout,
                           raw_reply r)
{
    if (refuses_undecodable(r))
        return;
    if (max == 0) {
        refuse(r, make_error_code(sluice::error::invalid_argument), "a batch of 0 values");
        return;
    }
    if (by_hand && in_force().delivery == guarantee::at_most_once) {
        refuse(r, make_error_code(errc::at_most_once_refused), "it has nothing to acknowledge");
        return;
    }
    std::vector<part> parts(1);
    parts.front().handle = key_;
    parts.front().max = max;
    auto const id = prepare(port_, r);
    auto to = std::make_unique<call_sink>(*port_, std::move(r), shared_from_this());
    port_->with([&](port_core& core, time_point at) {
        core.select(id, std::move(parts), now, by_hand, std::move(to), due_after(at, timeout));
    });
}

void channel_core::end(channel_protocol::ending how, raw_reply r)
{
    auto const id = prepare(port_, r);
    auto to = std::make_unique<call_sink>(*port_, std::move(r), shared_from_this());
    port_->with([&](port_core& core, time_point now) {
        core.end(id, key_, how, std::move(to), due_after(now, options_.timeout));
    });
}

void channel_core::state(raw_reply r)
{
    auto const id = prepare(port_, r);
    auto to = std::make_unique<call_sink>(*port_, std::move(r), shared_from_this());
    port_->with([&](port_core& core, time_point now) {
        core.stat(id, key_, std::move(to), due_after(now, options_.timeout));
    });
}

void channel_core::settle(lease held, channel_protocol::verdict what, std::string why, raw_reply r)
{
    auto const generation = held.generation();
    auto const values = std::move(held.values());
    held.forget();
    if (values.empty()) {
        refuse(r, make_error_code(sluice::error::already_settled), "the value has its answer");
        return;
    }
    if (what == channel_protocol::verdict::accepted && options_.async_ack) {
        acknowledge(generation, values);
        answer_at_once(*port_, std::move(r), {}, {});
        return;
    }
    protocol::settle s{.token = values.front().token, .verdict = what, .reason = std::move(why)};
    auto const id = prepare(port_, r);
    auto to = std::make_unique<call_sink>(*port_, std::move(r), shared_from_this());
    port_->with([&](port_core& core, time_point now) {
        core.settle(id, key_, generation, std::move(s), std::move(to),
                    due_after(now, options_.timeout));
    });
}

void channel_core::select(std::vector<case_request> cases, std::optional<std::size_t> otherwise,
                          milliseconds timeout, raw_reply r)
{
    auto const first = cases.front().channel;
    auto const& p = first->port_;
    if (cases.size() > protocol::cases_max) {
        first->refuse(r, make_error_code(sluice::error::invalid_argument),
                      "a select of " + std::to_string(cases.size()) + " cases; there may be "
                          + std::to_string(protocol::cases_max));
        return;
    }
    std::vector<part> parts;
    std::vector<std::shared_ptr<channel_core>> owners;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        auto& c = cases[i];
        if (c.channel->port_ != p) {
            first->refuse(r, make_error_code(errc::other_connection),
                          "and channel '" + c.channel->name_ + "' (case " + std::to_string(i)
                              + ") are of different connections");
            return;
        }
        if (!c.send && c.channel->refuses_undecodable(r))
            return;
        parts.push_back({.handle = c.channel->key_,
                         .send = c.send,
                         .max = c.max,
                         .octets = std::move(c.octets)});
        owners.push_back(std::move(c.channel));
    }
    auto const id = prepare(p, r);
    auto to = std::make_unique<call_sink>(*p, std::move(r), std::move(owners));
    p->with([&](port_core& core, time_point now) {
        core.select(id, std::move(parts), otherwise.has_value(), false, std::move(to),
                    due_after(now, timeout));
    });
}

// ---- values

void channel_core::give_back(std::uint64_t generation, std::vector<arrival> const& values)
{
    port_->with([&](port_core& core, time_point) { core.give_back(generation, values); });
}

void channel_core::acknowledge(std::uint64_t generation, std::vector<arrival> const& values)
{
    port_->with([&](port_core& core, time_point now) { core.ack(key_, generation, values, now); });
}

void channel_core::dead(std::uint64_t generation, arrival const& value, std::string why)
{
    if (value.token == 0)
        return;
    port_->with([&](port_core& core, time_point) {
        core.settle(0, key_, generation,
                    {.token = value.token,
                     .verdict = protocol::verdict::rejected,
                     .reason = std::move(why)},
                    nullptr, never);
    });
}

void channel_core::keep_undecodable(undecodable u, bool told)
{
    constexpr std::size_t kept = 16;
    std::lock_guard const lock{mutex_};
    if (undecodable_.size() == kept)
        undecodable_.pop_front();
    undecodable_.push_back(std::move(u));
    if (!told)
        ++untold_;
}

std::optional<undecodable> channel_core::take_undecodable()
{
    std::lock_guard const lock{mutex_};
    if (undecodable_.empty())
        return std::nullopt;
    std::optional<undecodable> out{std::move(undecodable_.front())};
    undecodable_.pop_front();
    return out;
}

bool channel_core::tell_undecodable()
{
    std::lock_guard const lock{mutex_};
    return untold_ > 0 && untold_-- > 0;
}

lease::lease() noexcept = default;
lease::lease(std::shared_ptr<channel_core> of, std::uint64_t generation,
             std::vector<arrival> values)
    : of_{std::move(of)}, generation_{generation}, values_{std::move(values)}
{
}
lease::lease(lease&& other) noexcept = default;
lease& lease::operator=(lease&& other) noexcept
{
    lease old{std::move(*this)};
    of_ = std::move(other.of_);
    generation_ = other.generation_;
    values_ = std::exchange(other.values_, {});
    return *this;
}
lease::~lease()
{
    if (of_ && !values_.empty())
        of_->give_back(generation_, values_);
}

void lease::acknowledge()
{
    if (of_ && !values_.empty())
        of_->acknowledge(generation_, values_);
    forget();
}

void lease::reject(std::size_t i, std::string const& why)
{
    of_->dead(generation_, values_.at(i), why);
    values_[i].token = 0;
}

void lease::forget() noexcept { values_.clear(); }

}  // namespace sluice::channels::detail
