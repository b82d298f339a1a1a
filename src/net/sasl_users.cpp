// Reading and writing users, and keys for those who are not there.
#include "net/scram_messages.hpp"
#include "net/small_file.hpp"

#include <sluice/codec/scalars.hpp>
#include <sluice/net/sasl_users.hpp>

#include <algorithm>
#include <charconv>
#include <tuple>

namespace sluice::net {
namespace {

using namespace detail;

constexpr std::pair<scram_hash, std::string_view> key_words[] = {
    {scram_hash::sha256, "scram-sha-256"}, {scram_hash::sha512, "scram-sha-512"}};
constexpr std::pair<access, std::string_view> grant_words[] = {
    {access::read, "read"}, {access::write, "write"}, {access::manage, "manage"}};

struct wrong {
    std::string what;
};

std::string encoded_word(std::string_view text)
{
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string out;
    for (auto const c : text) {
        auto const octet = static_cast<unsigned char>(c);
        auto const leads = out.empty() && (c == '#' || c == '@');
        if (octet > ' ' && octet != 0x7f && c != '%' && !leads) {
            out += c;
            continue;
        }
        out += '%';
        out += digits[octet >> 4];
        out += digits[octet & 15];
    }
    return out;
}

std::string decoded_word(std::string_view text)
{
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        unsigned octet = 0;
        auto const digits = text.substr(i + 1, 2);
        auto const* const end = digits.data() + digits.size();
        auto const [stop, code] = std::from_chars(digits.data(), end, octet, 16);
        if (digits.size() != 2 || code != std::errc{} || stop != end)
            throw wrong{"a '%' without two hexadecimal digits; write %25 for the character itself"};
        out += static_cast<char>(octet);
        i += 2;
    }
    return out;
}

std::string_view take_until(std::string_view& left, char end)
{
    auto const at = std::min(left.find(end), left.size());
    auto const out = left.substr(0, at);
    left.remove_prefix(std::min(at + 1, left.size()));
    return out;
}

scram_keys read_keys(scram_hash hash, std::string_view text)
{
    auto const name = scram_mechanism(hash);
    scram_keys out{.hash = hash};
    auto const count = take_until(text, ':');
    auto const* const end = count.data() + count.size();
    auto const [stop, code] = std::from_chars(count.data(), end, out.iterations);
    auto const salt = from_base64(take_until(text, ':'));
    auto const stored = from_base64(take_until(text, ':'));
    auto const server = from_base64(text);
    if (code != std::errc{} || stop != end || out.iterations < scram_iterations_min
        || out.iterations > scram_iterations_max)
        throw wrong{
            "the keys for " + std::string{name} + " do not begin with an iteration count of "
            + std::to_string(scram_iterations_min) + " to " + std::to_string(scram_iterations_max)};
    if (!salt || salt->size() < 8 || !stored || !server || stored->size() != scram_size(hash)
        || server->size() != scram_size(hash))
        throw wrong{"the keys for " + std::string{name}
                    + " are not ITERATIONS:SALT:STORED-KEY:SERVER-KEY in base64; let `sluice "
                      "passwd` write them"};
    out.salt = *salt;
    out.stored_key = *stored;
    out.server_key = *server;
    return out;
}

void read_word(sasl_user& u, std::string_view word)
{
    auto const equals = word.find('=');
    auto const name = word.substr(0, equals);
    auto const rest = equals == word.npos ? std::string_view{} : word.substr(equals + 1);
    for (auto const& [hash, key_word] : key_words)
        if (name == key_word) {
            if (u.find(hash))
                throw wrong{"two keys for " + std::string{scram_mechanism(hash)}};
            u.keys.push_back(read_keys(hash, rest));
            return;
        }
    for (auto const& [what, grant_word] : grant_words)
        if (name == grant_word) {
            if (rest.empty())
                throw wrong{"'" + std::string{grant_word}
                            + "=' without an address; write '*' for every one, or leave the word "
                              "out for none"};
            u.grants.push_back({what, decoded_word(rest)});
            return;
        }
    // What it is instead is not repeated: somebody may have written a password.
    throw wrong{"a word that is none of read=, write=, manage=, scram-sha-256= and scram-sha-512=; "
                "passwords do not stand here, `sluice passwd` writes their keys"};
}

sasl_user read_user(std::string_view line)
{
    sasl_user out;
    out.name = decoded_word(take_until(line, ' '));
    constexpr std::size_t name_max = 255;
    if (out.name.size() > name_max)
        throw wrong{"a user's name of " + std::to_string(out.name.size()) + " octets, more than "
                    + std::to_string(name_max)};
    auto const is_control = [](char c) {
        auto const octet = static_cast<unsigned char>(c);
        return octet < 0x20 || octet == 0x7f;
    };
    if (std::ranges::any_of(out.name, is_control) || !sluice::detail::is_utf8(out.name))
        throw wrong{"a user's name with octets that are no text, or a control character; is this a "
                    "file of `sluice passwd`?"};
    while (!line.empty())
        if (auto const word = take_until(line, ' '); !word.empty())
            read_word(out, word);
    return out;
}

bytes read_seed(std::string_view line)
{
    std::ignore = take_until(line, ' ');
    auto const seed = from_base64(line);
    if (!seed || seed->size() < 16)
        throw wrong{"'@seed' without at least 16 octets in base64"};
    return *seed;
}

}  // namespace

bool sasl_user::may(access what, std::string_view address) const noexcept
{
    return std::ranges::any_of(grants, [&](access_grant const& g) {
        if (g.what != what)
            return false;
        std::string_view const pattern{g.pattern};
        return pattern.ends_with('*') ? address.starts_with(pattern.substr(0, pattern.size() - 1))
                                      : address == pattern;
    });
}

bool sasl_user::may_any(access what) const noexcept
{
    return std::ranges::any_of(grants, [&](access_grant const& g) { return g.what == what; });
}

scram_keys const* sasl_user::find(scram_hash hash) const noexcept
{
    auto const at = std::ranges::find(keys, hash, &scram_keys::hash);
    return at == keys.end() ? nullptr : &*at;
}

std::string sasl_user_line(sasl_user const& u)
{
    auto out = encoded_word(u.name);
    for (auto const& [hash, word] : key_words)
        if (auto const* const k = u.find(hash))
            out += " " + std::string{word} + "=" + std::to_string(k->iterations) + ":"
                   + to_base64(k->salt) + ":" + to_base64(k->stored_key) + ":"
                   + to_base64(k->server_key);
    for (auto const& g : u.grants)
        for (auto const& [what, word] : grant_words)
            if (what == g.what)
                out += " " + std::string{word} + "=" + encoded_word(g.pattern);
    return out;
}

result<sasl_users> sasl_users::parse(std::string_view text, std::string_view name,
                                     std::string* fault)
{
    sasl_users out;
    out.seed_ = digest(scram_hash::sha256, detail::octets_of(text));  // unknown, as the keys are
    std::size_t number = 0;
    try {
        while (!text.empty()) {
            ++number;
            auto line = take_until(text, '\n');
            if (line.ends_with('\r'))
                line.remove_suffix(1);
            if (line.find_first_not_of(" \t") == line.npos || line.front() == '#')
                continue;
            if (line.find('\t') != line.npos || line.front() == ' ')
                throw wrong{"a tabulator, or a blank before the name; put one blank between words"};
            if (line.starts_with("@seed ")) {
                out.seed_ = read_seed(line);
                continue;
            }
            if (line.front() == '@')
                throw wrong{"'@' begins '@seed' only; write %40 in a user's name"};
            auto user = read_user(line);
            auto key = user.name;
            if (!out.users_.emplace(key, std::move(user)).second)
                throw wrong{"a user who is in a line above already"};
        }
        number = 0;
        if (out.users_.empty())
            throw wrong{"no user; add one with `sluice passwd FILE USER`"};
    } catch (wrong const& w) {
        if (fault)
            *fault = std::string{name} + (number > 0 ? ", line " + std::to_string(number) : "")
                     + ": " + w.what;
        return unexpected{error::invalid_argument};
    }
    for (auto const h : {scram_hash::sha256, scram_hash::sha512})
        out.offered_[static_cast<std::size_t>(h)] =
            std::ranges::any_of(out.users_, [&](auto const& u) { return u.second.find(h); })
            && std::ranges::all_of(out.users_, [&](auto const& u) {
                   return u.second.keys.empty() || u.second.find(h);
               });
    for (auto const& [key, u] : out.users_)
        for (auto const& k : u.keys) out.iterations_.push_back(k.iterations);
    return out;
}

result<sasl_users> sasl_users::read(std::string const& file, std::string* fault)
{
    auto const text = detail::read_small_file(file, detail::file_kinds::regular, fault);
    if (!text)
        return unexpected{text.error()};
    return parse(*text, file, fault);
}

sasl_user const* sasl_users::find(std::string_view name) const noexcept
{
    auto const at = users_.find(name);
    return at == users_.end() ? nullptr : &at->second;
}

bool sasl_users::offers(scram_hash hash) const noexcept
{
    return offered_[static_cast<std::size_t>(hash)];
}

scram_keys sasl_users::keys_of(std::string_view name, scram_hash hash, bool& known) const
{
    // Made first, and for everybody, so that it takes as long for who is there.
    auto const word = "salt of " + std::string{scram_mechanism(hash)} + " for " + std::string{name};
    auto salt = hmac(scram_hash::sha256, seed_, detail::octets_of(word));
    auto const pick = std::to_integer<std::size_t>(salt.back()) << 8
                      | std::to_integer<std::size_t>(salt[salt.size() - 2]);
    salt.resize(16);
    scram_keys out{.hash = hash,
                   .iterations = iterations_.empty() ? scram_iterations_default
                                                     : iterations_[pick % iterations_.size()],
                   .salt = std::move(salt),
                   .stored_key = hmac(hash, seed_, detail::octets_of(word)),
                   .server_key = hmac(hash, seed_, detail::octets_of("server key"))};
    auto const* const user = find(name);
    auto const* const keys = user ? user->find(hash) : nullptr;
    known = keys != nullptr;
    return keys ? *keys : out;
}

bool sasl_users::check(std::string_view name, std::string_view password) const
{
    auto known = false;
    auto const hash = offers(scram_hash::sha256) ? scram_hash::sha256 : scram_hash::sha512;
    auto const keys = keys_of(name, hash, known);
    // A password that no key can be of takes as long as any other.
    auto const possible = scram_is_prepared(password);
    auto const given = derive_scram_keys(hash, possible ? password : std::string_view{"none"},
                                         keys.salt, keys.iterations);
    return given && same(given->stored_key, keys.stored_key) && known && possible;
}

}  // namespace sluice::net
