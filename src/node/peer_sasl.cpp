// Who a peer is, and what it may do.
#include "node/consumer.hpp"
#include "node/management.hpp"
#include "node/node_core.hpp"
#include "node/peer.hpp"
#include "node/producer.hpp"

namespace sluice::node::detail {

// ---- the exchange

net::sasl_server_options node_core::sasl_for(net::stream_security const& security)
{
    net::sasl_server_options out{.users = users_,
                                 .certificate_user = security.peer_common_name,
                                 .plain = security.encrypted || security.loopback
                                          || options_.allow_plain_unencrypted};
    if (options_.check_password)
        out.check_password = [this](std::string_view user, std::string_view password) {
            return options_.check_password(user, password);
        };
    return out;
}

/// A flood of logins waits for one thread, and for no more of them than may; neither the node's
/// thread nor those who are in have a part in it.
bool node_core::check_elsewhere(std::shared_ptr<net::sasl_server> exchange, bytes said,
                                std::function<void(sasl_answer)> done)
{
    if (checks_waiting_ >= options_.password_checks_max)
        return false;
    ++checks_waiting_;
    boost::asio::post(*passwords_, [this, exchange = std::move(exchange), said = std::move(said),
                                    done = std::move(done)]() mutable {
        boost::asio::post(io_->context(),
                          [this, answer = exchange->respond(said), done = std::move(done)] {
                              --checks_waiting_;
                              done(answer);
                          });
    });
    return true;
}

void peer::on_sasl(bool first)
{
    if (!login_)
        return on_sasl_answer({});
    auto& exchange = login_->exchange;
    if (first)
        exchange = net::make_sasl_server(engine().sasl_mechanism(), login_->how);
    if (!exchange)
        return on_sasl_answer({});
    if (!exchange->is_slow())
        return on_sasl_answer(exchange->respond(engine().sasl_bytes()));
    auto const room = core_.check_elsewhere(
        exchange, engine().sasl_bytes(),
        [self = std::static_pointer_cast<peer>(shared_from_this())](auto const& answer) {
            if (self->connected())
                self->on_sasl_answer(answer);
            self->run();
        });
    if (!room)
        std::ignore = engine().sasl_outcome(sasl_code::sys_temp);
}

void peer::on_sasl_answer(net::sasl_server::answer const& said)
{
    using step = net::sasl_server::step;
    if (said.what == step::challenge) {
        std::ignore = engine().sasl_challenge(said.octets);
        return;
    }
    auto const good = said.what == step::accepted;
    if (good)
        user_ = login_->exchange->user();
    std::ignore = engine().sasl_outcome(good ? sasl_code::ok : sasl_code::auth, said.octets);
    login_.reset();
}

// ---- what it may do

bool peer::may(net::access what, std::string_view address) const
{
    auto const& users = core_.users();
    auto const* const u = users ? users->find(user_) : nullptr;
    return !users || (u && u->may(what, address));
}

bool peer::may_any(net::access what) const
{
    auto const& users = core_.users();
    auto const* const u = users ? users->find(user_) : nullptr;
    return !users || (u && u->may_any(what));
}

amqp_error peer::denied(net::access what, std::string_view address) const
{
    if (may(what, address))
        return {};
    auto const* const verb = what == net::access::read    ? "read from"
                             : what == net::access::write ? "write to"
                                                          : "manage";
    return {.condition = std::string{condition::unauthorized_access},
            .description =
                "user '" + user_ + "' may not " + verb + " '" + std::string{address} + "'",
            .info = {}};
}

bool consumer::allowed() const
{
    return owner().core().is_dynamic(*from_) || owner().may(net::access::read, from_->name());
}

bool producer::allowed() const
{
    return !to_ || owner().core().is_dynamic(*to_) || owner().may(net::access::write, to_->name());
}

bool management_link::allowed() const { return owner().may_any(net::access::manage); }

void node_core::set_users(std::shared_ptr<net::sasl_users const> users)
{
    users_ = std::move(users);
    for (auto const& [raw, p] : std::vector(peers_.begin(), peers_.end())) p->recheck();
    channels_.hub().recheck();
    channels_.flush();
}

void peer::recheck()
{
    if (!connected() || !engine().opened() || !core_.users())
        return;
    if (!core_.users()->find(user_))
        return close(condition::unauthorized_access,
                     "user '" + user_ + "' is not a user of this node any more");
    for (auto const& l : links_)
        if (!l->ended() && !l->allowed())
            l->detach(condition::unauthorized_access,
                      "user '" + user_ + "' may not have this link any more", true);
}

}  // namespace sluice::node::detail
