// The client's half of SCRAM. [RFC 5802, 3]
#include "net/scram_messages.hpp"

#include <sluice/net/sasl_scram.hpp>

#include <openssl/rand.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace sluice::net {
namespace {

using namespace detail;

/// Above it, respond() is no work for a thread that others wait for.
constexpr std::uint32_t iterations_quick = 20'000;

bytes exclusive_or(bytes_view a, bytes_view b)
{
    bytes out(a.begin(), a.end());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] ^= b[i];
    return out;
}

class scram_client final : public sasl_client {
public:
    scram_client(scram_hash hash, credentials const& who, std::string nonce)
        : hash_{hash},
          password_{who.password},
          header_{who.authorize_as.empty() ? "n,," : "n,a=" + escape_name(who.authorize_as) + ","},
          nonce_{nonce.empty() ? make_nonce() : std::move(nonce)},
          first_{"n=" + escape_name(who.user) + ",r=" + nonce_}
    {
    }
    ~scram_client() override { wipe(password_); }
    scram_client(scram_client const&) = delete;
    scram_client& operator=(scram_client const&) = delete;

    std::string_view mechanism() const noexcept override { return scram_mechanism(hash_); }
    std::optional<bytes> initial_response() override { return copy_of(header_ + first_); }

    result<bytes> respond(bytes_view challenge) override
    {
        switch (std::exchange(at_, at_ == step::first ? step::proven : step::over)) {
        case step::first: return prove(text_of(challenge));
        case step::proven:
            if (auto const failed = check(text_of(challenge)))
                return unexpected{failed};
            at_ = step::trusted;
            return bytes{};
        default: return wrong("one challenge more than SCRAM has");
        }
    }

    std::error_code finish(bytes_view additional_data) override
    {
        if (at_ == step::trusted)
            return {};
        if (at_ != step::proven || additional_data.empty())
            return not_proven("it says that all is well without its signature");
        return check(text_of(additional_data));
    }

    bool is_slow(bytes_view challenge) const noexcept override
    {
        if (at_ != step::first)
            return false;
        // As prove() reads it: an extension behind the count hides nothing.
        scram_reader in{text_of(challenge)};
        if (!in.next('r') || !in.next('s'))
            return false;
        auto const said = in.next('i');
        std::uint32_t count = 0;
        return said && read_count(*said, count) && count > iterations_quick
               && count <= scram_iterations_max;
    }

private:
    enum class step : std::uint8_t { first, proven, trusted, over };

    static bool read_count(std::string_view text, std::uint32_t& out) noexcept
    {
        auto const* const end = text.data() + text.size();
        auto const [stop, code] = std::from_chars(text.data(), end, out);
        return code == std::errc{} && stop == end;
    }

    unexpected wrong(std::string what)
    {
        at_ = step::over;
        fault_ = "SCRAM: " + std::move(what);
        return unexpected{error::sasl_auth_failed};
    }
    std::error_code not_proven(std::string what)
    {
        at_ = step::over;
        fault_ = "SCRAM: the peer has not shown that it knows the password: " + std::move(what);
        return make_error_code(error::sasl_server_not_proven);
    }

    /// The server's first message, and ours that ends with the proof.
    result<bytes> prove(std::string_view server_first)
    {
        scram_reader in{server_first};
        if (server_first.starts_with("m="))
            return wrong("the peer demands an extension that is not known here");
        auto const nonce = in.next('r');
        auto const salt = in.next('s');
        auto const count = in.next('i');
        if (!nonce || !salt || !count || !in.only_extensions())
            return wrong("the peer's first message is malformed [RFC 5802, 7]");
        if (!nonce->starts_with(nonce_) || nonce->size() == nonce_.size() || !is_nonce(*nonce))
            return wrong("the peer's nonce does not go on from ours, as if an old exchange was "
                         "played again");
        auto const salt_octets = from_base64(*salt);
        if (!salt_octets || salt_octets->empty())
            return wrong("the peer's salt is no base64");
        std::uint32_t iterations = 0;
        if (!read_count(*count, iterations) || iterations < scram_iterations_min
            || iterations > scram_iterations_max)
            return wrong("the peer asks for an iteration count out of the range from "
                         + std::to_string(scram_iterations_min) + " to "
                         + std::to_string(scram_iterations_max)
                         + ": fewer give the password away, more are made to keep us busy");
        auto salted = salted_password(hash_, password_, *salt_octets, iterations);
        wipe(password_);
        password_.clear();
        auto const without_proof =
            "c=" + to_base64(detail::octets_of(header_)) + ",r=" + std::string{*nonce};
        auto const signed_text = first_ + "," + std::string{server_first} + "," + without_proof;
        auto client_key = hmac(hash_, salted, detail::octets_of("Client Key"));
        auto const stored_key = digest(hash_, client_key);
        auto const proof =
            exclusive_or(client_key, hmac(hash_, stored_key, detail::octets_of(signed_text)));
        auto const server_key = hmac(hash_, salted, detail::octets_of("Server Key"));
        expected_ = hmac(hash_, server_key, detail::octets_of(signed_text));
        wipe(salted);
        wipe(client_key);
        return copy_of(without_proof + ",p=" + to_base64(proof));
    }

    /// The server's final message: its signature, or an error.
    std::error_code check(std::string_view server_final)
    {
        scram_reader in{server_final};
        if (auto const said = in.next('e')) {
            at_ = step::over;
            auto const readable = is_nonce(*said) && said->size() <= 60;
            fault_ = "SCRAM: the peer says " + (readable ? std::string{*said} : "no");
            return make_error_code(error::sasl_auth_failed);
        }
        auto const text = in.next('v');
        if (!text)
            return not_proven("its last message is malformed [RFC 5802, 7]");
        auto const signature = from_base64(*text);
        if (!signature || !same(*signature, expected_))
            return not_proven("its signature is wrong");
        at_ = step::trusted;
        return {};
    }

    scram_hash hash_;
    std::string password_;
    std::string header_;  // GS2: no channel binding
    std::string nonce_;
    std::string first_;
    bytes expected_;  // the server's signature
    step at_ = step::first;
};

}  // namespace

std::string_view scram_mechanism(scram_hash hash) noexcept
{
    switch (hash) {
    case scram_hash::sha1: return "SCRAM-SHA-1";
    case scram_hash::sha256: return "SCRAM-SHA-256";
    default: return "SCRAM-SHA-512";
    }
}

std::optional<scram_hash> scram_hash_of(std::string_view mechanism) noexcept
{
    for (auto const h : {scram_hash::sha1, scram_hash::sha256, scram_hash::sha512})
        if (scram_mechanism(h) == mechanism)
            return h;
    return std::nullopt;
}

std::size_t scram_size(scram_hash hash) noexcept
{
    return hash == scram_hash::sha1 ? 20 : hash == scram_hash::sha256 ? 32 : 64;
}

bool scram_is_prepared(std::string_view text) noexcept
{
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f; });
}

result<scram_keys> derive_scram_keys(scram_hash hash, std::string_view password, bytes_view salt,
                                     std::uint32_t iterations)
{
    if (!scram_is_prepared(password) || salt.empty() || iterations == 0
        || iterations > scram_iterations_max)
        return unexpected{error::invalid_argument};
    auto salted = salted_password(hash, password, salt, iterations);
    auto client_key = hmac(hash, salted, detail::octets_of("Client Key"));
    scram_keys out{.hash = hash,
                   .iterations = iterations,
                   .salt = {salt.begin(), salt.end()},
                   .stored_key = digest(hash, client_key),
                   .server_key = hmac(hash, salted, detail::octets_of("Server Key"))};
    wipe(salted);
    wipe(client_key);
    return out;
}

bytes sasl_random(std::size_t size)
{
    bytes out(size);
    if (RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(size)) != 1)
        throw std::runtime_error{"the system gives no random octets"};
    return out;
}

result<std::unique_ptr<sasl_client>> sasl_scram(scram_hash hash, credentials const& who,
                                                std::string nonce)
{
    for (auto const* const part : {&who.user, &who.password, &who.authorize_as})
        if (!scram_is_prepared(*part))
            return unexpected{error::invalid_argument};
    if (who.user.empty() || (!nonce.empty() && !is_nonce(nonce)))
        return unexpected{error::invalid_argument};
    return std::unique_ptr<sasl_client>{
        std::make_unique<scram_client>(hash, who, std::move(nonce))};
}

}  // namespace sluice::net
