// Two engines of ours, joined in memory by one buffer.
#pragma once

#include "engine_work.hpp"

#include <sluice/codec/codec.hpp>
#include <sluice/engine/connection.hpp>

#include <algorithm>
#include <functional>

namespace sluice::bench {

class sluice_rig {
public:
    /// Given all octets that the engines exchange, a buffer at a time.
    using observer = std::function<void(bool from_sender, bytes_view octets)>;

    explicit sluice_rig(engine_work const& work, observer seen = {})
        : work_{work},
          seen_{std::move(seen)},
          message_{encoded_message(work.message_size)},
          a_{options(false)},
          b_{options(true)}
    {
        std::ignore = a_.open();
        auto* const session = *a_.begin();
        engine::link_options o;
        o.name = "bench";
        o.source = encoded(source{});
        o.target = encoded(target{});
        o.snd_settle_mode =
            work.presettled ? sender_settle_mode::settled : sender_settle_mode::unsettled;
        sender_ = *session->attach_sender(std::move(o));
        for (auto i = 0; i < 4 && sender_->credit() < credit; ++i) pump();
        if (sender_->credit() != credit)
            throw std::runtime_error{"sluice: no credit came"};
    }

    void run(std::size_t messages)
    {
        while (messages > 0) {
            auto const n = std::min({messages, batch_max, std::size_t{sender_->free_credit()}});
            for (std::size_t i = 0; i < n; ++i)
                if (!sender_->send(payload_, options_))
                    throw std::runtime_error{"sluice: send failed"};
            messages -= n;
            pump();
        }
    }

    engine_tally const& tally() const noexcept { return tally_; }

private:
    static engine::connection_options options(bool listener)
    {
        engine::connection_options o;
        o.listener = listener;
        o.max_frame_size = o.outgoing_frame_max = buffer_size;
        return o;
    }

    void pump()
    {
        move(a_, b_, [this] { take_events_b(); });
        move(b_, a_, [this] { take_events_a(); });
    }

    template <class TakeEvents>
    void move(engine::connection& from, engine::connection& to, TakeEvents take_events)
    {
        while (auto const n = from.write(buffer_, {})) {
            bytes_view left{buffer_.data(), n};
            if (seen_)
                seen_(&from == &a_, left);
            while (!left.empty()) {
                left = left.subspan(to.receive(left, {}));
                take_events();
            }
        }
    }

    void take_events_a()
    {
        for (engine::event e; a_.poll_event(e);)
            if (e.kind == engine::event_kind::outcome)
                tally_.outcomes += e.outgoing->outcome() == engine::outcome_kind::accepted;
    }

    void take_events_b()
    {
        for (engine::event e; b_.poll_event(e);) {
            if (e.kind == engine::event_kind::delivery)
                take(*e.incoming);
            else
                set_up(e);
        }
    }

    void take(engine::incoming_delivery& d)
    {
        auto const body = d.body();
        ++tally_.received;
        tally_.octets += body.size();
        tally_.last_octets += std::to_integer<std::uint64_t>(body.back());
        std::ignore = d.link().settle(d);
    }

    void set_up(engine::event const& e)
    {
        if (e.kind == engine::event_kind::connection_requested)
            std::ignore = b_.open();
        if (e.kind == engine::event_kind::session_requested)
            std::ignore = e.session->begin({});
        if (e.kind != engine::event_kind::link_requested)
            return;
        engine::link_options o;
        o.source = encoded(source{});
        o.target = encoded(target{});
        o.snd_settle_mode = e.link->remote_attach().snd_settle_mode;
        o.credit_window = credit;
        std::ignore = e.link->attach(std::move(o));
    }

    engine_work work_;
    observer seen_;
    std::vector<std::byte> message_;
    engine::payload payload_{.head = message_};
    engine::send_options options_{};
    std::vector<std::byte> buffer_ = std::vector<std::byte>(buffer_size);
    engine::connection a_;
    engine::connection b_;
    engine::sender* sender_ = nullptr;
    engine_tally tally_;
};

}  // namespace sluice::bench
