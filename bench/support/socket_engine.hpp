// The socket benchmark's two sides on Sluice's engine in a loop of its own around poll(2), as one
// embeds it: one thread, buffers of 64 KiB, like the proactor that it is compared with.
#pragma once

#include "socket_work.hpp"

#include <sluice/codec/codec.hpp>
#include <sluice/codec/message_writer.hpp>
#include <sluice/engine/connection.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <tuple>

namespace sluice::bench {

/// One connection on a socket that does not block.
class engine_side {
public:
    engine_side(socket_work const& w, bool listener)
        : work_{w}, meter_{w}, engine_{options(listener)}
    {
    }
    virtual ~engine_side()
    {
        if (socket_ >= 0)
            ::close(socket_);
    }
    engine_side(engine_side const&) = delete;
    engine_side& operator=(engine_side const&) = delete;

    void run()
    {
        while (!over_) {
            auto const more = write();
            std::array<pollfd, 3> p{};
            p[0].fd = socket_;
            p[0].events = static_cast<short>(more ? POLLIN | POLLOUT : POLLIN);
            p[1].fd = 0;  // its end: the parent has heard both sides
            p[2].fd = wake_;
            p[2].events = POLLIN;
            if (::poll(p.data(), p.size(), -1) < 0 && errno != EINTR)
                throw std::runtime_error{"poll failed"};
            if (p[1].revents != 0)
                return;
            if ((p[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0)
                read();
            std::uint64_t woken = 0;
            if (p[2].revents != 0 && ::read(wake_, &woken, sizeof woken) < 0 && errno != EAGAIN)
                throw std::runtime_error{"cannot read what wakes the loop"};
        }
    }

protected:
    virtual void on_event(engine::event const& e) = 0;
    /// Gives the engine more to write, before it is asked.
    virtual void refill() {}

    static sockaddr_in loopback(std::uint16_t port)
    {
        sockaddr_in a{};
        a.sin_family = AF_INET;
        a.sin_port = htons(port);
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return a;
    }
    void take(int socket)
    {
        socket_ = socket;
        int const on = 1;
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
    }

    socket_work const& work_;
    socket_meter meter_;
    engine::connection engine_;
    int wake_ = -1;  // an eventfd that other threads write to

private:
    static engine::connection_options options(bool listener)
    {
        engine::connection_options o;
        o.listener = listener;
        o.container_id = "bench";
        o.max_frame_size = o.outgoing_frame_max = buffer_size;
        return o;
    }

    /// @returns true if the socket takes no more
    bool write()
    {
        while (true) {
            if (pending_.empty()) {
                refill();
                pending_ = bytes_view{out_}.first(engine_.write(out_, {}));
                if (pending_.empty())
                    return false;
            }
            auto const n = ::send(socket_, pending_.data(), pending_.size(), MSG_NOSIGNAL);
            if (n < 0) {
                if (errno == EAGAIN)
                    return true;
                over_ = true;
                return false;
            }
            pending_ = pending_.subspan(static_cast<std::size_t>(n));
        }
    }
    void read()
    {
        auto const n = ::recv(socket_, in_.data(), in_.size(), 0);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            over_ = true;
            return;
        }
        for (bytes_view left{in_.data(), static_cast<std::size_t>(n)}; !left.empty();) {
            left = left.subspan(engine_.receive(left, {}));
            for (engine::event e; engine_.poll_event(e);) {
                if (e.kind == engine::event_kind::connection_closed)
                    over_ = true;
                on_event(e);
            }
        }
    }

    static constexpr std::size_t buffer_size = 65'536;
    int socket_ = -1;
    std::vector<std::byte> in_ = std::vector<std::byte>(buffer_size);
    std::vector<std::byte> out_ = std::vector<std::byte>(buffer_size);
    bytes_view pending_;
    bool over_ = false;
};

class engine_receiving final : public engine_side {
public:
    explicit engine_receiving(socket_work const& w) : engine_side{w, true}
    {
        auto const listener = ::socket(AF_INET, SOCK_STREAM, 0);
        auto a = loopback(0);
        socklen_t size = sizeof a;
        if (bind(listener, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0
            || listen(listener, 1) != 0
            || getsockname(listener, reinterpret_cast<sockaddr*>(&a), &size) != 0)
            throw std::runtime_error{"no port to listen at"};
        say_port(std::to_string(ntohs(a.sin_port)));
        take(::accept(listener, nullptr, nullptr));
        ::close(listener);
    }

private:
    void on_event(engine::event const& e) override
    {
        using kind = engine::event_kind;
        switch (e.kind) {
        case kind::connection_requested: std::ignore = engine_.open(); return;
        case kind::session_requested: std::ignore = e.session->begin({}); return;
        case kind::link_requested: {
            engine::link_options o;
            o.source = encoded(source{});
            o.target = encoded(target{});
            o.snd_settle_mode = e.link->remote_attach().snd_settle_mode;
            o.credit_window = socket_work::credit;
            std::ignore = e.link->attach(std::move(o));
            return;
        }
        case kind::delivery:
            std::ignore = e.incoming->link().settle(*e.incoming);
            if (meter_.count())
                meter_.report();
            return;
        default: return;
        }
    }
};

class engine_sending final : public engine_side {
public:
    explicit engine_sending(socket_work const& w) : engine_side{w, false}
    {
        wake_ = w.rate > 0 ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : -1;
        bytes const body(w.size, std::byte{'x'});
        message_writer{encoded_}.data(bytes_view{body});
        payload_.head = encoded_;
        auto const to = ::socket(AF_INET, SOCK_STREAM, 0);
        auto a = loopback(static_cast<std::uint16_t>(std::stoi(w.port)));
        if (::connect(to, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0)
            throw std::runtime_error{"cannot connect"};
        take(to);
        std::ignore = engine_.open();
        auto* const session = *engine_.begin();
        for (unsigned i = 0; i < w.links; ++i) {
            engine::link_options o;
            o.name = "bench" + std::to_string(i);
            o.source = encoded(source{});
            o.target = encoded(target{});
            o.snd_settle_mode =
                w.presettled ? sender_settle_mode::settled : sender_settle_mode::unsettled;
            links_.push_back(*session->attach_sender(std::move(o)));
        }
    }

    ~engine_sending() override
    {
        clock_.reset();
        if (wake_ >= 0)
            ::close(wake_);
    }

private:
    bool may_send() const
    {
        return begun_ < work_.count && !(work_.serial && begun_ != ended_)
               && !(work_.rate > 0 && (!clock_ || begun_ >= clock_->due()));
    }
    void refill() override
    {
        if (work_.rate > 0 && !clock_ && links_[0]->free_credit() > 0)
            clock_ = std::make_unique<socket_clock>(work_, [this] {
                std::uint64_t const one = 1;
                std::ignore = ::write(wake_, &one, sizeof one);
            });
        std::uint64_t queued = 0;
        for (bool again = true; again && queued < socket_work::queued_max;) {
            again = false;
            for (auto* const l : links_) {
                if (!may_send())
                    return;
                if (l->free_credit() == 0)
                    continue;
                began_ = work_.serial ? nanoseconds() : 0;
                if (!l->send(payload_, {}))
                    throw std::runtime_error{"sluice: send failed"};
                ++begun_;
                ++queued;
                again = true;
                if (work_.presettled)
                    done();
            }
        }
    }
    void on_event(engine::event const& e) override
    {
        if (e.kind != engine::event_kind::outcome || work_.presettled)
            return;
        if (e.outgoing->outcome() != engine::outcome_kind::accepted)
            throw std::runtime_error{"sluice: a message was not accepted"};
        if (work_.serial)
            meter_.trip(nanoseconds() - began_);
        else if (work_.rate > 0)
            meter_.trip(nanoseconds() - clock_->due_at(ended_));
        done();
    }
    void done()
    {
        ++ended_;
        if (meter_.count())
            meter_.report();
    }

    bytes encoded_;
    engine::payload payload_;
    std::vector<engine::sender*> links_;
    std::uint64_t begun_ = 0;
    std::uint64_t ended_ = 0;
    std::int64_t began_ = 0;
    std::unique_ptr<socket_clock> clock_;
};

inline void engine_receive(socket_work const& w) { engine_receiving{w}.run(); }
inline void engine_send(socket_work const& w) { engine_sending{w}.run(); }

}  // namespace sluice::bench
