// What both ends put on the wire, as books: frames are counted and held against each other, and
// nothing is known of the engine. Full checks are the auditor's; here is what it cannot know: when
// a flow was asked for, and which hard cases a run has met.
#pragma once

#include "support_wire.hpp"

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace sluice::prop {

/// Which hard cases a run has met.
struct hard_cases {
    bool transfer_id_wrapped = false;
    bool delivery_id_wrapped = false;
    bool delivery_count_wrapped = false;
    bool disposition_over_the_wrap = false;
    bool window_shut = false;
    bool flow_in_mid_frame = false;
    bool aborted = false;
    bool crossing_detach = false;
    bool crossing_end = false;
    bool crossing_close = false;
    bool crossing() const { return crossing_detach || crossing_end || crossing_close; }
};

class wire_books {
public:
    wire_books()
    {
        for (std::size_t side : {0u, 1u})
            readers_[side].on_frame = [this, side](auto channel, auto descriptor, auto body) {
                on_frame(side, channel, descriptor, body);
            };
    }

    std::string objection;  // to a number
    std::string late;       // a flow that waited for more than one transfer frame
    hard_cases met;
    std::size_t transfers = 0;
    std::size_t flows = 0;
    std::function<void(std::size_t, std::string const&)> on_transfer = [](std::size_t,
                                                                          std::string const&) {};

    /// Octets that `side` has written.
    void written(std::size_t side, bytes_view octets)
    {
        written_[side] += octets.size();
        readers_[side].feed(octets);
    }
    /// Octets that have arrived from `side`: what is not among them is on its way.
    void arrived(std::size_t side, std::size_t octets)
    {
        arrived_[side] += octets;
        auto& flying = flying_[side];
        while (!flying.empty() && flying.front().at <= arrived_[side]) flying.pop_front();
    }

    /// A flow was asked for on a session of `side`, for a link or (no name) for the session itself.
    /// @param within_frame while a transfer frame is being written
    void ask(std::size_t side, std::uint16_t channel, std::string const& link,
             std::size_t transfers_written, bool within_frame)
    {
        auto const s = sessions_[side].find(channel);
        if (s == sessions_[side].end())
            return;
        s->second.asked.try_emplace(link, transfers_written + (within_frame ? 1u : 0u));
        met.flow_in_mid_frame = met.flow_in_mid_frame || within_frame;
    }
    /// The link or session is gone for its owner: nobody waits for its flow.
    void excuse(std::size_t side, std::uint16_t channel, std::string const& link)
    {
        auto const s = sessions_[side].find(channel);
        if (s != sessions_[side].end())
            s->second.asked.erase(link);
    }

private:
    struct session {
        std::size_t key = 0;  // the same at both ends
        transfer_id next_outgoing_id{};
        std::optional<std::uint32_t> first_delivery{};
        std::size_t transfers = 0;
        std::map<std::uint32_t, std::string> names{};  // by handle
        std::map<std::string, std::size_t> asked{};    // transfers written when it was
    };
    struct flight {
        std::size_t at = 0;  // octets of its side when it has arrived
        std::string what;
    };

    bool is_flying(std::size_t side, std::string const& what) const
    {
        for (auto const& f : flying_[side])
            if (f.what == what)
                return true;
        return false;
    }
    /// @returns whether the other side's has not arrived yet either
    bool ends(std::size_t side, std::string const& what)
    {
        flying_[side].push_back({written_[side], what});
        return is_flying(1 - side, what);
    }

    void on_frame(std::size_t side, std::uint16_t channel, std::uint64_t descriptor,
                  bytes_view body)
    {
        if (descriptor == 0x18) {
            met.crossing_close = ends(side, "close") || met.crossing_close;
            return;
        }
        if (descriptor == 0x11)
            return on_begin(side, channel, body);
        auto const at = sessions_[side].find(channel);
        if (at == sessions_[side].end())
            return;
        auto& s = at->second;
        switch (descriptor) {
        case 0x12: {
            auto const a = decoded<attach>(body);
            s.names[a.handle.value] = std::string{a.name};
            return;
        }
        case 0x13: return on_flow(s, decoded<flow>(body));
        case 0x14: return on_a_transfer(side, s, decoded<transfer>(body));
        case 0x15: {
            auto const d = decoded<disposition>(body);
            auto const last = d.last.value_or(d.first);
            met.disposition_over_the_wrap =
                met.disposition_over_the_wrap || last.value() < d.first.value();
            return;
        }
        case 0x16: {
            auto const d = decoded<detach>(body);
            auto const name = s.names[d.handle.value];
            s.asked.erase(name);
            met.crossing_detach =
                ends(side, std::to_string(s.key) + "/" + name) || met.crossing_detach;
            return;
        }
        case 0x17:
            met.crossing_end = ends(side, "end " + std::to_string(s.key)) || met.crossing_end;
            sessions_[side].erase(channel);
            return;
        default: return;
        }
    }

    template <class T>
    T decoded(bytes_view body)
    {
        T out;
        if (decode(body, out) && objection.empty())
            objection = "a frame that cannot be decoded";
        return out;
    }

    void on_begin(std::size_t side, std::uint16_t channel, bytes_view body)
    {
        auto const b = decoded<begin>(body);
        session s{.key = next_key_, .next_outgoing_id = b.next_outgoing_id};
        if (b.remote_channel && keys_[1 - side].contains(*b.remote_channel))
            s.key = keys_[1 - side][*b.remote_channel];
        else
            keys_[side][channel] = next_key_++;
        sessions_[side].insert_or_assign(channel, std::move(s));
    }

    void on_flow(session& s, flow const& f)
    {
        ++flows;
        if (f.next_outgoing_id != s.next_outgoing_id && objection.empty())
            objection = "flow says " + std::to_string(f.next_outgoing_id.value())
                        + ", the wire has " + std::to_string(s.next_outgoing_id.value());
        s.asked.erase("");  // any flow carries the session's fields
        if (f.handle)
            s.asked.erase(s.names[f.handle->value]);
        met.delivery_count_wrapped =
            met.delivery_count_wrapped
            || (f.delivery_count && f.delivery_count->value() < 0x1000'0000u && counts_high_);
        counts_high_ =
            counts_high_ || (f.delivery_count && f.delivery_count->value() > 0xf000'0000u);
    }

    void on_a_transfer(std::size_t side, session& s, transfer const& t)
    {
        ++transfers;
        ++s.transfers;
        ++s.next_outgoing_id;
        met.transfer_id_wrapped = met.transfer_id_wrapped || s.next_outgoing_id.value() == 0;
        met.aborted = met.aborted || t.aborted;
        if (t.delivery_id) {
            if (!s.first_delivery)
                s.first_delivery = t.delivery_id->value();
            met.delivery_id_wrapped =
                met.delivery_id_wrapped || t.delivery_id->value() < *s.first_delivery;
        }
        for (auto const& [link, count] : s.asked)
            if (s.transfers > count + 1 && late.empty())
                late = "a flow for '" + link + "' waited for more than one transfer frame";
        on_transfer(side, s.names[t.handle.value]);
    }

    std::array<frame_reader, 2> readers_;
    std::array<std::map<std::uint16_t, session>, 2> sessions_;
    std::array<std::map<std::uint16_t, std::size_t>, 2> keys_;
    std::array<std::deque<flight>, 2> flying_;
    std::array<std::size_t, 2> written_{};
    std::array<std::size_t, 2> arrived_{};
    std::size_t next_key_ = 1;
    bool counts_high_ = false;
};

}  // namespace sluice::prop
