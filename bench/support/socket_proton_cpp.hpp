// The socket benchmark's two sides on Proton C++, whose users' threads hand their work to the
// container's by its work_queue.
#pragma once

#include "socket_work.hpp"

#include <proton/binary.hpp>
#include <proton/connection.hpp>
#include <proton/connection_options.hpp>
#include <proton/container.hpp>
#include <proton/delivery_mode.hpp>
#include <proton/error_condition.hpp>
#include <proton/listen_handler.hpp>
#include <proton/listener.hpp>
#include <proton/message.hpp>
#include <proton/messaging_handler.hpp>
#include <proton/receiver.hpp>
#include <proton/receiver_options.hpp>
#include <proton/sender.hpp>
#include <proton/sender_options.hpp>
#include <proton/tracker.hpp>
#include <proton/work_queue.hpp>

#include <condition_variable>
#include <future>
#include <mutex>

namespace sluice::bench {

/// To the other side, or to the broker that is between.
inline proton::connection_options proton_cpp_options(socket_work const& w)
{
    proton::connection_options o;
    o.max_frame_size(65'536).sasl_allow_insecure_mechs(true);
    if (w.through.empty())
        return o.sasl_enabled(false);
    socket_broker const broker{w.through};
    return broker.user.empty() ? o : o.user(broker.user).password(broker.password);
}
inline std::string proton_cpp_url(socket_work const& w)
{
    socket_broker const broker{w.through.empty() ? "127.0.0.1:" + w.port : w.through};
    return "amqp://" + broker.host_port + "/" + broker.address;
}

class proton_cpp_receiving final : public proton::messaging_handler {
public:
    explicit proton_cpp_receiving(socket_work const& w) : work_{w}, meter_{w} {}

    void run()
    {
        proton::container container{*this};
        std::thread thread{[&] { container.run(); }};
        all_.get_future().wait();
        meter_.report();
        // The sender goes first: it has outcomes to wait for.
        while (std::getchar() != EOF) {}
        container.stop();
        thread.join();
    }

private:
    struct port_teller final : proton::listen_handler {
        explicit port_teller(socket_work const& w) : options{proton_cpp_options(w)} {}
        void on_open(proton::listener& l) override { say_port(std::to_string(l.port())); }
        proton::connection_options on_accept(proton::listener&) override { return options; }
        proton::connection_options options;
    };

    void on_container_start(proton::container& c) override
    {
        if (work_.through.empty()) {
            c.listen("127.0.0.1:0", ports_);
            return;
        }
        c.open_receiver(proton_cpp_url(work_), window(), proton_cpp_options(work_));
        say_port("0");
    }
    void on_error(proton::error_condition const&) override {}  // the other side has left
    void on_receiver_open(proton::receiver& r) override
    {
        if (!r.active())
            r.open(window());
    }
    void on_message(proton::delivery&, proton::message&) override
    {
        if (meter_.count())
            all_.set_value();
    }
    static proton::receiver_options window()
    {
        return proton::receiver_options{}.credit_window(static_cast<int>(socket_work::credit));
    }

    socket_work const& work_;
    socket_meter meter_;
    port_teller ports_{work_};
    std::promise<void> all_;
};

class proton_cpp_sending final : public proton::messaging_handler {
public:
    explicit proton_cpp_sending(socket_work const& w) : work_{w}, meter_{w}
    {
        message_.body(proton::binary(std::string(w.size, 'x')));
    }

    void run()
    {
        proton::container container{*this};
        std::thread thread{[&] { container.run(); }};
        ready_.get_future().wait();
        if (work_.serial)
            run_serial();
        else if (work_.rate > 0)
            run_paced();
        else
            queue_->add([this] { send_on(); });
        all_.get_future().wait();
        meter_.report();
        queue_->add([this] { sender_.connection().close(); });
        thread.join();
    }

private:
    void run_serial()
    {
        for (std::uint64_t i = 0; i < work_.count; ++i) {
            auto const began = nanoseconds();
            queue_->add([this] { sender_.send(message_); });
            std::unique_lock lock{mutex_};
            answered_.wait(lock, [&] { return outcomes_ == i + 1; });
            meter_.trip(nanoseconds() - began);
            if (meter_.count())
                all_.set_value();
        }
    }
    void run_paced()
    {
        socket_pace::be_punctual();
        pace_ = std::make_unique<socket_pace>(work_);
        for (std::uint64_t i = 0; i < work_.count; ++i) {
            pace_->wait_for(i);
            queue_->add([this] { sender_.send(message_); });
        }
    }

    // The container's thread.
    void on_container_start(proton::container& c) override
    {
        proton::sender_options o;
        o.delivery_mode(work_.presettled ? proton::delivery_mode::AT_MOST_ONCE
                                         : proton::delivery_mode::AT_LEAST_ONCE);
        c.open_sender(proton_cpp_url(work_), o, proton_cpp_options(work_));
    }
    void on_error(proton::error_condition const&) override {}  // the other side has left
    void on_sendable(proton::sender& s) override
    {
        if (!std::exchange(began_, true)) {
            sender_ = s;
            queue_ = &s.work_queue();
            ready_.set_value();
        } else if (!work_.serial && work_.rate == 0) {
            send_on();
        }
    }
    void send_on()
    {
        while (sent_ < work_.count && sender_.credit() > 0) {
            sender_.send(message_);
            ++sent_;
            if (work_.presettled && meter_.count())
                all_.set_value();
        }
    }
    void on_tracker_accept(proton::tracker&) override
    {
        if (work_.serial) {
            std::lock_guard const lock{mutex_};
            ++outcomes_;
            answered_.notify_one();
            return;
        }
        if (pace_)
            meter_.trip(nanoseconds() - pace_->due_at(outcomes_++));
        if (meter_.count())
            all_.set_value();
        else if (!pace_)
            send_on();
    }

    socket_work const& work_;
    socket_meter meter_;
    proton::message message_;
    proton::sender sender_;
    proton::work_queue* queue_ = nullptr;
    std::unique_ptr<socket_pace> pace_;
    std::promise<void> ready_;
    std::promise<void> all_;
    std::mutex mutex_;
    std::condition_variable answered_;
    std::uint64_t sent_ = 0;
    std::uint64_t outcomes_ = 0;
    bool began_ = false;
};

inline void proton_cpp_receive(socket_work const& w) { proton_cpp_receiving{w}.run(); }
inline void proton_cpp_send(socket_work const& w) { proton_cpp_sending{w}.run(); }

}  // namespace sluice::bench
