// Listeners and requests as users see them.
#include "client/listener_core.hpp"
#include "client/receiver_core.hpp"
#include "client/sender_core.hpp"
#include "client/server_requests.hpp"
#include "client/user_values.hpp"

#include <sluice/client/container.hpp>

namespace sluice::client {

using detail::connection_asked;
using detail::connection_core;
using detail::link_asked;
using detail::session_asked;

bool peer_request::answered() const noexcept { return state_->answered; }

namespace {

template <class Asked>
Asked& as_asked(auto const& state) noexcept
{
    return static_cast<Asked&>(*state);
}

}  // namespace

// ---- connections

std::string const& connection_request::container_id() const noexcept
{
    return as_asked<connection_asked>(state_).container_id;
}
std::string const& connection_request::hostname() const noexcept
{
    return as_asked<connection_asked>(state_).hostname;
}
std::string const& connection_request::user() const noexcept
{
    return as_asked<connection_asked>(state_).user;
}
std::string const& connection_request::peer() const noexcept
{
    return as_asked<connection_asked>(state_).peer;
}
std::vector<std::string> const& connection_request::desired_capabilities() const noexcept
{
    return as_asked<connection_asked>(state_).desired_capabilities;
}
bytes const& connection_request::properties() const noexcept
{
    return as_asked<connection_asked>(state_).properties;
}

connection connection_request::accept() const
{
    if (!state_->take())
        return {};
    auto user = detail::make_user_pointer(state_->connection);
    state_->on_strand([user](connection_core& on) { on.accept_connection(user); });
    return connection{std::move(user)};
}

void connection_request::refuse(amqp_error why) const
{
    detail::require_none(detail::fault_in(why));
    if (state_->take())
        state_->on_strand(
            [why = std::move(why)](connection_core& on) { on.refuse_connection(why); });
}

// ---- sessions

session session_request::accept(session_options options) const
{
    detail::require_none(detail::fault_in(options));
    if (!state_->take())
        return {};
    auto const& connection = state_->connection;
    auto made = std::make_shared<detail::session_core>(connection, connection->server_user(), true,
                                                       std::move(options));
    auto handle = detail::make_user_pointer(made);
    made->user_pointer = handle;
    state_->on_strand([state = state_, made](connection_core& on) {
        on.accept_session(static_cast<session_asked&>(*state), made);
    });
    return session{std::move(handle)};
}

void session_request::refuse(amqp_error why) const
{
    detail::require_none(detail::fault_in(why));
    if (state_->take())
        state_->on_strand([state = state_, why = std::move(why)](connection_core& on) {
            on.refuse_session(static_cast<session_asked&>(*state), why);
        });
}

// ---- links

std::string const& link_request::name() const noexcept { return as_asked<link_asked>(state_).name; }
bool link_request::peer_sends() const noexcept { return as_asked<link_asked>(state_).peer_sends; }
bool link_request::to_coordinator() const noexcept
{
    return as_asked<link_asked>(state_).to_coordinator;
}
terminus const& link_request::source() const noexcept
{
    return as_asked<link_asked>(state_).source;
}
terminus const& link_request::target() const noexcept
{
    return as_asked<link_asked>(state_).target;
}
sender_settle_mode link_request::snd_settle_mode() const noexcept
{
    return as_asked<link_asked>(state_).snd_settle_mode;
}
receiver_settle_mode link_request::rcv_settle_mode() const noexcept
{
    return as_asked<link_asked>(state_).rcv_settle_mode;
}
std::uint64_t link_request::max_message_size() const noexcept
{
    return as_asked<link_asked>(state_).max_message_size;
}
bytes const& link_request::properties() const noexcept
{
    return as_asked<link_asked>(state_).properties;
}

session link_request::session() const
{
    return client::session{as_asked<link_asked>(state_).session};
}

sender_options link_request::sender_defaults() const
{
    auto const& asked = as_asked<link_asked>(state_);
    sender_options o;
    o.source = asked.source;
    o.source.filter.clear();
    o.target = asked.target;
    o.snd_settle_mode = asked.snd_settle_mode;
    o.rcv_settle_mode = asked.rcv_settle_mode;
    return o;
}

receiver_options link_request::receiver_defaults() const
{
    auto const& asked = as_asked<link_asked>(state_);
    receiver_options o;
    o.source = asked.source;
    o.target = asked.target;
    o.encoded_target = asked.encoded_target;
    o.snd_settle_mode = asked.snd_settle_mode;
    o.rcv_settle_mode = asked.rcv_settle_mode;
    return o;
}

sender link_request::accept_sender(sender_options options) const
{
    detail::require_none(detail::fault_in(options));
    auto& asked = as_asked<link_asked>(state_);
    if (asked.peer_sends || !asked.take())
        return {};
    options.name = asked.name;
    auto made =
        std::make_shared<detail::sender_core>(asked.session, asked.session->user_pointer.lock(),
                                              asked.connection->server_user(), std::move(options));
    auto handle = detail::make_user_pointer(made);
    asked.on_strand([state = state_, made](connection_core& on) {
        on.accept_link(static_cast<link_asked&>(*state), made);
    });
    return sender{std::move(handle)};
}

receiver link_request::accept_receiver(receiver_options options) const
{
    detail::require_none(detail::fault_in(options));
    auto& asked = as_asked<link_asked>(state_);
    if (!asked.peer_sends || !asked.take())
        return {};
    options.name = asked.name;
    auto made = std::make_shared<detail::receiver_core>(
        asked.session, asked.session->user_pointer.lock(), asked.connection->server_user(),
        std::move(options));
    auto handle = detail::make_user_pointer(made);
    asked.on_strand([state = state_, made](connection_core& on) {
        on.accept_link(static_cast<link_asked&>(*state), made);
    });
    return receiver{std::move(handle)};
}

void link_request::refuse(amqp_error why) const
{
    detail::require_none(detail::fault_in(why));
    if (state_->take())
        state_->on_strand([state = state_, why = std::move(why)](connection_core& on) {
            on.refuse_link(static_cast<link_asked&>(*state), why);
        });
}

// ---- listeners

std::uint16_t listener::port() const noexcept { return core_->port(); }
std::string listener::address() const { return core_->address(); }
std::size_t listener::connections() const noexcept { return core_->connections(); }
void listener::close() const { core_->close(); }
std::error_code listener::reload_tls(std::string* fault) const
{
    auto const& tls = core_->options().tls;
    return tls ? core_->set_tls(*tls, fault) : make_error_code(error::invalid_state);
}
std::error_code listener::reload_tls(net::tls_server_options const& options,
                                     std::string* fault) const
{
    return core_->options().tls ? core_->set_tls(options, fault)
                                : make_error_code(error::invalid_state);
}
executor listener::get_executor() const { return core_->completions()->get_executor(); }
void listener::start_stop(amqp_error why, detail::reply_ptr<> r) const
{
    if (auto const unfit = detail::refusal(detail::fault_in(why)))
        return detail::refuse(*core_->completions(), std::move(r), unfit);
    core_->start_stop(std::move(why), std::move(r));
}

listener container::listen(std::string const& host, std::uint16_t port, listener_options options,
                           server_handlers handlers)
{
    detail::require_none(detail::fault_in(options));
    if (options.connection.timeout == milliseconds{0})
        options.connection.timeout = default_timeout;
    auto made =
        std::make_shared<detail::listener_core>(core_, std::move(options), std::move(handlers));
    std::string fault;
    if (auto const failed = made->open(host, port, fault))
        net::throw_error(failed, fault);
    if (!core_->add(made))
        net::throw_error(make_error_code(error::operation_aborted), "the container is going");
    return listener{detail::make_user_pointer(std::move(made))};
}

}  // namespace sluice::client
