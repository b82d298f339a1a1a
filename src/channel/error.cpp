// The texts of the errors of channels: what was wrong, and what to do.
#include <sluice/channel/error.hpp>

namespace sluice::channels {
namespace {

char const* text(errc e) noexcept
{
    switch (e) {
    case errc::channel_closed:
        return "the channel is closed: no value can be sent any more; what is in it can still be "
               "received";
    case errc::channel_destroyed:
        return "the channel was destroyed, with what was in it; open it again to make a new one";
    case errc::channel_stopped: return "this handle on the channel was stopped; open another one";
    case errc::expired:
        return "the value went back before it was acknowledged (visibility time-out, or a lost "
               "connection) and comes again; acknowledge sooner, or give the channel a longer "
               "visibility_timeout";
    case errc::mismatch:
        return "the channel exists with other options; open it with the same, or use another name";
    case errc::not_found:
        return "there is no channel of that name; leave `create` on, or open it first where it is "
               "made";
    case errc::not_allowed: return "the node does not let this user do so; ask who runs it";
    case errc::limit:
        return "a limit of the node was reached; send less at once, or raise it there";
    case errc::malformed:
        return "the node did not understand the request; are both of the same version?";
    case errc::undecodable:
        return "a value that the codec does not take; it was rejected and does not come again (see "
               "take_undecodable)";
    case errc::other_connection:
        return "the channels of a select have to be opened on one connection; one of these is not";
    case errc::at_most_once_refused:
        return "a channel with at_most_once acknowledges nothing: it has no recv_ack, no async_ack "
               "and no capacity 0; use at_least_once";
    case errc::not_a_node:
        return "the peer has no channels; connect to a Sluice node (`sluice node`)";
    case errc::protocol_broken:
        return "the node sent what no node should; are both of the same version?";
    case errc::handler_failed: return "the handler of the case that was picked threw an exception";
    }
    return "unknown error of a channel";
}

class channel_category final : public std::error_category {
public:
    char const* name() const noexcept override { return "sluice.channel"; }
    std::string message(int value) const override { return text(static_cast<errc>(value)); }
};

}  // namespace

std::error_category const& category() noexcept
{
    static channel_category const instance;
    return instance;
}

undecodable_value::undecodable_value(bytes octets, std::string const& what)
    : boost::system::system_error{net::error_code{make_error_code(errc::undecodable)}, what},
      octets_{std::move(octets)}
{
}

undecodable_value::~undecodable_value() = default;

}  // namespace sluice::channels
