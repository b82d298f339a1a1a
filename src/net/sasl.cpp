// ANONYMOUS and PLAIN, and the choice between what is wanted and what is offered. [5.3, RFC 4505,
// RFC 4616]
#include <sluice/net/sasl.hpp>

#include <algorithm>

namespace sluice::net {
namespace {

void append_text(bytes& to, std::string_view text)
{
    auto const* const data = reinterpret_cast<std::byte const*>(text.data());
    to.insert(to.end(), data, data + text.size());
}

/// One message from the client and nothing else: what ANONYMOUS and PLAIN have in common.
class single_message final : public sasl_client {
public:
    single_message(std::string_view mechanism, bytes message)
        : mechanism_{mechanism}, message_{std::move(message)}
    {
    }

    std::string_view mechanism() const noexcept override { return mechanism_; }
    std::optional<bytes> initial_response() override { return std::exchange(message_, {}); }
    result<bytes> respond(bytes_view) override { return unexpected{error::sasl_auth_failed}; }

private:
    std::string_view mechanism_;
    bytes message_;
};

std::string joined(std::span<std::string const> names)
{
    std::string out;
    for (auto const& name : names) out += (out.empty() ? "" : ", ") + name;
    return out.empty() ? "none" : out;
}

}  // namespace

std::unique_ptr<sasl_client> sasl_anonymous(std::string trace)
{
    bytes message;
    append_text(message, trace);
    return std::make_unique<single_message>("ANONYMOUS", std::move(message));
}

result<std::unique_ptr<sasl_client>> sasl_plain(credentials const& who)
{
    for (auto const* const part : {&who.user, &who.password, &who.authorize_as})
        if (part->find('\0') != part->npos)
            return unexpected{error::invalid_argument};
    bytes message;
    append_text(message, who.authorize_as);
    message.push_back(std::byte{0});
    append_text(message, who.user);
    message.push_back(std::byte{0});
    append_text(message, who.password);
    return std::unique_ptr<sasl_client>{
        std::make_unique<single_message>("PLAIN", std::move(message))};
}

std::optional<credentials> sasl_read_plain(bytes_view response)
{
    std::string_view const text{reinterpret_cast<char const*>(response.data()), response.size()};
    auto const first = text.find('\0');
    auto const second = first == text.npos ? text.npos : text.find('\0', first + 1);
    if (second == text.npos || text.find('\0', second + 1) != text.npos)
        return std::nullopt;
    return credentials{.user = std::string{text.substr(first + 1, second - first - 1)},
                       .password = std::string{text.substr(second + 1)},
                       .authorize_as = std::string{text.substr(0, first)}};
}

std::vector<std::string> sasl_wanted(bool has_credentials)
{
    if (has_credentials)
        return {"PLAIN"};
    return {"ANONYMOUS"};
}

std::string_view sasl_choose(std::span<std::string const> wanted,
                             std::span<std::string const> offered, std::string* fault)
{
    for (auto const& name : wanted)
        if (std::find(offered.begin(), offered.end(), name) != offered.end())
            return name;
    if (fault) {
        *fault = "no common SASL mechanism: the peer offers " + joined(offered)
                 + "; this side may use " + joined(wanted);
        if (std::find(wanted.begin(), wanted.end(), "PLAIN") == wanted.end())
            *fault += "; give a user and a password if the peer wants them";
        else
            *fault += "; leave the credentials out, or let the peer offer another one";
    }
    return {};
}

}  // namespace sluice::net
