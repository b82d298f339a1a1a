// Another implementation under audit: two Proton-C engines talk in memory, the checker between
// them. What it reports of them must be a breach, and is named here.
#ifdef SLUICE_HAVE_PROTON

#include <sluice/audit/checker.hpp>

#include <gtest/gtest.h>
#include <proton/connection.h>
#include <proton/connection_driver.h>
#include <proton/delivery.h>
#include <proton/link.h>
#include <proton/sasl.h>
#include <proton/session.h>
#include <proton/transport.h>

#include <map>
#include <random>
#include <vector>

namespace sluice::audit {
namespace {

/// Two ends, the bytes between them, and a stream of random decisions.
class conversation {
    /// What Proton 0.37 does, seen here: a receiver's flow before the sender's attach says
    /// delivery-count 0; after the other side's end a flow leaves next-incoming-id out; flows for
    /// sessions and links that are gone go to channel 65534 or handle 4294967294; and a link
    /// detaches with a delivery that the window held up in the middle.
    static bool known(finding const& f)
    {
        switch (f.rule) {
        case rule::delivery_count_early: return f.actual == "0";
        case rule::next_incoming_id_missing: return true;
        case rule::channel_unmapped: return f.channel == 65534;
        case rule::handle_unattached: return f.handle == 4294967294;
        case rule::delivery_unfinished: return true;
        default: return false;
        }
    }

public:
    explicit conversation(unsigned seed) : random_{seed}
    {
        for (auto& e : ends_) {
            pn_connection_driver_init(&e.driver, nullptr, nullptr);
            pn_connection_set_container(e.driver.connection, &e == &ends_[0] ? "client" : "server");
            pn_transport_set_max_frame(e.driver.transport,
                                       static_cast<std::uint32_t>(512 + pick(600)));
            if (pick(2) == 0)
                pn_transport_set_channel_max(e.driver.transport, 10);
        }
        pn_transport_set_server(ends_[1].driver.transport);
        pn_connection_open(ends_[0].driver.connection);
    }
    ~conversation()
    {
        for (auto& e : ends_) pn_connection_driver_destroy(&e.driver);
    }

    void step()
    {
        switch (pick(14)) {
        case 0: return begin_session();
        case 1: return attach_link();
        case 2:
        case 3: return grant();
        case 4:
        case 5:
        case 6: return send_some();
        case 7: return abort_one();
        case 8:
        case 9: return settle_some();
        case 10: return detach_one();
        case 11: return pick(6) == 0 ? end_one() : void();
        default: return move_bytes(pick(2), 1 + pick(3000));
        }
    }
    /// Moves everything until nothing more comes.
    void settle_down()
    {
        for (int i = 0; i != 400; ++i)
            for (std::size_t from : {0u, 1u}) move_bytes(from, 1u << 20);
    }
    void close()
    {
        for (auto& e : ends_) pn_connection_close(e.driver.connection);
        settle_down();
        // Who has given up on its peer reads no more.
        bool const whole = pn_connection_driver_write_buffer(&ends_[0].driver).size == 0
                           && pn_connection_driver_write_buffer(&ends_[1].driver).size == 0;
        audit_.finish(whole ? ending::complete : ending::cut);
    }

    /// Those that are not known of Proton.
    std::string findings()
    {
        std::string all;
        finding f;
        while (audit_.poll_finding(f))
            if (!known(f))
                all += f.text() + '\n';
        return all;
    }
    counters const& totals() const { return audit_.totals(); }

private:
    struct end {
        pn_connection_driver_t driver{};
        std::vector<pn_session_t*> sessions;
        std::vector<pn_link_t*> links;
        std::vector<pn_delivery_t*> held;              ///< received, not settled
        std::map<pn_link_t*, pn_delivery_t*> sending;  ///< begun, not advanced
    };

    std::size_t pick(std::size_t n) { return random_() % n; }
    template <class T>
    T* one_of(std::vector<T*> const& v)
    {
        return v.empty() ? nullptr : v[pick(v.size())];
    }

    void begin_session()
    {
        auto& e = ends_[pick(2)];
        if (e.sessions.size() >= 3)
            return;
        auto* const s = pn_session(e.driver.connection);
        if (s == nullptr)
            return;
        pn_session_set_incoming_capacity(s, 2000 + pick(20000));
        pn_session_open(s);
        e.sessions.push_back(s);
    }
    void attach_link()
    {
        auto& e = ends_[pick(2)];
        auto* const s = one_of(e.sessions);
        if (s == nullptr || e.links.size() >= 6)
            return;
        auto const name = "l" + std::to_string(names_++);
        auto* const l = pick(2) == 0 ? pn_sender(s, name.c_str()) : pn_receiver(s, name.c_str());
        pn_link_set_snd_settle_mode(l, static_cast<pn_snd_settle_mode_t>(pick(3)));
        pn_terminus_set_address(pn_link_source(l), "a");
        pn_terminus_set_address(pn_link_target(l), "a");
        pn_link_open(l);
        e.links.push_back(l);
    }
    void grant()
    {
        auto* const l = one_of(ends_[pick(2)].links);
        if (l == nullptr || !pn_link_is_receiver(l))
            return;
        if (pick(5) == 0)
            pn_link_drain(l, static_cast<int>(pick(5)));
        else if (!pn_link_get_drain(l))
            pn_link_flow(l, static_cast<int>(1 + pick(8)));
        else
            pn_link_set_drain(l, false);
    }
    void send_some()
    {
        auto& e = ends_[pick(2)];
        auto* const l = one_of(e.links);
        if (l == nullptr || !pn_link_is_sender(l) || pn_link_credit(l) <= 0)
            return;
        auto& d = e.sending[l];
        if (d == nullptr) {
            auto const tag = std::to_string(tags_++);
            d = pn_delivery(l, pn_dtag(tag.data(), tag.size()));
        }
        std::string const body(pick(1500) + 1, 'x');
        pn_link_send(l, body.data(), body.size());
        if (pick(2) == 0)
            return;
        auto* const done = d;
        d = nullptr;
        pn_link_advance(l);
        auto const mode = pn_link_snd_settle_mode(l);
        if (mode == PN_SND_SETTLED || (mode == PN_SND_MIXED && pick(2) == 0))
            pn_delivery_settle(done);
    }
    void abort_one()
    {
        auto& e = ends_[pick(2)];
        auto* const l = one_of(e.links);
        if (l == nullptr || e.sending[l] == nullptr || pick(2) == 0)
            return;
        pn_delivery_abort(e.sending[l]);
        e.sending[l] = nullptr;
    }
    void settle_some()
    {
        auto& e = ends_[pick(2)];
        for (auto n = pick(6); n != 0 && !e.held.empty(); --n) {
            auto const i = pick(e.held.size());
            auto* const d = e.held[i];
            pn_delivery_update(d, pick(2) == 0 ? PN_ACCEPTED : PN_RELEASED);
            if (pick(4) == 0)
                continue;
            e.held.erase(e.held.begin() + static_cast<std::ptrdiff_t>(i));
            pn_delivery_settle(d);
        }
    }
    void forget(end& e, pn_link_t* l)
    {
        e.sending.erase(l);
        std::erase_if(e.held, [&](auto* d) { return pn_delivery_link(d) == l; });
        std::erase(e.links, l);
    }
    void detach_one()
    {
        auto& e = ends_[pick(2)];
        auto* const l = pick(3) == 0 ? one_of(e.links) : nullptr;
        if (l == nullptr || e.sending[l] != nullptr)
            return;
        forget(e, l);
        if (pick(2) == 0)
            pn_link_close(l);
        else
            pn_link_detach(l);
    }
    void end_one()
    {
        auto& e = ends_[pick(2)];
        auto* const s = one_of(e.sessions);
        // Proton answers a begin whose end has come with one that answers nothing.
        if (s == nullptr || (pn_session_state(s) & PN_REMOTE_ACTIVE) == 0)
            return;
        auto const links = e.links;
        for (auto* const l : links)
            if (pn_link_session(l) == s)
                forget(e, l);
        std::erase(e.sessions, s);
        pn_session_close(s);
    }

    void move_bytes(std::size_t from, std::size_t at_most)
    {
        auto& a = ends_[from];
        auto& b = ends_[1 - from];
        auto const out = pn_connection_driver_write_buffer(&a.driver);
        auto const in = pn_connection_driver_read_buffer(&b.driver);
        auto const n = std::min({out.size, in.size, at_most});
        if (n != 0) {
            std::copy_n(out.start, n, in.start);
            audit_.feed(from == 0 ? direction::from_client : direction::from_server,
                        {reinterpret_cast<std::byte const*>(out.start), n}, {});
            pn_connection_driver_write_done(&a.driver, n);
            pn_connection_driver_read_done(&b.driver, n);
        }
        for (auto& e : ends_)
            while (auto* const event = pn_connection_driver_next_event(&e.driver)) handle(e, event);
    }

    void handle(end& e, pn_event_t* event)
    {
        switch (pn_event_type(event)) {
        case PN_CONNECTION_REMOTE_OPEN: pn_connection_open(e.driver.connection); break;
        case PN_SESSION_REMOTE_OPEN: {
            auto* const s = pn_event_session(event);
            if (pn_session_state(s) & PN_LOCAL_UNINIT) {
                pn_session_set_incoming_capacity(s, 2000 + pick(20000));
                pn_session_open(s);
                e.sessions.push_back(s);
            }
            break;
        }
        case PN_SESSION_REMOTE_CLOSE: {
            auto* const s = pn_event_session(event);
            auto const links = e.links;
            for (auto* const l : links)
                if (pn_link_session(l) == s)
                    forget(e, l);
            std::erase(e.sessions, s);
            pn_session_close(s);
            break;
        }
        case PN_LINK_REMOTE_OPEN: {
            auto* const l = pn_event_link(event);
            if ((pn_link_state(l) & PN_LOCAL_UNINIT) == 0)
                break;
            pn_link_set_snd_settle_mode(l, pn_link_remote_snd_settle_mode(l));
            pn_terminus_copy(pn_link_source(l), pn_link_remote_source(l));
            pn_terminus_copy(pn_link_target(l), pn_link_remote_target(l));
            pn_link_open(l);
            e.links.push_back(l);
            break;
        }
        case PN_LINK_REMOTE_CLOSE:
        case PN_LINK_REMOTE_DETACH: {
            auto* const l = pn_event_link(event);
            forget(e, l);
            if (pn_event_type(event) == PN_LINK_REMOTE_CLOSE)
                pn_link_close(l);
            else
                pn_link_detach(l);
            break;
        }
        case PN_LINK_FLOW: {
            auto* const l = pn_event_link(event);
            if (pn_link_is_sender(l) && pn_link_get_drain(l) && e.sending[l] == nullptr)
                pn_link_drained(l);
            break;
        }
        case PN_DELIVERY: received(e, pn_event_delivery(event)); break;
        default: break;
        }
    }
    void received(end& e, pn_delivery_t* d)
    {
        auto* const l = pn_delivery_link(d);
        if (pn_link_is_sender(l)) {
            auto const at = e.sending.find(l);
            if (pn_delivery_settled(d) && (at == e.sending.end() || at->second != d))
                pn_delivery_settle(d);
            return;
        }
        if (pn_delivery_aborted(d))
            return pn_delivery_settle(d);
        if (!pn_delivery_readable(d))
            return;
        char sink[4096];
        while (pn_link_recv(l, sink, sizeof sink) > 0) {}
        if (pn_delivery_partial(d))
            return;
        pn_link_advance(l);
        if (pn_delivery_settled(d))
            pn_delivery_settle(d);
        else
            e.held.push_back(d);
    }

    std::mt19937 random_;
    std::array<end, 2> ends_;
    checker audit_;
    unsigned names_ = 0;
    unsigned tags_ = 0;
};

TEST(ProtonAudit, FindsNothingInRandomConversations)
{
    std::uint64_t transfers = 0;
    std::uint64_t flows = 0;
    for (unsigned seed = 1; seed != 101; ++seed) {
        conversation c{seed};
        c.settle_down();
        for (int i = 0; i != 1500; ++i) c.step();
        c.settle_down();
        c.close();
        EXPECT_EQ(c.findings(), "") << "seed " << seed;
        for (auto const& d : c.totals().directions) {
            transfers += d.transfers;
            flows += d.flows;
        }
    }
    EXPECT_GT(transfers, 2000u);
    EXPECT_GT(flows, 2000u);
}

}  // namespace
}  // namespace sluice::audit

#endif
