// Two engines of Proton-C, joined in memory: as little as its interface allows between them.
//
// No collector: Proton then raises no events, and deliveries are taken from their links directly,
// which is faster. Its transports own their buffers; max-frame-size lets them grow to 64 KiB.
#pragma once

#include "engine_work.hpp"

#include <proton/connection.h>
#include <proton/delivery.h>
#include <proton/disposition.h>
#include <proton/link.h>
#include <proton/session.h>
#include <proton/terminus.h>
#include <proton/transport.h>

#include <algorithm>
#include <memory>

namespace sluice::bench {

class proton_rig {
public:
    explicit proton_rig(engine_work const& work)
        : work_{work},
          message_{encoded_message(work.message_size)},
          received_(work.message_size + 1)
    {
        pn_transport_set_server(b_.transport.get());
        for (auto* end : {&a_, &b_}) {
            pn_transport_set_max_frame(end->transport.get(), buffer_size);
            pn_connection_set_container(end->connection.get(), "bench");
            pn_transport_bind(end->transport.get(), end->connection.get());
        }
        pn_connection_open(a_.connection.get());
        auto* const session = pn_session(a_.connection.get());
        pn_session_open(session);
        sender_ = pn_sender(session, "bench");
        pn_terminus_set_address(pn_link_source(sender_), "bench");
        pn_terminus_set_address(pn_link_target(sender_), "bench");
        pn_link_set_snd_settle_mode(sender_, work.presettled ? PN_SND_SETTLED : PN_SND_UNSETTLED);
        pn_link_open(sender_);
        move(a_, b_);
        accept();
        move(b_, a_);
        if (pn_link_credit(sender_) != credit)
            throw std::runtime_error{"Proton: no credit came"};
    }

    void run(std::size_t messages)
    {
        while (messages > 0) {
            auto const free = std::max(0, pn_link_credit(sender_));
            auto const n = std::min({messages, batch_max, static_cast<std::size_t>(free)});
            for (std::size_t i = 0; i < n; ++i) send();
            messages -= n;
            move(a_, b_);
            receive();
            move(b_, a_);
            if (!work_.presettled)
                settle();
        }
    }

    engine_tally const& tally() const noexcept { return tally_; }

private:
    struct transport_deleter {
        void operator()(pn_transport_t* t) const noexcept { pn_transport_free(t); }
    };
    struct connection_deleter {
        void operator()(pn_connection_t* c) const noexcept { pn_connection_free(c); }
    };
    struct one_end {
        std::unique_ptr<pn_connection_t, connection_deleter> connection{pn_connection()};
        std::unique_ptr<pn_transport_t, transport_deleter> transport{pn_transport()};
        ~one_end() { pn_transport_unbind(transport.get()); }
    };

    void accept()
    {
        auto* const session = pn_session_head(b_.connection.get(), 0);
        receiver_ = pn_link_head(b_.connection.get(), 0);
        if (!session || !receiver_)
            throw std::runtime_error{"Proton: no link came"};
        pn_connection_open(b_.connection.get());
        pn_session_open(session);
        pn_terminus_copy(pn_link_source(receiver_), pn_link_remote_source(receiver_));
        pn_terminus_copy(pn_link_target(receiver_), pn_link_remote_target(receiver_));
        pn_link_set_snd_settle_mode(receiver_, pn_link_remote_snd_settle_mode(receiver_));
        pn_link_open(receiver_);
        pn_link_flow(receiver_, credit);
    }

    void send()
    {
        auto const tag = ++next_tag_;
        auto* const d =
            pn_delivery(sender_, pn_dtag(reinterpret_cast<char const*>(&tag), sizeof tag));
        auto const size = static_cast<ssize_t>(message_.size());
        if (pn_link_send(sender_, reinterpret_cast<char const*>(message_.data()), message_.size())
            != size)
            throw std::runtime_error{"Proton: send failed"};
        if (work_.presettled)
            pn_delivery_settle(d);  // which ends the message as well
        else
            pn_link_advance(sender_);
    }

    void receive()
    {
        while (auto* const d = pn_link_current(receiver_)) {
            if (!pn_delivery_readable(d) || pn_delivery_partial(d))
                break;
            auto const n = pn_link_recv(receiver_, received_.data(), received_.size());
            if (n <= 0)
                throw std::runtime_error{"Proton: receive failed"};
            ++tally_.received;
            tally_.octets += static_cast<std::size_t>(n);
            tally_.last_octets +=
                static_cast<unsigned char>(received_[static_cast<std::size_t>(n) - 1]);
            if (!work_.presettled)
                pn_delivery_update(d, PN_ACCEPTED);
            pn_delivery_settle(d);  // which goes on to the next as well
        }
        auto const left = pn_link_credit(receiver_);
        if (left <= static_cast<int>(credit / 2))
            pn_link_flow(receiver_, static_cast<int>(credit) - left);
    }

    void settle()
    {
        for (auto* d = pn_unsettled_head(sender_);
             d && pn_delivery_updated(d);) {  // outcomes come in order
            auto* const next = pn_unsettled_next(d);
            tally_.outcomes += pn_delivery_remote_state(d) == PN_ACCEPTED;
            pn_delivery_settle(d);
            d = next;
        }
    }

    static void move(one_end& from, one_end& to)
    {
        while (true) {
            auto const pending = pn_transport_pending(from.transport.get());
            if (pending <= 0)
                return;
            auto const taken =
                pn_transport_push(to.transport.get(), pn_transport_head(from.transport.get()),
                                  static_cast<std::size_t>(pending));
            if (taken <= 0)
                throw std::runtime_error{"Proton: transport takes no input"};
            pn_transport_pop(from.transport.get(), static_cast<std::size_t>(taken));
        }
    }

    engine_work work_;
    std::vector<std::byte> message_;
    std::vector<char> received_;
    one_end a_;
    one_end b_;
    pn_link_t* sender_ = nullptr;
    pn_link_t* receiver_ = nullptr;
    std::uint32_t next_tag_ = 0;
    engine_tally tally_;
};

}  // namespace sluice::bench
