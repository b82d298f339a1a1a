// Any bytes as what the other side of a SASL exchange says, and as a file of users: no crash, no
// exchange that goes on for ever, and nobody comes in who does not know the password.
#include <sluice/net/sasl_server.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

using namespace sluice;
using net::sasl_server;

void check(bool ok, char const* what)
{
    if (ok)
        return;
    std::fprintf(stderr, "sasl_exchange: %s\n", what);
    std::abort();
}

std::shared_ptr<net::sasl_users const> some_users()
{
    net::sasl_user u{.name = "user", .keys = {}, .grants = {}};
    bytes const salt(16, std::byte{7});
    for (auto const h : {net::scram_hash::sha256, net::scram_hash::sha512})
        u.keys.push_back(*net::derive_scram_keys(h, "pencil", salt, 4'096));
    auto users = net::sasl_users::parse(net::sasl_user_line(u) + "\n", "users");
    return std::make_shared<net::sasl_users const>(std::move(*users));
}

/// The input cut at its zeros into what is said one after the other.
std::vector<bytes> cut(bytes_view in)
{
    std::vector<bytes> out(1);
    for (auto const o : in) {
        if (o == std::byte{0} && out.size() < 8)
            out.emplace_back();
        else
            out.back().push_back(o);
    }
    return out;
}

/// Takes the nonce from the server's challenge for a client's message that has a '$' in its place.
bytes with_nonce(bytes const& said, bytes const& challenge)
{
    std::string text{reinterpret_cast<char const*>(said.data()), said.size()};
    std::string const from{reinterpret_cast<char const*>(challenge.data()), challenge.size()};
    if (auto const at = text.find('$'); at != text.npos && from.starts_with("r="))
        text.replace(at, 1, from.substr(2, from.find(',') - 2));
    auto const* const data = reinterpret_cast<std::byte const*>(text.data());
    return {data, data + text.size()};
}

void server(std::string_view mechanism, bytes_view in)
{
    static auto const users = some_users();
    auto const s = net::make_sasl_server(mechanism, {.users = users});
    auto steps = 0;
    bytes challenge;
    for (auto const& said : cut(in)) {
        auto const answer = s->respond(with_nonce(said, challenge));
        check(answer.what != sasl_server::step::accepted, "a stranger came in");
        check(answer.octets.size() < 480, "a challenge that fits no frame");
        if (answer.what == sasl_server::step::challenge)
            check(++steps <= 2, "an exchange without end");
        challenge = answer.octets;
    }
    check(s->user().empty(), "a name without a proof");
}

/// @returns all that was said of what was wrong
std::string client(unsigned kind, bytes_view in, std::string const& secret)
{
    net::credentials const who{.user = "user", .password = secret, .authorize_as = {}};
    net::sasl_token const token{.token = secret, .user = "me", .host = "h"};
    auto made = kind == 0   ? net::sasl_scram(net::scram_hash::sha1, who, "abc")
                : kind == 1 ? net::sasl_scram(net::scram_hash::sha256, who, "abc")
                : kind == 2 ? net::sasl_oauthbearer(token)
                            : net::sasl_xoauth2(token);
    auto const& c = *made;
    std::ignore = c->initial_response();
    auto answers = 0;
    std::string told;
    for (auto const& said : cut(in)) {
        if (c->is_slow(said))  // right, and too slow for here
            return told;
        auto const answer = c->respond(said);
        if (!answer)
            check(!c->fault().empty() || kind > 1, "no word of what was wrong");
        else
            check(++answers <= 2, "an exchange without end");
        told += c->fault();
    }
    if (kind < 2)
        check(bool(c->finish(in)), "a server was believed that proved nothing");
    return told;
}

/// The other side may guess the secret and say it itself; what we say is the same for any secret.
void client(unsigned kind, bytes_view in)
{
    check(client(kind, in, "pencil") == client(kind, in, "t0ken"), "a secret was told");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    if (size < 1)
        return 0;
    bytes_view const in{reinterpret_cast<std::byte const*>(data + 1), size - 1};
    switch (data[0] % 8) {
    case 0: server("SCRAM-SHA-256", in); break;
    case 1: server("SCRAM-SHA-512", in); break;
    case 2: {
        std::ignore = net::sasl_read_plain(in);
        break;
    }
    case 3: {
        std::string fault;
        auto const users = net::sasl_users::parse(
            {reinterpret_cast<char const*>(in.data()), in.size()}, "f", &fault);
        check(users.has_value() == fault.empty(), "no word of what was wrong");
        if (users)
            for (auto const& [name, u] : *users) {
                auto const again = net::sasl_users::parse(net::sasl_user_line(u), "f");
                check(again && again->find(name), "a line does not come back as it was written");
            }
        break;
    }
    default: client(data[0] % 4u, in);
    }
    return 0;
}
