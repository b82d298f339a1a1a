// The text of a failure: what failed, and the condition if there is one.
#include "client/endpoint.hpp"

namespace sluice::client::detail {

failure_ptr make_failure(std::error_code code, std::string what, amqp_error error)
{
    if (!error.empty())
        what += ": " + error.to_string();
    return std::make_shared<client::failure const>(
        client::failure{.code = code, .error = std::move(error), .text = std::move(what)});
}

}  // namespace sluice::client::detail
