// The serving side of requests: takes them from an address and sends each reply where its request
// asks for it.
#pragma once

#include <sluice/client/session.hpp>
#include <sluice/export.hpp>

#include <functional>

namespace sluice::client {

namespace detail {
class responder_core;
}

struct responder_options {
    receiver_options receiver{};
    /// Of the link for replies, which has no target address: each reply says in `to` where it goes.
    sender_options sender{};
    /// Sends replies through this link instead, such as one to a peer that has no anonymous relay.
    std::optional<client::sender> replies{};
};

/// One request, to be answered once; the first answer counts. Copies refer to the same one. It may
/// be kept and answered later, from any thread. One that goes without an answer is released, so
/// that another server may take it.
class SLUICE_EXPORT incoming_request {
public:
    sluice::message const& message() const noexcept;
    client::delivery const& delivery() const noexcept;

    /// Sends `m` with the request's correlation-id (or else its message-id) to its reply-to, and
    /// accepts the request once the reply is taken; if it is not, the request is released. A
    /// request without reply-to is accepted, and nothing is sent.
    void reply(sluice::message m) const;
    /// The request cannot be processed, now or later.
    void reject(amqp_error why) const;

private:
    friend class detail::responder_core;
    struct state;
    explicit incoming_request(std::shared_ptr<state> s) noexcept : state_{std::move(s)} {}
    std::shared_ptr<state> state_;
};

/// Serves requests from one address. A handle; copies refer to the same one. Thread-safe. Once the
/// last handle is gone it takes no more requests.
///
///     auto const serving = responder::open(session, "prices", [](message const& m) {
///         return message{price_of(m)};
///     });
///
/// @pre of all members but valid(): valid(). One that is default-constructed is not.
class SLUICE_EXPORT responder {
public:
    /// Handlers run one after the other on the session's executor.
    using handler = std::function<void(incoming_request)>;
    /// What it throws rejects the request: amqp:internal-error, with the text of the exception.
    using function = std::function<message(message const&)>;

    responder() noexcept = default;
    bool valid() const noexcept { return core_ != nullptr; }
    explicit operator bool() const noexcept { return valid(); }

    /// Attaches both links; the peer has to have an anonymous relay (a target without an address)
    /// unless responder_options::replies is set. Blocking. @throws boost::system::system_error
    static responder open(session const& on, std::string const& address, handler h,
                          responder_options options = {});
    static responder open(session const& on, std::string const& address, function f,
                          responder_options options = {});

    std::uint64_t served() const noexcept;
    /// Takes no more requests and detaches both links.
    void close() const;

private:
    std::shared_ptr<detail::responder_core> core_;
};

}  // namespace sluice::client
