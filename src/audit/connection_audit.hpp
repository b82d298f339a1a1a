// Everything that is known of one connection, and the rules over it.
//
// The functions stand in the file named above them. What a function reports is about the frame that
// `report_.at` describes, unless it says otherwise.
#pragma once

#include "framer.hpp"
#include "sasl_audit.hpp"
#include "session.hpp"

#include <sluice/codec/codec.hpp>

namespace sluice::audit::detail {

/// What one side has said of itself, and how far it is.
struct side {
    explicit side(std::size_t frame_bytes_max) : frames{frame_bytes_max} {}

    framer frames;
    enum phase : std::uint8_t { start, sasl, amqp, silent, opaque };
    phase is = start;
    identity who;
    bool opened = false;
    bool closed = false;
    bool reported_after_close = false;
    bool learned = false;              ///< its open was not seen
    std::uint32_t frame_size_max = 0;  ///< it takes; 0: not known
    std::uint32_t unsuspected = 512;   ///< frames up to this size it may send without a second look
    std::uint32_t frame_size_sent = 0;  ///< the largest before the other side's open
    std::uint16_t channel_max = 65535;
    std::uint16_t channel_used = 0;  ///< the highest before the other side's open
    time_point::rep idle_us = 0;     ///< it asks for; 0: does not
    time_point opened_at{};
    time_point last_bytes{};
    bool idle_reported = false;
    std::uint64_t close_frame = 0;
    unsigned headers = 0;       ///< protocol headers so far
    std::uint8_t first_id = 0;  ///< protocol id of the first one

    struct mapping {
        session* current = nullptr;  ///< whose frames stand on this channel
        session* waiting = nullptr;  ///< the oldest begun here that the other side has not answered
        std::uint64_t end_frame = 0;  ///< of the last session's end
        std::uint32_t surplus = 0;    ///< answers that may still come to sessions that ended before
        bool reported = false;        ///< that nothing is mapped here
    };
    std::vector<mapping> channels;
};

class connection_audit {
public:
    explicit connection_audit(options const& o);

    void feed(direction d, bytes_view in, time_point now);
    void lost(direction d, time_point now);
    void advance(time_point now);
    void finish(ending how);
    bool poll(finding& out) { return report_.poll(out); }
    counters const& totals() const noexcept { return report_.totals; }
    identity const& who(direction d) const noexcept { return sides_[index(d)].who; }

private:
    using channel_number = std::uint16_t;

    // connection_audit.cpp
    side& of(direction d) noexcept { return sides_[index(d)]; }
    void on_unit(direction d, unit const& u);
    void on_header(direction d, unit const& u);
    void on_malformed(direction d, unit const& u);
    void on_frame(direction d, unit const& u);
    void stop();

    // performatives.cpp
    void on_amqp_frame(direction d, unit const& u);
    bool check_phase(direction d, std::uint64_t code);
    void on_transfer_frame(direction d, unit const& u);
    void check_size(direction d, unit const& u);
    void check_channel(direction d, channel_number channel);
    void on_body(direction d, unit const& u, std::uint64_t code);
    template <class T>
    bool read(direction d, unit const& u, T& out, std::size_t* payload = nullptr);
    void check_state(raw_value state);
    void unreadable(direction d, unit const& u, decode_fault const& fault);
    void on_open(direction d, open const& o);
    void on_close(direction d);

    // session_audit.cpp
    side::mapping& mapping(direction d, channel_number channel);
    session* find_session(direction d, channel_number channel)
    {
        auto const& channels = of(d).channels;
        if (channel < channels.size() && channels[channel].current != nullptr) [[likely]]
            return channels[channel].current;
        return find_no_session(d, channel);
    }
    session* find_no_session(direction d, channel_number channel);
    session* make_session();
    void drop_session(session* s);
    void on_begin(direction d, channel_number channel, begin const& b);
    session* answered(direction d, begin const& b);
    void give_up_waiting(side::mapping& m);
    void on_end(direction d, channel_number channel);

    // flow_audit.cpp
    void on_flow(direction d, session& s, flow const& f);
    void check_outgoing_id(direction d, session& s, flow const& f);
    void check_incoming_id(direction d, session& s, flow const& f);
    void on_session_flow(direction d, session& s, flow const& f);
    void on_sender_flow(direction d, link& l, flow const& f);
    void on_receiver_flow(direction d, link& l, flow const& f);
    std::int64_t receiver_count(link& l, flow const& f);
    void settle_drain(link& l) noexcept;

    // link_audit.cpp
    void on_attach(direction d, session& s, attach const& a);
    link* attached_twice(direction d, session& s, attach const& a, std::uint64_t hash);
    link* pair_or_make(direction d, session& s, attach const& a, std::uint64_t hash);
    void check_termini(attach const& a);
    void attach_sender(link& l, attach const& a);
    void attach_receiver(link& l, attach const& a);
    void on_detach(direction d, session& s, detach const& f);
    link* find_link(direction d, session& s, std::uint32_t handle);
    link* learn_link(direction d, session& s, std::uint32_t handle);
    link* make_link(session& s, direction transfers, std::string_view name, std::uint64_t hash);
    void drop_link(link* l);

    // transfer_audit.cpp
    void on_transfer(direction d, session& s, transfer const& t, std::uint64_t payload);
    void count_transfer(direction d, session& s);

    // disposition_audit.cpp
    void on_disposition(direction d, session& s, disposition const& f);
    bool check_disposition_range(transfers const& of, disposition const& f, std::uint32_t last);

    // answers.cpp
    void ask(request& r);
    void answer(request& r) noexcept { r.open = false; }
    void check_time();
    void check_idle(direction d);
    void check_answers(bool all);
    void overdue(rule r, request& asked, direction asker, session const& s, link const* l,
                 bool all);

    options options_;
    reporter report_;
    unsettled_budget budget_;
    transfer transfer_;  ///< room to decode into
    std::array<side, 2> sides_;
    sasl_audit sasl_;
    bool following_ = true;  ///< false: nothing can be understood any more
    bool loose_ = false;     ///< channels may be in use that were not seen to begin
    bool finished_ = false;
    time_point next_check_ = time_point::max();  ///< no deadline is before it
    std::vector<std::unique_ptr<session>> sessions_;
    std::size_t links_ = 0;
    std::unordered_map<std::uint64_t, link*>
        names_;  ///< the oldest link of each name and direction
};

}  // namespace sluice::audit::detail
