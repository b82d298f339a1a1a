// The agent of interop pairings on Qpid Proton's C++ binding (see ../README.md).
#include <proton/connection.hpp>
#include <proton/connection_options.hpp>
#include <proton/container.hpp>
#include <proton/delivery.hpp>
#include <proton/error_condition.hpp>
#include <proton/message.hpp>
#include <proton/messaging_handler.hpp>
#include <proton/receiver_options.hpp>
#include <proton/sender.hpp>
#include <proton/sender_options.hpp>
#include <proton/tracker.hpp>
#include <proton/transport.hpp>

#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <regex>
#include <string>

namespace {

class agent : public proton::messaging_handler {
public:
    std::map<std::string, std::string> options{
        {"to", ""},       {"count", "1"},   {"size", "0"},        {"credit", "100"},
        {"snd", "mixed"}, {"rcv", "first"}, {"action", "accept"}, {"idle", "0"}};
    std::smatch url;
    std::string mode, address;

    void on_container_start(proton::container& c) override
    {
        proton::connection_options o;
        o.user(url[1]).password(url[2]).sasl_allow_insecure_mechs(true);
        if (number("idle") > 0)
            o.idle_timeout(proton::duration(number("idle")));
        c.connect(url[3], o);
    }
    void on_connection_open(proton::connection& c) override
    {
        connection_ = c;
        count_ = number("count");
        auto const how = options["snd"] == "settled"     ? proton::delivery_mode::AT_MOST_ONCE
                         : options["snd"] == "unsettled" ? proton::delivery_mode::AT_LEAST_ONCE
                                                         : proton::delivery_mode::NONE;
        auto by_hand = proton::receiver_options{}.credit_window(0).auto_accept(false);
        if (mode == "echo") {
            sender_ = c.open_sender(options["to"]);
            c.open_receiver(address, by_hand);
        } else if (mode == "send") {
            c.open_sender(address, proton::sender_options{}.delivery_mode(how));
        } else {
            c.open_receiver(address, by_hand.delivery_mode(how));
        }
    }
    void on_receiver_open(proton::receiver& r) override
    {
        r.add_credit(static_cast<std::uint32_t>(number("credit")));
        if (mode == "drain")
            r.drain();
    }
    void on_receiver_drain_finish(proton::receiver&) override { finish(); }
    void on_sendable(proton::sender& s) override
    {
        if (mode == "echo")
            return pass_on();
        while (s.credit() > 0 && sent_ < count_) {
            auto const size = static_cast<std::size_t>(number("size"));
            auto const body = size > 0 ? std::string(size, 'x') : std::to_string(sent_);
            ++sent_;
            s.send(proton::message{body});
            if (options["snd"] == "settled")
                outcome("settled");
        }
    }
    void on_tracker_accept(proton::tracker& t) override { outcome("accepted", t); }
    void on_tracker_reject(proton::tracker& t) override { outcome("rejected", t); }
    void on_tracker_release(proton::tracker& t) override { outcome("released", t); }
    void on_message(proton::delivery& d, proton::message& m) override
    {
        if (mode == "echo") {
            waiting_.emplace_back(d, m);
            return pass_on();
        }
        ++received_;
        came_settled_ += d.settled() ? 1 : 0;
        auto const& action = options["action"];
        if (mode == "recv" && action == "hold") {
            if (received_ == count_)
                std::cout << "ready" << std::endl;
            return;
        }
        if (mode == "drain" || action == "accept")
            d.accept();
        else if (action == "release")
            d.release();
        else if (action == "modify")
            d.modify();
        else
            d.reject();
        if (mode == "drain")
            return;
        if (received_ == count_)
            return finish();
        if (received_ + d.receiver().credit() < count_)
            d.receiver().add_credit(1);
    }
    void on_error(proton::error_condition const& e) override
    {
        if (!closing_) {
            std::cerr << "proton-cpp: " << e.what() << '\n';
            failed_ = closing_ = true;
            connection_.close();
        }
    }

    int report() const
    {
        std::cout << "received=" << received_ << " settled=" << came_settled_ << "\noutcomes";
        for (auto const& [name, n] : outcomes_) std::cout << ' ' << name << '=' << n;
        std::cout << std::endl;
        return failed_ ? 1 : 0;
    }

private:
    int number(char const* name) { return std::atoi(options[name].c_str()); }
    void pass_on()
    {
        while (!waiting_.empty() && sender_.credit() > 0) {
            auto [d, m] = waiting_.front();
            waiting_.pop_front();
            under_way_.emplace(sender_.send(m).tag(), d);
        }
    }
    void outcome(std::string const& name, proton::tracker& t)
    {
        if (mode != "echo")
            return outcome(name);
        auto const found = under_way_.find(t.tag());
        auto incoming = found->second;
        under_way_.erase(found);
        auto receiver = incoming.receiver();
        name == "accepted" ? incoming.accept() : incoming.reject();
        receiver.add_credit(1);
        pass_on();
    }
    void outcome(std::string const& name)
    {
        ++outcomes_[name];
        if (++done_ % 100 == 0)
            std::cout << "progress " << done_ << std::endl;
        if (done_ == count_)
            finish();
    }
    void finish()
    {
        if (!closing_) {
            closing_ = true;
            connection_.close();
        }
    }

    proton::connection connection_;
    proton::sender sender_;
    std::deque<std::pair<proton::delivery, proton::message>> waiting_;
    std::map<proton::binary, proton::delivery> under_way_;
    std::map<std::string, int> outcomes_;
    int count_ = 0, sent_ = 0, done_ = 0, received_ = 0, came_settled_ = 0;
    bool failed_ = false, closing_ = false;
};

}  // namespace

int main(int argc, char** argv)
{
    agent a;
    std::string const first = argc > 3 ? argv[1] : "";
    if (!std::regex_match(first, a.url, std::regex{"amqp://([^:]+):([^@]+)@(.+)"})) {
        std::cerr << "usage: agent amqp://USER:PASSWORD@HOST:PORT MODE ADDRESS [option=value...]\n";
        return 2;
    }
    a.mode = argv[2];
    a.address = argv[3];
    for (auto i = 4; i < argc; ++i) {
        std::string const option = argv[i];
        auto const at = option.find('=');
        a.options[option.substr(0, at)] = option.substr(at + 1);
    }
    proton::container{a, "proton-cpp"}.run();
    return a.report();
}
