// What is wrong with values that a user hands over, found before they go out: a peer closes the
// whole connection for a string that is none or for octets that are no value.
#pragma once

#include "client/completion_queue.hpp"
#include "client/endpoint.hpp"

#include <sluice/client/delivery.hpp>
#include <sluice/client/listener.hpp>
#include <sluice/client/options.hpp>

#include <string>

namespace sluice::client::detail {

inline constexpr std::size_t tag_most = 32;  // [2.8.7]

/// Each names the field and says what is wrong with it; empty: nothing. Any thread.
std::string fault_in(container_options const& o);
std::string fault_in(connection_options const& o);
std::string fault_in(listener_options const& o);
std::string fault_in(session_options const& o);
std::string fault_in(sender_options const& o);
std::string fault_in(receiver_options const& o);
std::string fault_in(send_options const& o);
std::string fault_in(amqp_error const& e);
std::string fault_in(modification const& m);
/// Of an encoded delivery state, or nothing.
std::string fault_in_state(char const* field, bytes_view state);
/// Of a host name, which goes out in open and in SASL.
std::string fault_in_host(std::string_view host);

/// Whether fault_in() can find anything: sends with nothing but their message pay no more than
/// this.
inline bool may_have_fault(send_options const& o) noexcept
{
    return !o.state.empty() || o.tag.size() > tag_most || o.timeout < milliseconds{0};
}

/// error::invalid_argument with this text; null without one.
failure_ptr refusal(std::string fault);
/// Throws it.
/// @throws boost::system::system_error with error::invalid_argument, if there is a fault
void require_none(std::string const& fault);

/// Completes a call with `why` instead of making it.
template <class... R>
void refuse(completion_queue& queue, reply_ptr<R...> r, failure_ptr const& why)
{
    r->set(why->code, why, R{}...);
    queue.complete(*r.release());
}

/// `text`, with '?' for each octet of another character set if it is not UTF-8.
std::string as_utf8(std::string text);

}  // namespace sluice::client::detail
