// Requests and their replies over two links: whom to answer, which reply is whose, and until when.
#pragma once

#include <sluice/client/session.hpp>
#include <sluice/export.hpp>

namespace sluice::client {

namespace detail {
class requester_core;
}

struct requester_options {
    sender_options sender{};
    /// Where replies come from. Without `reply_to` its source is dynamic: the peer gives it an
    /// address that nobody else has.
    receiver_options receiver{};
    std::string
        reply_to{};  ///< an address of your own for replies; nobody else may receive from it
    milliseconds timeout{0};  ///< of each request, from the call to the reply; 0: the session's
    std::size_t waiting_max = 10'000;  ///< requests without a reply; one more is error::queue_full
};

/// What a requester has done so far.
struct requester_counters {
    std::uint64_t requests = 0;
    std::uint64_t replies = 0;    ///< that somebody waited for
    std::uint64_t late = 0;       ///< replies to requests that were given up
    std::uint64_t unrelated = 0;  ///< what came without a correlation-id of ours
    std::uint64_t waiting = 0;    ///< requests without a reply, now
};

/// Sends requests to one address and finds each reply by its correlation-id. A handle; copies refer
/// to the same one. Thread-safe. Once the last handle is gone, requests without a reply end with
/// error::operation_aborted and the links are detached.
///
///     auto const service = requester::open(session, "prices");
///     message const reply = service.request(message{"tea"});
///
/// On a connection that recovers, the peer gives a new reply address: requests of after that use
/// it, replies to those of before are lost, and these end at their deadlines.
///
/// @pre of all members but valid(): valid(). One that is default-constructed is not.
class SLUICE_EXPORT requester {
public:
    requester() noexcept = default;
    bool valid() const noexcept { return core_ != nullptr; }
    explicit operator bool() const noexcept { return valid(); }

    /// Attaches both links. Errors: those of session::async_open_sender(). Cancelling detaches what
    /// was attached.
    template <class Token>
    static auto async_open(session const& on, std::string address, requester_options options,
                           Token&& token)
    {
        return detail::initiate<requester>(on.get_executor(), std::forward<Token>(token),
                                           [on, a = std::move(address), o = std::move(options)](
                                               detail::reply_ptr<requester> r) mutable {
                                               start_open(on, std::move(a), std::move(o),
                                                          std::move(r));
                                           });
    }
    /// Blocking. @throws boost::system::system_error
    static requester open(session const& on, std::string address, requester_options options = {})
    {
        return detail::wait_for<requester>([&](detail::reply_ptr<requester> r) {
            start_open(on, std::move(address), std::move(options), std::move(r));
        });
    }

    /// Sends `m` and completes with the message that answers it. Sets its reply-to, and its
    /// message-id if it has none; a reply's correlation-id has to be that. An id of your own must
    /// not be one that waits already: error::invalid_argument.
    ///
    /// Errors: error::timed_out and error::operation_aborted (cancelled): the request may be
    /// processed all the same, and its reply is dropped and counted; error::rejected, released,
    /// modified (the peer did not take it); error::queue_full (waiting_max); the links' end.
    /// @param timeout 0: requester_options::timeout
    template <class Token>
    auto async_request(message m, milliseconds timeout, Token&& token) const
    {
        return detail::initiate<message>(
            get_executor(), std::forward<Token>(token),
            [self = *this, m = std::move(m), timeout](detail::reply_ptr<message> r) mutable {
                self.start_request(std::move(m), timeout, std::move(r));
            });
    }
    template <class Token>
    auto async_request(message m, Token&& token) const
    {
        return async_request(std::move(m), milliseconds{0}, std::forward<Token>(token));
    }
    /// Blocking; may be called from handlers of the same session.
    /// @throws boost::system::system_error
    message request(message m, milliseconds timeout = milliseconds{0}) const
    {
        return detail::wait_for<message>([&](detail::reply_ptr<message> r) {
            start_request(std::move(m), timeout, std::move(r));
        });
    }

    /// The address that replies are sent to, as of now.
    std::string reply_address() const;
    requester_counters counters() const noexcept;
    /// Ends what waits with error::closed_locally and detaches both links.
    void close() const;
    executor get_executor() const;

private:
    friend class detail::requester_core;
    explicit requester(std::shared_ptr<detail::requester_core> core) noexcept
        : core_{std::move(core)}
    {
    }
    static void start_open(session const& on, std::string address, requester_options options,
                           detail::reply_ptr<requester> r);
    void start_request(message m, milliseconds timeout, detail::reply_ptr<message> r) const;

    std::shared_ptr<detail::requester_core> core_;
};

}  // namespace sluice::client
