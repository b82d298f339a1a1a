// How a connection begins: TCP and what goes over it, SASL, open.
#include "client/connection_requests.hpp"
#include "client/session_core.hpp"

#include <sluice/net/transport.hpp>

#include <boost/asio/post.hpp>

namespace sluice::client::detail {

void connection_core::connect_request::execute(connection_core& on)
{
    if (!begin()) {
        on.failure_text_ = "connecting to " + on.where() + " was cancelled";
        on.connect_ = this;
        return on.finish(
            make_failure(make_error_code(sluice::error::operation_aborted), on.failure_text_));
    }
    on.connect_ = this;
    on.connect_now();
}

void connection_core::connect_now()
{
    started_ = now_;
    net::tcp_options const tcp{.no_delay = options_.no_delay, .timeout = options_.timeout};
    auto self = shared_from_this();
    if (options_.connector)
        return connect_by_user();
    connecting_ =
        net::connect_transport(io_->context().get_executor(), url(), tcp, options_.tls,
                               [self](net::connect_result r) { self->connected(std::move(r)); });
}

/// One that throws, or gives nothing back, never calls what it was given.
void connection_core::connect_by_user()
{
    auto const waits = std::make_shared<bool>(true);  // on this thread only
    auto done = [self = shared_from_this(), waits](net::connect_result r) {
        if (std::exchange(*waits, false))
            self->connected(std::move(r));
    };
    std::string fault;
    try {
        connecting_ =
            options_.connector(io_->context().get_executor(), url().host, url().port, done);
        fault = connecting_ ? "" : "gave nothing back";
    } catch (std::exception const& e) {
        fault = std::string{"threw: "} + e.what();
    } catch (...) {
        fault = "threw something that is no std::exception";
    }
    if (!*waits)
        connecting_.reset();  // it has ended from within the call
    if (fault.empty())
        return;
    boost::asio::post(io_->context(),
                      [done, text = "cannot connect to " + where()
                                    + ": connection_options::connector " + fault]() mutable {
                          done({.code = net::to_boost(sluice::error::connect_failed),
                                .text = std::move(text),
                                .stream = nullptr});
                      });
}

void connection_core::connect_request::refuse() noexcept
{
    auto const why = core_->failure();
    finish(why ? why->code : make_error_code(sluice::error::operation_aborted), why);
}

void connection_core::connect_request::give_up(std::error_code why)
{
    core_->failure_code_ = why;
    core_->failure_text_ = "connecting to " + core_->where() + " was cancelled";
    if (core_->connecting_)
        return core_->connecting_->cancel();  // its handler does the rest
    core_->lose(why, {});
    if (!core_->engine_)  // between two attempts
        core_->finish(make_failure(why, core_->failure_text_));
}

void connection_core::connect_request::finish(std::error_code code, failure_ptr why)
{
    auto const core = core_;
    auto reply = std::move(reply_);
    auto user = std::move(user_);
    delete this;
    core->answer(*core->completions_, std::move(reply), code, std::move(why),
                 client::connection{std::move(user)});
}

void connection_core::start(reply_ptr<client::connection> r)
{
    auto* const request = new connect_request{shared_from_this(), std::move(r)};
    request->accept_cancellation();
    if (!push(*request))
        request->refuse();
}

void connection_core::fail_start(std::error_code code, std::string text,
                                 reply_ptr<client::connection> r)
{
    auto why = make_failure(code, std::move(text));
    set_ended(why);
    tell_state(connection_state::closed, why);
    std::ignore = queue_.close();
    auto* const request = new connect_request{shared_from_this(), std::move(r)};
    request->refuse();
}

engine::connection_options connection_core::engine_options() const
{
    auto const left = options_.timeout - (now_ - started_);
    engine::connection_options o;
    o.container_id = container_->id();
    o.hostname = options_.hostname.empty() ? url().host : options_.hostname;
    o.sasl =
        options_.sasl == sasl_choice::none ? engine::sasl_mode::none : engine::sasl_mode::required;
    o.max_frame_size = options_.max_frame_size;
    o.outgoing_frame_max = options_.outgoing_frame_max;
    o.channel_max = options_.channel_max;
    o.idle_timeout_ms = static_cast<std::uint32_t>(std::clamp<std::int64_t>(
        options_.idle_timeout.count(), 0, std::numeric_limits<std::int32_t>::max()));
    o.handshake_timeout_ms = options_.timeout == no_timeout
                                 ? 0
                                 : static_cast<std::uint32_t>(std::clamp<std::int64_t>(
                                     left.count(), 1, std::numeric_limits<std::int32_t>::max()));
    o.offered_capabilities = options_.offered_capabilities;
    o.desired_capabilities = options_.desired_capabilities;
    o.properties = options_.properties;
    return o;
}

void connection_core::connected(net::connect_result r)
{
    connecting_.reset();
    auto const nested = in_turn();  // a cancellation comes from within a turn
    turn_guard const guard{*this};
    now_ = read_clock();
    if (r.code && !ended()) {
        auto const code = failure_code_ ? failure_code_ : std::error_code{r.code};
        if (is_curable(code)) {
            failure_text_ = std::move(r.text);
            lost_code_ = code;
            lost_ = true;
        } else {
            finish(make_failure(code, std::move(r.text)));
        }
    } else if (!ended()) {
        stream_ = std::move(r.stream);
        set_text(peer_, stream_->peer());
        begin_engine();
    }
    if (!nested)
        turn();
}

void connection_core::begin_engine()
{
    engine_.emplace(engine_options());
    if (auto const failed = engine_->open()) {
        lose(failed, "no connection to " + where()
                         + ": its open does not fit the 512 octets that every peer takes; shorten "
                           "the container's id, the host name, capabilities or properties");
        poll_events();
        return;
    }
    std::ignore = engine_->tick(now_);
    wait_to_read();
}

std::string connection_core::why_too_large(std::error_code code) const
{
    if (code != sluice::error::too_large || !engine_)
        return {};
    return ": what it says does not fit a frame, which the peer takes up to "
           + std::to_string(engine_->outgoing_frame_max())
           + " octets of; shorten its name, termini, capabilities or properties";
}

void connection_core::on_opened()
{
    set_text(remote_container_id_, std::string{engine_->remote_open().container_id});
    opened_at_ = now_;
    if (away())
        come_back();
    else
        set_phase(detail::phase::open);
    tell_state(connection_state::open, nullptr);
    if (auto* const request = std::exchange(connect_, nullptr))
        request->finish({}, nullptr);
}

}  // namespace sluice::client::detail
