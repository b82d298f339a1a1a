// What a server offers, and its half of each exchange.
#include "net/scram_messages.hpp"

#include <sluice/net/sasl_server.hpp>

#include <algorithm>

namespace sluice::net {
namespace {

using namespace detail;
using answer = sasl_server::answer;
using step = sasl_server::step;

class anonymous_server final : public sasl_server {
public:
    answer respond(bytes_view) override { return {.what = step::accepted}; }
};

class external_server final : public sasl_server {
public:
    external_server(std::string who, bool known) : who_{std::move(who)}, known_{known} {}
    answer respond(bytes_view response) override
    {
        auto const as = text_of(response);
        if (!known_ || (!as.empty() && as != who_))
            return {};
        user_ = who_;
        return {.what = step::accepted};
    }

private:
    std::string who_;
    bool known_;
};

class plain_server final : public sasl_server {
public:
    explicit plain_server(sasl_server_options const& o) : users_{o.users}, check_{o.check_password}
    {
    }
    bool is_slow() const noexcept override { return users_ || check_; }
    answer respond(bytes_view response) override
    {
        auto who = sasl_read_plain(response);
        if (!who)
            return {};
        auto const good = is_good(*who);
        wipe(who->password);
        if (!good || (!who->authorize_as.empty() && who->authorize_as != who->user))
            return {};
        user_ = std::move(who->user);
        return {.what = step::accepted};
    }

private:
    bool is_good(credentials const& who) const
    {
        try {
            return check_ ? check_(who.user, who.password)
                          : !users_ || users_->check(who.user, who.password);
        } catch (...) {  // a check that cannot be made lets nobody in
            return false;
        }
    }

    std::shared_ptr<sasl_users const> users_;
    std::function<bool(std::string_view, std::string_view)> check_;
};

/// [RFC 5802] Who is not there gets as far as who has the wrong password.
class scram_server final : public sasl_server {
public:
    scram_server(scram_hash hash, std::shared_ptr<sasl_users const> users)
        : hash_{hash}, users_{std::move(users)}
    {
    }
    answer respond(bytes_view response) override
    {
        switch (at_) {
        case 0:
            if (response.empty() && !std::exchange(asked_, true))
                return {.what = step::challenge};  // there was no initial response
            ++at_;
            return begin(text_of(response));
        case 1: ++at_; return end(text_of(response));
        default: return {};
        }
    }

private:
    answer begin(std::string_view text)
    {
        // "n": no channel binding; "y": the client would have had some. Neither is offered here.
        if (!text.starts_with("n,") && !text.starts_with("y,"))
            return {};
        auto const header_end = text.find(',', 2);
        if (header_end == text.npos)
            return {};
        header_ = text.substr(0, header_end + 1);
        first_ = text.substr(header_end + 1);
        std::optional<std::string> as{std::string{}};
        if (auto const part = header_.substr(2, header_.size() - 3); part.starts_with("a="))
            as = unescape_name(std::string_view{part}.substr(2));
        else if (!part.empty())
            return {};
        scram_reader in{first_};
        auto const escaped = in.next('n');
        auto const nonce = in.next('r');
        auto const name = escaped ? unescape_name(*escaped) : std::nullopt;
        if (!as || !name || !nonce || !is_nonce(*nonce) || nonce->size() > nonce_max
            || name->size() > name_max || !in.only_extensions())
            return {};
        allowed_ = as->empty() || *as == *name;
        name_ = *name;
        nonce_ = std::string{*nonce} + make_nonce();
        keys_ = users_->keys_of(name_, hash_, known_);
        challenge_ = "r=" + nonce_ + ",s=" + to_base64(keys_.salt)
                     + ",i=" + std::to_string(keys_.iterations);
        return {.what = step::challenge, .octets = copy_of(challenge_)};
    }

    answer end(std::string_view text)
    {
        scram_reader in{text};
        auto const binding = in.next('c');
        auto const nonce = in.next('r');
        auto const proof_at = text.rfind(",p=");
        if (!binding || !nonce || proof_at == text.npos)
            return {};
        auto const proof = from_base64(text.substr(proof_at + 3));
        auto const header = from_base64(*binding);
        if (!proof || proof->size() != scram_size(hash_) || !header || text_of(*header) != header_
            || *nonce != nonce_)
            return {};
        auto const signed_text =
            first_ + "," + challenge_ + "," + std::string{text.substr(0, proof_at)};
        auto client_key = hmac(hash_, keys_.stored_key, detail::octets_of(signed_text));
        for (std::size_t i = 0; i < client_key.size(); ++i) client_key[i] ^= (*proof)[i];
        auto const good = same(digest(hash_, client_key), keys_.stored_key);
        auto const signature = hmac(hash_, keys_.server_key, detail::octets_of(signed_text));
        wipe(client_key);
        if (!good || !known_ || !allowed_)
            return {};
        user_ = name_;
        return {.what = step::accepted, .octets = copy_of("v=" + to_base64(signature))};
    }

    // What is sent back has to fit a frame of 512 octets. [5.3.1]
    static constexpr std::size_t nonce_max = 128;
    static constexpr std::size_t name_max = 256;

    scram_hash hash_;
    std::shared_ptr<sasl_users const> users_;
    int at_ = 0;
    bool asked_ = false;
    bool known_ = false;
    bool allowed_ = false;
    scram_keys keys_;
    std::string header_;
    std::string first_;
    std::string name_;
    std::string nonce_;
    std::string challenge_;
};

bool knows_certificate(sasl_server_options const& o)
{
    return !o.certificate_user.empty() && (!o.users || o.users->find(o.certificate_user));
}

}  // namespace

std::vector<std::string> sasl_offer(sasl_server_options const& o)
{
    std::vector<std::string> out;
    if (knows_certificate(o))
        out.emplace_back("EXTERNAL");
    if (o.users)
        for (auto const h : {scram_hash::sha512, scram_hash::sha256})
            if (o.users->offers(h))
                out.emplace_back(scram_mechanism(h));
    auto const some_password =
        o.users && (o.users->offers(scram_hash::sha256) || o.users->offers(scram_hash::sha512));
    if (o.check_password || o.open() || (some_password && o.plain))
        out.emplace_back("PLAIN");
    if (o.open())
        out.emplace_back("ANONYMOUS");
    if (out.empty())
        out.emplace_back("EXTERNAL");  // without the certificate it comes to nothing
    return out;
}

std::unique_ptr<sasl_server> make_sasl_server(std::string_view mechanism,
                                              sasl_server_options const& o)
{
    auto const offered = sasl_offer(o);
    if (std::find(offered.begin(), offered.end(), mechanism) == offered.end())
        return nullptr;
    if (mechanism == "EXTERNAL")
        return std::make_unique<external_server>(o.certificate_user, knows_certificate(o));
    if (auto const hash = scram_hash_of(mechanism))
        return std::make_unique<scram_server>(*hash, o.users);
    if (mechanism == "PLAIN")
        return std::make_unique<plain_server>(o);
    return std::make_unique<anonymous_server>();
}

}  // namespace sluice::net
