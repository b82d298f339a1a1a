// A requester's links: the receiver first, then the sender.
#include "client/requester_core.hpp"
#include "client/session_core.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

namespace sluice::client {

void requester::start_open(session const& on, std::string address, requester_options options,
                           detail::reply_ptr<requester> r)
{
    detail::requester_core::open(on, std::move(address), std::move(options), std::move(r));
}

namespace detail {

namespace asio = boost::asio;

/// The receiver first, for its address goes into each request; then the sender.
class requester_core::opening : public std::enable_shared_from_this<opening> {
public:
    opening(session on, std::string address, requester_options options, reply_ptr<requester> r)
        : on_{std::move(on)},
          own_{asio::make_strand(on_.get_executor().get_inner_executor())},
          address_{std::move(address)},
          options_{std::move(options)},
          reply_{std::move(r)}
    {
    }

    template <class F>
    auto bound(F f)
    {
        return asio::bind_executor(own_,
                                   asio::bind_cancellation_slot(signal_.slot(), std::move(f)));
    }

    void start()
    {
        if (reply_->cancellable())
            reply_->connect(std::make_shared<cancel_open>(weak_from_this(), own_));
        auto from = options_.receiver;
        from.source.dynamic = options_.reply_to.empty();
        asio::dispatch(own_, [self = shared_from_this(), from = std::move(from)]() mutable {
            self->on_.async_open_receiver(self->options_.reply_to, std::move(from),
                                          self->bound([self](error_code code, receiver r) {
                                              self->on_receiver(code, std::move(r));
                                          }));
        });
    }

private:
    class cancel_open final : public canceller {
    public:
        cancel_open(std::weak_ptr<opening> of, executor own)
            : of_{std::move(of)}, own_{std::move(own)}
        {
        }
        void cancel() noexcept override
        {
            asio::post(own_, [of = of_] {
                if (auto const o = of.lock()) {
                    o->cancelled_ = true;
                    o->signal_.emit(asio::cancellation_type::terminal);
                }
            });
        }

    private:
        std::weak_ptr<opening> of_;
        executor own_;
    };

    void on_receiver(error_code code, receiver r)
    {
        if (!code && cancelled_)
            code = net::to_boost(error::operation_aborted);
        if (code)
            return finish(code, r ? r.error() : nullptr, {});
        from_ = std::move(r);
        on_.async_open_sender(address_, options_.sender,
                              bound([self = shared_from_this()](error_code failed, sender s) {
                                  self->on_sender(failed, std::move(s));
                              }));
    }

    void on_sender(error_code code, sender s)
    {
        if (code)
            return finish(code, s ? s.error() : nullptr, {});
        auto core = std::make_shared<requester_core>(on_, std::move(from_), std::move(s),
                                                     std::move(options_));
        core->start_listening();
        finish({}, nullptr, requester{std::move(core)});
    }

    void finish(error_code code, failure_ptr why, requester made)
    {
        auto const& core = on_.core_;
        core->connection()->answer(*core->completions(), std::move(reply_), code, std::move(why),
                                   std::move(made));
    }

    session on_;
    executor own_;
    std::string address_;
    requester_options options_;
    reply_ptr<requester> reply_;
    asio::cancellation_signal signal_;
    receiver from_;
    bool cancelled_ = false;
};

void requester_core::open(session const& on, std::string address, requester_options options,
                          reply_ptr<requester> r)
{
    std::make_shared<opening>(on, std::move(address), std::move(options), std::move(r))->start();
}

}  // namespace detail
}  // namespace sluice::client
