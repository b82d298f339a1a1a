// The socket benchmark's two sides on Sluice's client and listener.
#pragma once

#include "socket_work.hpp"

#include <sluice/client/client.hpp>

#include <future>
#include <memory>

namespace sluice::bench {

inline void sluice_receive(socket_work const& w)
{
    socket_meter meter{w};
    std::promise<void> all;
    std::vector<client::receiver> receivers;  // handlers of one session come one after the other
    auto const handle = [&](client::delivery d) {
        if (!d.settled())
            d.accept();
        if (meter.count())
            all.set_value();
    };
    client::server_handlers on;
    on.on_link = [&](client::link_request r) {
        auto options = r.receiver_defaults();
        options.credit_window = w.credit;
        receivers.push_back(r.accept_receiver(options));
        receivers.back().on_message(handle);
    };
    client::container container;
    client::listener listener;
    client::connection connection;
    if (w.through.empty()) {
        listener = container.listen("127.0.0.1", 0, {}, on);
        say_port(std::to_string(listener.port()));
    } else {
        socket_broker const broker{w.through};
        client::receiver_options options;
        options.credit_window = w.credit;
        connection = container.connect(broker.url());
        receivers.push_back(connection.open_receiver(broker.address, options));
        receivers.back().on_message(handle);
        say_port("0");
    }
    all.get_future().wait();
    meter.report();
    // The sender goes first: it has outcomes to wait for.
    std::string line;
    for (int c = 0; (c = std::getchar()) != EOF;) line.push_back(static_cast<char>(c));
}

/// Keeps a window of sends under way from their completions, which run one after the other.
class sluice_sending {
public:
    sluice_sending(socket_work const& w, std::vector<client::sender> links)
        : work_{w}, links_{std::move(links)}, meter_{w}, body_(w.size, std::byte{'x'})
    {
        message_writer{encoded_}.data(bytes_view{body_});
    }

    void run()
    {
        if (work_.rate > 0)
            return run_paced();
        auto const window =
            work_.serial ? 1 : std::min<std::uint64_t>(2 * work_.credit, work_.count);
        boost::asio::post(links_[0].get_executor(), [this, window] {
            for (std::uint64_t i = 0; i < window; ++i) send();
        });
        all_.get_future().wait();
        meter_.report();
    }

private:
    /// From this thread, each when it is due; its outcome comes on another.
    void run_paced()
    {
        socket_pace::be_punctual();
        socket_pace const pace{work_};
        for (std::uint64_t i = 0; i < work_.count; ++i) {
            pace.wait_for(i);
            links_[i % links_.size()].async_send(
                client::encoded_message{encoded_},
                [this, due = pace.due_at(i)](client::error_code ec, client::outcome const& o) {
                    if (ec || !o.accepted())
                        return all_.set_exception(std::make_exception_ptr(
                            std::runtime_error{ec ? ec.message() : o.to_string()}));
                    meter_.trip(nanoseconds() - due);
                    if (meter_.count())
                        all_.set_value();
                });
        }
        all_.get_future().wait();
        meter_.report();
    }
    void send()
    {
        auto const began = work_.serial ? nanoseconds() : 0;
        links_[begun_++ % links_.size()].async_send(
            client::encoded_message{encoded_}, {.settled = work_.presettled},
            [this, began](client::error_code ec, client::outcome const& o) {
                if (ec || (!work_.presettled && !o.accepted()))
                    return all_.set_exception(std::make_exception_ptr(
                        std::runtime_error{ec ? ec.message() : o.to_string()}));
                if (work_.serial)
                    meter_.trip(nanoseconds() - began);
                if (meter_.count())
                    return all_.set_value();
                if (begun_ < work_.count)
                    send();
            });
    }

    socket_work const& work_;
    std::vector<client::sender> links_;
    socket_meter meter_;
    bytes body_;
    bytes encoded_;
    std::uint64_t begun_ = 0;
    std::promise<void> all_;
};

inline void sluice_send(socket_work const& w)
{
    client::container container;
    socket_broker const broker{w.through.empty() ? "127.0.0.1:" + w.port : w.through};
    auto const connection = container.connect(broker.url());
    auto const session = connection.begin();
    std::vector<client::sender> links;
    for (unsigned i = 0; i < w.links; ++i) links.push_back(session.open_sender(broker.address));
    sluice_sending{w, std::move(links)}.run();
    connection.close();
}

}  // namespace sluice::bench
