// One send on its way from the caller to its link.
#include "client/sender_core.hpp"

namespace sluice::client::detail {

void send_request::execute(connection_core&) { link->queue(*this); }

void send_request::refuse() noexcept
{
    auto const why = link->connection()->failure();
    link->answer_send(*this, why ? why->code : make_error_code(sluice::error::connection_not_open),
                      why);
    delete this;
}

void send_request::give_up(std::error_code why) { link->cancel(*this, why); }

void send_request::take(send_options const& options, milliseconds otherwise)
{
    settled = options.settled;
    message_format = options.message_format;
    tag = options.tag;
    state = options.state;
    posts = options.posts;
    timeout = options.timeout.count() == 0 ? otherwise : options.timeout;
}

}  // namespace sluice::client::detail
