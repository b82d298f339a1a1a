// The mechanisms of a message or two: ANONYMOUS [RFC 4505], PLAIN [RFC 4616], EXTERNAL [RFC 4422],
// OAUTHBEARER [RFC 7628] and XOAUTH2. SCRAM is in sasl_scram.cpp, the choice in sasl_choice.cpp.
#include "net/scram_messages.hpp"

#include <sluice/codec/scalars.hpp>
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

/// A token, and what the peer says if it does not like it.
class bearer final : public sasl_client {
public:
    /// @param end what [RFC 7628, 3.2.3] or the service wants to hear before it says no
    bearer(std::string_view mechanism, std::string message, std::string_view end)
        : mechanism_{mechanism}, message_{std::move(message)}, end_{end}
    {
    }

    std::string_view mechanism() const noexcept override { return mechanism_; }
    std::optional<bytes> initial_response() override
    {
        bytes out;
        append_text(out, message_);
        detail::wipe(message_);
        message_.clear();
        return out;
    }
    result<bytes> respond(bytes_view challenge) override
    {
        if (std::exchange(refused_, true))
            return unexpected{error::sasl_auth_failed};
        fault_ = "the peer does not take the token" + status_in(challenge);
        bytes out;
        append_text(out, end_);
        return out;
    }

private:
    /// `"status":"invalid_token"`, if it is one word: the rest could repeat anything.
    static std::string status_in(bytes_view challenge)
    {
        std::string_view text{reinterpret_cast<char const*>(challenge.data()), challenge.size()};
        auto const begin = text.find("\"status\"");
        if (begin == text.npos)
            return {};
        text.remove_prefix(begin + 8);
        auto const open = text.find_first_not_of(" :\t");
        if (open == text.npos || text[open] != '"')
            return {};
        text = text.substr(open + 1, 40);
        auto const end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_-0123456789");
        if (end == text.npos || end == 0 || text[end] != '"')
            return {};
        return ": " + std::string{text.substr(0, end)};
    }

    std::string_view mechanism_;
    std::string message_;
    std::string_view end_;
    bool refused_ = false;
};

bool has_control(std::string_view text)
{
    return std::ranges::any_of(
        text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; });
}

bool is_sound(sasl_token const& what)
{
    return !what.token.empty() && !has_control(what.token) && !has_control(what.user)
           && !has_control(what.host);
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
    // [RFC 4616] "authcid = 1*SAFE", "passwd = 1*SAFE", in UTF-8: no check is asked about others.
    auto const user = text.substr(first + 1, second - first - 1);
    auto const password = text.substr(second + 1);
    if (user.empty() || password.empty() || !sluice::detail::is_utf8(user)
        || !sluice::detail::is_utf8(password))
        return std::nullopt;
    return credentials{.user = std::string{user},
                       .password = std::string{password},
                       .authorize_as = std::string{text.substr(0, first)}};
}

std::unique_ptr<sasl_client> sasl_external(std::string authorize_as)
{
    bytes message;
    append_text(message, authorize_as);
    return std::make_unique<single_message>("EXTERNAL", std::move(message));
}

result<std::unique_ptr<sasl_client>> sasl_oauthbearer(sasl_token const& what)
{
    if (!is_sound(what))
        return unexpected{error::invalid_argument};
    auto text =
        what.user.empty() ? std::string{"n,,"} : "n,a=" + detail::escape_name(what.user) + ",";
    text += '\x01';
    if (!what.host.empty())
        text += "host=" + what.host + '\x01';
    if (what.port != 0)
        text += "port=" + std::to_string(what.port) + '\x01';
    text += "auth=Bearer " + what.token + "\x01\x01";
    return std::unique_ptr<sasl_client>{
        std::make_unique<bearer>("OAUTHBEARER", std::move(text), "\x01")};
}

result<std::unique_ptr<sasl_client>> sasl_xoauth2(sasl_token const& what)
{
    if (!is_sound(what) || what.user.empty())
        return unexpected{error::invalid_argument};
    auto text = "user=" + what.user + "\x01" + "auth=Bearer " + what.token + "\x01\x01";
    return std::unique_ptr<sasl_client>{std::make_unique<bearer>("XOAUTH2", std::move(text), "")};
}

}  // namespace sluice::net
