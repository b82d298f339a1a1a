// Requests in, replies out.
#include "client/user_values.hpp"

#include <sluice/client/responder.hpp>

#include <atomic>

namespace sluice::client {

namespace detail {

class responder_core {
public:
    responder_core(receiver from, sender to) : from_{std::move(from)}, to_{std::move(to)} {}

    static void listen(std::shared_ptr<responder_core> const& self, responder::handler h);

    receiver from_;
    sender to_;
    std::atomic<std::uint64_t> served_{0};
};

}  // namespace detail

struct incoming_request::state {
    state(client::delivery d, sluice::message m, std::shared_ptr<detail::responder_core> c)
        : delivery{std::move(d)}, message{std::move(m)}, core{std::move(c)}
    {
    }

    bool take() noexcept { return !answered.exchange(true, std::memory_order_acq_rel); }

    client::delivery delivery;  // released when the last handle goes
    sluice::message message;
    std::shared_ptr<detail::responder_core> core;
    std::atomic<bool> answered{false};
};

sluice::message const& incoming_request::message() const noexcept { return state_->message; }
client::delivery const& incoming_request::delivery() const noexcept { return state_->delivery; }

namespace {

/// The link may be gone by now: then the request comes again by itself.
template <class F>
void quietly(F f) noexcept
{
    try {
        f();
    } catch (boost::system::system_error const&) {
    }
}

}  // namespace

void incoming_request::reply(sluice::message m) const
{
    if (!state_->take())
        return;
    auto const& asked = state_->message.properties;
    state_->core->served_.fetch_add(1, std::memory_order_relaxed);
    if (!asked.reply_to)
        return quietly([this] { state_->delivery.accept(); });
    m.properties.to = asked.reply_to;
    m.properties.correlation_id =
        asked.correlation_id.is_null() ? asked.message_id : asked.correlation_id;
    state_->core->to_.async_send(
        m, [d = state_->delivery](client::error_code code, outcome const& o) {
            quietly([&] {
                // Rejected: nobody waits there any more, and trying again would not help.
                if (!code && (o.accepted() || o.rejected() || o.kind() == outcome_kind::none))
                    d.accept();
                else
                    d.release();
            });
        });
}

void incoming_request::reject(amqp_error why) const
{
    detail::require_none(detail::fault_in(why));
    if (state_->take())
        quietly([&] { state_->delivery.reject(std::move(why)); });
}

namespace detail {

void responder_core::listen(std::shared_ptr<responder_core> const& self, responder::handler h)
{
    self->from_.on_message([weak = std::weak_ptr{self}, h = std::move(h)](delivery d) {
        auto const live = weak.lock();
        if (!live)
            return;
        sluice::message m;
        if (decode(d.body(), m))
            return d.settled() ? void() : d.reject({.condition = condition::decode_error});
        h(incoming_request{
            std::make_shared<incoming_request::state>(std::move(d), std::move(m), live)});
    });
}

}  // namespace detail

responder responder::open(session const& on, std::string const& address, handler h,
                          responder_options options)
{
    auto to = options.replies ? *options.replies : on.open_sender("", options.sender);
    auto from = on.open_receiver(address, options.receiver);
    responder out;
    out.core_ = std::make_shared<detail::responder_core>(std::move(from), std::move(to));
    detail::responder_core::listen(out.core_, std::move(h));
    return out;
}

responder responder::open(session const& on, std::string const& address, function f,
                          responder_options options)
{
    return open(on, address, handler{[f = std::move(f)](incoming_request const& r) {
                    try {
                        r.reply(f(r.message()));
                    } catch (std::exception const& e) {
                        r.reject({.condition = condition::internal_error,
                                  .description = detail::as_utf8(e.what())});
                    } catch (...) {  // released, it would come again and throw again
                        r.reject({.condition = condition::internal_error,
                                  .description = "what was thrown is no std::exception"});
                    }
                }},
                std::move(options));
}

std::uint64_t responder::served() const noexcept
{
    return core_->served_.load(std::memory_order_relaxed);
}

void responder::close() const
{
    core_->from_.on_message({});
    core_->from_.async_close([](error_code) {});
    core_->to_.async_close([](error_code) {});
}

}  // namespace sluice::client
