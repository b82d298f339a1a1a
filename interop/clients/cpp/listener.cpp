// A server on Qpid Proton's C++ binding: queues in memory by address, for whoever connects.
//
//     listener [IDLE_MS]     prints port=N, and serves until its standard input ends
//
// What a consumer releases, modifies or had without an answer when it went comes back to the head.
#include <proton/connection.hpp>
#include <proton/connection_options.hpp>
#include <proton/container.hpp>
#include <proton/delivery.hpp>
#include <proton/listen_handler.hpp>
#include <proton/listener.hpp>
#include <proton/message.hpp>
#include <proton/messaging_handler.hpp>
#include <proton/receiver_options.hpp>
#include <proton/sender.hpp>
#include <proton/sender_options.hpp>
#include <proton/source.hpp>
#include <proton/source_options.hpp>
#include <proton/target.hpp>
#include <proton/target_options.hpp>
#include <proton/tracker.hpp>
#include <proton/transport.hpp>
#include <proton/work_queue.hpp>

#include <cstdlib>
#include <deque>
#include <iostream>
#include <list>
#include <map>
#include <string>
#include <thread>

namespace {

struct entry {
    proton::message message;
    unsigned long number;  // its place
};

struct queue {
    std::deque<entry> ready;
    std::list<proton::sender> consumers;
    unsigned long arrived = 0;
};

class server : public proton::messaging_handler, private proton::listen_handler {
public:
    explicit server(int idle_ms) : idle_ms_{idle_ms} {}

    void on_container_start(proton::container& c) override
    {
        container_ = &c;
        c.listen("127.0.0.1:0", *this);
    }
    void stop() { listener_.stop(); }

private:
    void on_open(proton::listener& l) override
    {
        listener_ = l;
        std::cout << "port=" << l.port() << std::endl;
    }
    proton::connection_options on_accept(proton::listener&) override
    {
        proton::connection_options o;
        o.handler(*this).container_id("proton-listener").sasl_allow_insecure_mechs(true);
        if (idle_ms_ > 0)
            o.idle_timeout(proton::duration(idle_ms_));
        return o;
    }

    void on_sender_open(proton::sender& s) override
    {
        auto const address = s.source().address();
        s.open(proton::sender_options{}
                   .source(proton::source_options{}.address(address))
                   .delivery_mode(asked_for(s)));
        queues_[address].consumers.push_back(s);
        serve(address);
    }
    static proton::delivery_mode asked_for(proton::sender&)
    {
        return proton::delivery_mode::NONE;  // the binding cannot tell what the peer asked for
    }
    void on_receiver_open(proton::receiver& r) override
    {
        r.open(proton::receiver_options{}
                   .target(proton::target_options{}.address(r.target().address()))
                   .credit_window(200));
    }
    void on_message(proton::delivery& d, proton::message& m) override
    {
        auto const address = d.receiver().target().address();
        auto& q = queues_[address];
        q.ready.push_back({m, q.arrived++});
        serve(address);
    }
    void on_sendable(proton::sender& s) override { serve(s.source().address()); }
    void on_sender_drain_start(proton::sender& s) override
    {
        serve(s.source().address());
        s.return_credit();
    }

    void serve(std::string const& address)
    {
        auto& q = queues_[address];
        for (auto& s : q.consumers)
            while (s.credit() > 0 && !q.ready.empty()) {
                auto e = q.ready.front();
                q.ready.pop_front();
                auto const t = s.send(e.message);
                if (!t.settled())
                    unsettled_[s].emplace(key(t), e);
            }
    }

    void on_tracker_accept(proton::tracker& t) override { unsettled_[t.sender()].erase(key(t)); }
    void on_tracker_reject(proton::tracker& t) override { unsettled_[t.sender()].erase(key(t)); }
    // `modified` comes here too, and the binding does not say that it was that.
    void on_tracker_release(proton::tracker& t) override { give_back(t); }
    void on_tracker_settle(proton::tracker& t) override { give_back(t); }

    void give_back(proton::tracker& t)
    {
        auto& of = unsettled_[t.sender()];
        auto const found = of.find(key(t));
        if (found == of.end())
            return;
        auto const address = t.sender().source().address();
        put(queues_[address], found->second);
        of.erase(found);
        serve(address);
    }
    static void put(queue& q, entry const& e)
    {
        auto at = q.ready.begin();
        while (at != q.ready.end() && at->number < e.number) ++at;
        q.ready.insert(at, e);
    }

    void on_sender_close(proton::sender& s) override { forget(s); }
    void on_session_close(proton::session& s) override
    {
        for (auto l : s.senders()) forget(l);
    }
    void on_connection_close(proton::connection& c) override { forget_all(c); }
    void on_transport_close(proton::transport& t) override
    {
        auto c = t.connection();
        forget_all(c);
    }
    void on_error(proton::error_condition const&) override {}  // of one peer: the others go on

    void forget_all(proton::connection& c)
    {
        for (auto l : c.senders()) forget(l);
    }
    void forget(proton::sender const& s)
    {
        auto const address = s.source().address();
        auto& q = queues_[address];
        q.consumers.remove(s);
        auto const left = unsettled_.find(s);
        if (left == unsettled_.end())
            return;
        for (auto const& [k, e] : left->second) put(q, e);
        unsettled_.erase(left);
        serve(address);
    }

    static std::string key(proton::tracker const& t)
    {
        auto const tag = t.tag();
        return {tag.begin(), tag.end()};
    }

    int idle_ms_;
    proton::container* container_ = nullptr;
    proton::listener listener_;
    std::map<std::string, queue> queues_;
    std::map<proton::sender, std::map<std::string, entry>> unsettled_;
};

}  // namespace

int main(int argc, char** argv)
{
    server s{argc > 1 ? std::atoi(argv[1]) : 0};
    proton::container c{s, "proton-listener"};
    std::thread{[] {
        while (std::cin.get() != EOF) {}
        std::_Exit(0);
    }}.detach();
    c.run();
}
