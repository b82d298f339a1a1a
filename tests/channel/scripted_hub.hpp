// A port_core and, by hand, the node: requests as text, replies as the test wants them.
#pragma once

#include <sluice/channel/detail/port_core.hpp>

#include <map>
#include <string>

namespace sluice::channels::detail {

inline bytes octets_of_text(std::string_view text)
{
    auto const* const p = reinterpret_cast<std::byte const*>(text.data());
    return {p, p + text.size()};
}
inline std::string text_of_octets(bytes_view b)
{
    return {reinterpret_cast<char const*>(b.data()), b.size()};
}

struct request_text {
    static std::string ranges(auto const& all)
    {
        std::string out;
        for (auto const& [a, b] : all)
            out += (out.empty() ? "" : ",") + std::to_string(a)
                   + (a == b ? "" : "-" + std::to_string(b));
        return out;
    }
    std::string operator()(protocol::open const& r) const
    {
        return "open#" + std::to_string(r.id) + " " + r.name
               + (r.expected ? " expects " + std::to_string(r.expected) : "")
               + (r.create ? "" : " no create");
    }
    std::string operator()(protocol::select const& r) const
    {
        auto out = (r.otherwise ? "try#" : "select#") + std::to_string(r.id);
        for (auto const& c : r.cases)
            if (auto const* const in = std::get_if<protocol::recv_case>(&c)) {
                out += " recv(" + std::to_string(in->channel)
                       + (in->max == 1 ? "" : ",max=" + std::to_string(in->max)) + ")";
            } else {
                auto const& s = std::get<protocol::send_case>(c);
                out += " send(" + std::to_string(s.channel) + "," + std::to_string(s.sequence) + ","
                       + text_of_octets(s.octets) + ")";
            }
        return out;
    }
    std::string operator()(protocol::cancel const& r) const
    {
        return "cancel#" + std::to_string(r.id);
    }
    std::string operator()(protocol::ack const& r) const { return "ack " + ranges(r.ranges); }
    std::string operator()(protocol::pickup const& r) const { return "pickup " + ranges(r.ranges); }
    std::string operator()(protocol::settle const& r) const
    {
        static char const* const names[] = {"accepted", "released", "failed", "rejected"};
        return "settle#" + std::to_string(r.id) + " " + std::to_string(r.token) + " "
               + names[static_cast<int>(r.verdict)] + (r.reason.empty() ? "" : " " + r.reason);
    }
    std::string operator()(protocol::end const& r) const
    {
        static char const* const names[] = {"close", "destroy", "stop"};
        return std::string{names[static_cast<int>(r.how)]} + "(" + std::to_string(r.channel) + ")";
    }
    std::string operator()(protocol::stat const& r) const { return "stat#" + std::to_string(r.id); }
};

/// Answers by the number of the call.
using answers = std::map<operation_id, answer>;

struct hub_rig {
    port_core core;
    answers got;
    time_point now{};

    struct recorder final : sink {
        recorder(answers& to, operation_id id) : to_{to}, id_{id} {}
        void finish(answer&& a) override { to_.emplace(id_, std::move(a)); }
        answers& to_;
        operation_id id_;
    };

    std::unique_ptr<sink> to(operation_id id) { return std::make_unique<recorder>(got, id); }

    /// What the core has to say since the last time, one request after the other.
    std::string said()
    {
        std::string out;
        for (auto const& m : core.take_requests()) {
            protocol::request r;
            std::string fault;
            if (decode(m, r, fault))
                return "malformed: " + fault;
            out += (out.empty() ? "" : "; ") + std::visit(request_text{}, r);
        }
        return out;
    }
    /// The calls that were answered since the last time.
    std::string answered()
    {
        std::string out;
        for (auto& f : core.take_finished()) {
            auto& r = dynamic_cast<recorder&>(*f.to);
            out += (out.empty() ? "" : " ") + std::to_string(r.id_);
            f.to->finish(std::move(f.what));
        }
        return out;
    }
    void reply(protocol::reply const& r)
    {
        bytes m;
        encode(m, r);
        core.on_message(m);
    }
    void value(operation_id id, protocol::token t, std::string_view text, bool more = false,
               bool wants_pickup = false, std::uint32_t index = 0)
    {
        auto const octets = octets_of_text(text);
        reply(protocol::delivered{.id = id,
                                  .index = index,
                                  .token = t,
                                  .wants_pickup = wants_pickup,
                                  .more = more,
                                  .octets = octets});
    }
    void done(operation_id id, protocol::status s, std::uint32_t index = 0, std::string text = {})
    {
        reply(protocol::done{.id = id, .index = index, .status = s, .text = std::move(text)});
    }
    static handle_record record(std::uint32_t capacity, bool async_ack = false)
    {
        handle_record h;
        h.wanted.capacity = capacity;
        h.async_ack = async_ack;
        h.ack_delay = std::chrono::milliseconds{10};
        return h;
    }
    void opened(operation_id id, protocol::channel_id channel,
                protocol::channel_options const& options = record(100).wanted)
    {
        protocol::opened r;
        r.id = id;
        r.channel = channel;
        r.options = options;
        reply(r);
    }

    /// A handle that is open at the node as `channel`.
    handle_key handle(std::string name, protocol::channel_id channel, handle_record h = record(100))
    {
        h.name = std::move(name);
        auto const asked = h.wanted;
        auto const k = core.add_handle(std::move(h));
        auto const id = core.next_id();
        core.open(id, k, to(id), never);
        if (!core.is_open())
            core.on_open();
        opened(id, channel, asked);
        said();
        answered();
        return k;
    }
    operation_id send(handle_key h, std::string_view text, bool now_only = false,
                      time_point due = never)
    {
        std::vector<part> parts(1);
        parts[0] = {.handle = h, .send = true, .octets = octets_of_text(text)};
        return select(std::move(parts), now_only, false, due);
    }
    operation_id recv(handle_key h, std::uint32_t max = 1, bool by_hand = false,
                      time_point due = never)
    {
        std::vector<part> parts(1);
        parts[0] = {.handle = h, .max = max};
        return select(std::move(parts), false, by_hand, due);
    }
    operation_id select(std::vector<part> parts, bool now_only = false, bool by_hand = false,
                        time_point due = never)
    {
        auto const id = core.next_id();
        core.select(id, std::move(parts), now_only, by_hand, to(id), due);
        return id;
    }
    void pass(std::chrono::milliseconds t)
    {
        now += t;
        core.on_time(now);
    }
    std::string code(operation_id id)
    {
        auto const it = got.find(id);
        return it == got.end() ? "open" : it->second.code ? it->second.code.message() : "ok";
    }
};

}  // namespace sluice::channels::detail
