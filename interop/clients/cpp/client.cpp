// A client on Qpid Proton's C++ binding: client URL MODE ADDRESS COUNT SIZE (see ../README.md).
#include <proton/connection.hpp>
#include <proton/connection_options.hpp>
#include <proton/container.hpp>
#include <proton/delivery.hpp>
#include <proton/error_condition.hpp>
#include <proton/message.hpp>
#include <proton/messaging_handler.hpp>
#include <proton/receiver_options.hpp>
#include <proton/sender.hpp>
#include <proton/tracker.hpp>
#include <proton/transport.hpp>

#include <cstdlib>
#include <iostream>
#include <regex>
#include <string>

namespace {

class client : public proton::messaging_handler {
public:
    client(std::smatch const& url, std::string const& mode, std::string address, int count,
           std::size_t size)
        : user_{url[1]},
          password_{url[2]},
          where_{url[3]},
          address_{std::move(address)},
          sends_{mode != "recv"},
          receives_{mode != "send"},
          count_{count},
          body_(size, 'x')
    {
    }

    void on_container_start(proton::container& c) override
    {
        c.connect(
            where_,
            proton::connection_options().user(user_).password(password_).sasl_allow_insecure_mechs(
                true));
    }
    void on_connection_open(proton::connection& c) override
    {
        if (sends_)
            c.open_sender(address_);
        if (receives_)
            c.open_receiver(address_, proton::receiver_options().credit_window(10));
    }
    void on_sendable(proton::sender& s) override
    {
        while (s.credit() > 0 && sent_ < count_) {
            s.send(proton::message{proton::binary{body_.begin(), body_.end()}});
            ++sent_;
        }
    }
    void on_tracker_accept(proton::tracker& t) override
    {
        ++accepted_;
        finish(t.connection());
    }
    void on_message(proton::delivery& d, proton::message&) override
    {
        ++received_;
        finish(d.connection());
    }
    void on_error(proton::error_condition const& e) override
    {
        std::cerr << "proton-cpp: " << e.what() << '\n';
        failed_ = true;
    }

    bool report() const
    {
        std::cout << "sent=" << sent_ << " accepted=" << accepted_ << " received=" << received_
                  << '\n';
        return !failed_ && done();
    }

private:
    bool done() const
    {
        return (!sends_ || accepted_ == count_) && (!receives_ || received_ >= count_);
    }
    void finish(proton::connection c)
    {
        if (done())
            c.close();
    }

    std::string user_, password_, where_, address_;
    bool sends_, receives_;
    int count_;
    std::string body_;
    int sent_ = 0, accepted_ = 0, received_ = 0;
    bool failed_ = false;
};

}  // namespace

int main(int argc, char** argv)
{
    std::smatch url;
    std::string const first = argc == 6 ? argv[1] : "";
    if (!std::regex_match(first, url, std::regex{"amqp://([^:]+):([^@]+)@(.+)"})) {
        std::cerr
            << "usage: client amqp://USER:PASSWORD@HOST:PORT send|recv|both ADDRESS COUNT SIZE\n";
        return 2;
    }
    client c{url, argv[2], argv[3], std::atoi(argv[4]),
             static_cast<std::size_t>(std::atol(argv[5]))};
    proton::container{c, "proton-cpp"}.run();
    return c.report() ? 0 : 1;
}
