// The socket benchmark's two sides on Proton-C's proactor, as quick as its interface lets a skilled
// user be: messages encoded beforehand, about 150 of them queued before a write, frames (and so its
// buffers) of 64 KiB, one thread.
#pragma once

#include "socket_work.hpp"

#include <sluice/codec/message_writer.hpp>

#include <proton/condition.h>
#include <proton/connection.h>
#include <proton/delivery.h>
#include <proton/event.h>
#include <proton/link.h>
#include <proton/listener.h>
#include <proton/netaddr.h>
#include <proton/proactor.h>
#include <proton/sasl.h>
#include <proton/session.h>
#include <proton/terminus.h>
#include <proton/transport.h>

#include <memory>

namespace sluice::bench {

class proton_side {
public:
    explicit proton_side(socket_work const& w) : work_{w}, meter_{w} {}
    virtual ~proton_side() = default;

    void run()
    {
        start(proactor_.get());
        while (!over_) {
            auto* const batch = pn_proactor_wait(proactor_.get());
            while (auto* const e = pn_event_batch_next(batch)) handle(e);
            pn_proactor_done(proactor_.get(), batch);
        }
    }

protected:
    virtual void start(pn_proactor_t* p) = 0;
    virtual void on_event(pn_event_t* e) = 0;

    pn_transport_t* transport()
    {
        auto* const t = pn_transport();
        pn_transport_set_max_frame(t, 65'536);
        return t;
    }
    /// To the other side, or to the broker that is between.
    pn_connection_t* connect(pn_proactor_t* p, char const* name)
    {
        auto* const c = pn_connection();
        auto* const t = transport();
        pn_connection_set_container(c, name);
        auto to = "127.0.0.1:" + work_.port;
        if (!work_.through.empty()) {
            socket_broker const broker{work_.through};
            to = broker.host_port;
            if (!broker.user.empty()) {
                pn_connection_set_user(c, broker.user.c_str());
                pn_connection_set_password(c, broker.password.c_str());
                pn_sasl_set_allow_insecure_mechs(pn_sasl(t), true);  // as on loopback ours does
            }
        }
        pn_proactor_connect2(p, c, t, to.c_str());
        return c;
    }
    std::string address() const
    {
        return work_.through.empty() ? "bench" : socket_broker{work_.through}.address;
    }
    void finish() { over_ = true; }

    socket_work const& work_;
    socket_meter meter_;

private:
    void handle(pn_event_t* e)
    {
        switch (pn_event_type(e)) {
        case PN_TRANSPORT_CLOSED: {
            auto* const why = pn_transport_condition(pn_event_transport(e));
            if (pn_condition_is_set(why) && !over_)
                throw std::runtime_error{std::string{"Proton: "}
                                         + pn_condition_get_description(why)};
            over_ = true;
            return;
        }
        case PN_CONNECTION_REMOTE_CLOSE: pn_connection_close(pn_event_connection(e)); return;
        default: on_event(e);
        }
    }

    struct deleter {
        void operator()(pn_proactor_t* p) const noexcept { pn_proactor_free(p); }
    };
    std::unique_ptr<pn_proactor_t, deleter> proactor_{pn_proactor()};
    bool over_ = false;
};

class proton_receiving final : public proton_side {
public:
    explicit proton_receiving(socket_work const& w) : proton_side{w}, buffer_(w.size + 256) {}

private:
    void start(pn_proactor_t* p) override
    {
        if (work_.through.empty())
            pn_proactor_listen(p, pn_listener(), "127.0.0.1:0", 16);
        else
            connect(p, "bench-receiver");
    }
    void open_receiver(pn_connection_t* c)
    {
        pn_connection_open(c);
        auto* const session = pn_session(c);
        pn_session_set_incoming_capacity(session, std::size_t{16} << 20);
        pn_session_open(session);
        auto* const l = pn_receiver(session, "bench-receiver");
        pn_terminus_set_address(pn_link_source(l), address().c_str());
        pn_link_open(l);
        pn_link_flow(l, socket_work::credit);
    }
    void on_event(pn_event_t* e) override
    {
        if (!work_.through.empty() && pn_event_type(e) == PN_CONNECTION_INIT)
            return open_receiver(pn_event_connection(e));
        if (!work_.through.empty() && pn_event_type(e) == PN_LINK_REMOTE_OPEN)
            return say_port("0");
        switch (pn_event_type(e)) {
        case PN_LISTENER_OPEN: {
            char port[16];
            pn_netaddr_host_port(pn_listener_addr(pn_event_listener(e)), nullptr, 0, port,
                                 sizeof port);
            return say_port(port);
        }
        case PN_LISTENER_ACCEPT:
            pn_listener_accept2(pn_event_listener(e), nullptr, transport());
            return;
        case PN_CONNECTION_REMOTE_OPEN: pn_connection_open(pn_event_connection(e)); return;
        case PN_SESSION_REMOTE_OPEN:
            pn_session_set_incoming_capacity(pn_event_session(e), std::size_t{16} << 20);
            pn_session_open(pn_event_session(e));
            return;
        case PN_LINK_REMOTE_OPEN: {
            auto* const l = pn_event_link(e);
            pn_terminus_copy(pn_link_source(l), pn_link_remote_source(l));
            pn_terminus_copy(pn_link_target(l), pn_link_remote_target(l));
            pn_link_open(l);
            pn_link_flow(l, socket_work::credit);
            return;
        }
        case PN_DELIVERY: return receive(pn_event_link(e));
        default: return;
        }
    }

    void receive(pn_link_t* l)
    {
        while (auto* const d = pn_link_current(l)) {
            if (!pn_delivery_readable(d) || pn_delivery_partial(d))
                break;
            if (pn_link_recv(l, buffer_.data(), buffer_.size()) <= 0)
                throw std::runtime_error{"Proton: receive failed"};
            if (!pn_delivery_settled(d))
                pn_delivery_update(d, PN_ACCEPTED);
            pn_delivery_settle(d);
            if (meter_.count()) {
                meter_.report();
                // Not the sender: it would drop what its window has not let out yet.
                return pn_connection_close(pn_session_connection(pn_link_session(l)));
            }
        }
        auto const left = pn_link_credit(l);
        if (left <= static_cast<int>(socket_work::credit / 2))
            pn_link_flow(l, static_cast<int>(socket_work::credit) - left);
    }

    std::vector<char> buffer_;
};

class proton_sending final : public proton_side {
public:
    explicit proton_sending(socket_work const& w) : proton_side{w}
    {
        bytes const body(w.size, std::byte{'x'});
        message_writer{encoded_}.data(bytes_view{body});
    }

private:
    void start(pn_proactor_t* p) override { connection_ = connect(p, "bench"); }
    void on_event(pn_event_t* e) override
    {
        switch (pn_event_type(e)) {
        case PN_CONNECTION_INIT: return open();
        case PN_LINK_FLOW:
        case PN_CONNECTION_WAKE: return send();
        case PN_DELIVERY: return on_outcome(pn_event_delivery(e));
        default: return;
        }
    }
    void open()
    {
        pn_connection_open(connection_);
        auto* const session = pn_session(connection_);
        pn_session_open(session);
        for (unsigned i = 0; i < work_.links; ++i) {
            auto* const l = pn_sender(session, ("bench" + std::to_string(i)).c_str());
            pn_terminus_set_address(pn_link_target(l), address().c_str());
            pn_link_set_snd_settle_mode(l, work_.presettled ? PN_SND_SETTLED : PN_SND_UNSETTLED);
            pn_link_open(l);
            links_.push_back(l);
        }
    }
    /// As much as credit and the queue's bound allow; the write that follows wakes it again.
    bool may_send() const
    {
        return begun_ < work_.count && !(work_.serial && begun_ != ended_)
               && !(work_.rate > 0 && begun_ >= clock_->due());
    }
    void send()
    {
        if (work_.rate > 0 && !clock_)
            clock_ =
                std::make_unique<socket_clock>(work_, [c = connection_] { pn_connection_wake(c); });
        std::uint64_t queued = 0;
        for (bool again = true; again && queued < socket_work::queued_max;) {
            again = false;
            for (auto* const l : links_) {
                if (!may_send())
                    return;
                if (pn_link_credit(l) <= 0)
                    continue;
                send(l);
                again = true;
                ++queued;
            }
        }
        if (queued >= socket_work::queued_max)
            pn_connection_wake(connection_);
    }
    void send(pn_link_t* l)
    {
        ++begun_;
        began_ = work_.serial ? nanoseconds() : 0;
        auto* const d =
            pn_delivery(l, pn_dtag(reinterpret_cast<char const*>(&begun_), sizeof begun_));
        if (pn_link_send(l, reinterpret_cast<char const*>(encoded_.data()), encoded_.size())
            != static_cast<ssize_t>(encoded_.size()))
            throw std::runtime_error{"Proton: send failed"};
        if (work_.presettled) {
            pn_delivery_settle(d);
            done();
        } else {
            pn_link_advance(l);
        }
    }
    void on_outcome(pn_delivery_t* d)
    {
        if (!pn_delivery_updated(d))
            return;
        if (pn_delivery_remote_state(d) != PN_ACCEPTED)
            throw std::runtime_error{"Proton: a message was not accepted"};
        pn_delivery_settle(d);
        if (work_.serial)
            meter_.trip(nanoseconds() - began_);
        else if (work_.rate > 0)
            meter_.trip(nanoseconds() - clock_->due_at(ended_));
        done();
        if (work_.serial)
            send();
    }
    void done()
    {
        ++ended_;
        if (!meter_.count())
            return;
        meter_.report();
        if (!work_.through.empty())
            pn_connection_close(connection_);
    }

    pn_connection_t* connection_ = nullptr;
    std::vector<pn_link_t*> links_;
    bytes encoded_;
    std::uint64_t begun_ = 0;
    std::uint64_t ended_ = 0;
    std::int64_t began_ = 0;
    std::unique_ptr<socket_clock> clock_;
};

inline void proton_receive(socket_work const& w) { proton_receiving{w}.run(); }
inline void proton_send(socket_work const& w) { proton_sending{w}.run(); }

}  // namespace sluice::bench
