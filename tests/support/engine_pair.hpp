// Two engines joined in memory: what one writes, the other receives. Time is a number that the test
// moves.
#pragma once

#include <sluice/codec/codec.hpp>
#include <sluice/codec/scalars.hpp>
#include <sluice/engine/connection.hpp>

#include <functional>
#include <string>
#include <vector>

namespace sluice::test {

namespace e = sluice::engine;

inline bytes encoded_source(std::string_view address)
{
    bytes name;
    append(name, address);
    bytes out;
    append(out, source{.address = {name}});
    return out;
}

inline bytes encoded_target(std::string_view address)
{
    bytes name;
    append(name, address);
    bytes out;
    append(out, target{.address = {name}});
    return out;
}

/// An initiator and a listener. The listener accepts everything unless `on_listener` takes an event
/// first.
class engine_pair {
public:
    explicit engine_pair(e::connection_options initiator = {}, e::connection_options listener = {})
        : a{initiator}, b{as_listener(listener)}
    {
    }

    /// Moves bytes and events until nothing happens any more.
    void run()
    {
        for (auto moved = true; moved;) {
            moved = pass(a, b);
            moved = pass(b, a) || moved;
            moved = take_events(a, from_a) | moved;
            moved = take_events(b, from_b) | moved;
        }
    }

    e::session* open_session(e::session_options const& options = {},
                             e::session_options const& theirs = {})
    {
        listener_session = theirs;
        std::ignore = a.open();
        auto* const s = *a.begin(options);
        run();
        return s;
    }

    e::connection a;  // initiator
    e::connection b;  // listener
    e::time_point now{0};
    e::session_options listener_session;
    e::link_options listener_link;
    e::session* b_session = nullptr;
    e::link* b_link = nullptr;
    std::vector<e::event> from_a;
    std::vector<e::event> from_b;
    std::function<bool(e::event const&)> on_initiator = [](e::event const&) { return false; };
    std::function<bool(e::event const&)> on_listener = [](e::event const&) { return false; };
    std::function<void(bytes_view)> a_to_b = [](bytes_view) {};
    std::function<void(bytes_view)> b_to_a = [](bytes_view) {};

private:
    static e::connection_options as_listener(e::connection_options o)
    {
        o.listener = true;
        return o;
    }

    bool pass(e::connection& from, e::connection& to)
    {
        auto& buffer = &from == &a ? buffer_a_ : buffer_b_;
        auto const n = from.write(buffer, now);
        bytes_view left{buffer.data(), n};
        (&from == &a ? a_to_b : b_to_a)(left);
        while (!left.empty()) {
            left = left.subspan(to.receive(left, now));
            if (!left.empty())
                take_events(to, &to == &a ? from_a : from_b);
        }
        return n > 0;
    }

    bool take_events(e::connection& c, std::vector<e::event>& kept)
    {
        auto any = false;
        for (e::event ev; c.poll_event(ev);) {
            any = true;
            if (&c == &a ? on_initiator(ev) : on_listener(ev))
                continue;
            kept.push_back(ev);
            if (&c == &b)
                accept(ev);
        }
        return any;
    }

    void accept(e::event const& ev)
    {
        if (ev.kind == e::event_kind::connection_requested)
            std::ignore = b.open();
        if (ev.kind == e::event_kind::session_requested) {
            b_session = ev.session;
            std::ignore = ev.session->begin(listener_session);
        }
        if (ev.kind == e::event_kind::link_requested) {
            b_link = ev.link;
            auto o = listener_link;
            auto const& theirs = ev.link->remote_attach();
            o.source.assign(theirs.source.encoded.begin(), theirs.source.encoded.end());
            o.target.assign(theirs.target.encoded.begin(), theirs.target.encoded.end());
            o.rcv_settle_mode = theirs.rcv_settle_mode;
            o.snd_settle_mode = theirs.snd_settle_mode;
            std::ignore = ev.link->attach(std::move(o));
        }
    }

    std::vector<std::byte> buffer_a_ = std::vector<std::byte>(128 * 1024);
    std::vector<std::byte> buffer_b_ = std::vector<std::byte>(128 * 1024);
};

}  // namespace sluice::test
