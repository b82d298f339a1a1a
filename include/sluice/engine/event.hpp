// What happened, for the owner to poll.
#pragma once

#include <sluice/codec/performatives.hpp>
#include <sluice/error.hpp>

#include <string>

namespace sluice::engine {

class connection;
class session;
class link;
class sender;
class receiver;
class outgoing_delivery;
class incoming_delivery;

enum class event_kind : std::uint8_t {
    // SASL [5.3]; the owner answers with the command in parentheses
    sasl_mechanisms,  ///< initiator (sasl_init): connection::sasl_mechanisms() lists the peer's
    sasl_init,        ///< listener (sasl_challenge, sasl_outcome): connection::sasl_mechanism(),
                      ///< sasl_bytes()
    sasl_challenge,   ///< initiator (sasl_response): connection::sasl_bytes()
    sasl_response,    ///< listener (sasl_challenge, sasl_outcome): connection::sasl_bytes()
    sasl_outcome,     ///< initiator: `code` is none, or says why authentication failed (then
                      ///< connection_closed)

    connection_requested,  ///< listener (open or close): connection::remote_open()
    connection_opened,     ///< both opens are through
    connection_closed,     ///< final. `code` and connection::error() say why; no code after a clean
                           ///< close

    session_requested,  ///< the peer began (session::begin or end)
    session_begun,      ///< both begins are through
    session_ended,      ///< final for the session and its links. `code`, session::error()

    link_requested,  ///< the peer attached (link::attach or refuse): link::remote_attach()
    link_attached,   ///< both attaches are through, neither terminus the peer decides on is null
    link_detached,   ///< final for the link. `code`, link::error(), link::closed_by_peer()

    credit,           ///< sender: credit rose, sender::credit()
    drain_requested,  ///< sender with manual_drain (queue what there is, then sender::drained())
    drained,          ///< receiver: the peer answered a drain, the credit is gone
    sent,             ///< outgoing, if asked for: its last frame was written
    outcome,          ///< outgoing: the peer stated or settled; outgoing_delivery::outcome(),
                      ///< remotely_settled()
    aborted,   ///< outgoing: ended by an aborted frame, withdrawn, or its source failed (`code`)
    delivery,  ///< incoming: complete (streamed: begun)
    delivery_part,     ///< incoming, streamed: more octets, or complete
    delivery_aborted,  ///< incoming: the peer aborted it. `final` if it was not told of before;
                       ///< else, streamed, it is to be settled. It has used credit either way
    delivery_settled,  ///< incoming: the peer settled it

    flow_mismatch,  ///< tolerant session: the peer's next-outgoing-id (`actual`) is not `expected`
};

/// A std::error_code that costs nothing while it says "no error": most events are made and read a
/// million times a second.
class event_code {
public:
    constexpr event_code() noexcept = default;
    // NOLINTBEGIN(google-explicit-constructor): it stands for a std::error_code
    event_code(std::error_code c) noexcept : category_{&c.category()}, value_{c.value()} {}

    operator std::error_code() const noexcept
    {
        return category_ ? std::error_code{value_, *category_} : std::error_code{};
    }
    // NOLINTEND(google-explicit-constructor)
    explicit operator bool() const noexcept { return value_ != 0; }
    int value() const noexcept { return value_; }
    std::string message() const { return std::error_code{*this}.message(); }
    friend bool operator==(event_code a, std::error_code b) noexcept
    {
        return std::error_code{a} == b;
    }
    friend bool operator==(event_code a, error b) noexcept
    {
        return std::error_code{a} == make_error_code(b);
    }

private:
    std::error_category const* category_ = nullptr;
    int value_ = 0;
};

/// Objects that an event refers to stay valid until the next poll_event(), longer where their
/// documentation says so.
struct event {
    event_kind kind{};
    bool final = false;  ///< the delivery is gone with the next poll_event()
    event_code code{};
    engine::session* session = nullptr;
    engine::link* link = nullptr;
    outgoing_delivery* outgoing = nullptr;
    incoming_delivery* incoming = nullptr;
    std::uint32_t expected = 0;
    std::uint32_t actual = 0;
};

}  // namespace sluice::engine
