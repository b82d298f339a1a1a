// Which mechanism: what there are means for, what is safe, what the peer offers. [5.3.3.1]
#include "net/scram_messages.hpp"

#include <sluice/net/sasl.hpp>

#include <algorithm>
#include <array>

namespace sluice::net {
namespace {

constexpr std::array<std::string_view, 8> known{"EXTERNAL",    "SCRAM-SHA-512", "SCRAM-SHA-256",
                                                "SCRAM-SHA-1", "OAUTHBEARER",   "XOAUTH2",
                                                "PLAIN",       "ANONYMOUS"};

constexpr std::string_view needs = " needs ";  // in a remark

bool contains(std::span<std::string const> names, std::string_view name)
{
    return std::ranges::find(names, name) != names.end();
}

std::string joined(std::span<std::string const> names)
{
    std::string out;
    for (auto const& name : names) out += (out.empty() ? "" : ", ") + name;
    return out.empty() ? "none" : out;
}

bool sends_secret(std::string_view name) noexcept
{
    return name == "PLAIN" || name == "OAUTHBEARER" || name == "XOAUTH2";
}

/// What is missing for `name`, or nothing.
std::string_view missing(std::string_view name, sasl_means const& m)
{
    if (scram_hash_of(name)) {
        if (!m.credentials)
            return "needs a user and a password";
        if (!m.scram_possible)
            return "takes only ASCII without control characters as user and password here, for "
                   "this library does not normalise others (SASLprep)";
    }
    if (name == "PLAIN" && !m.credentials)
        return "needs a user and a password";
    if ((name == "OAUTHBEARER" || name == "XOAUTH2") && !m.token)
        return "needs a source of tokens";
    if (name == "XOAUTH2" && !m.token_user)
        return "needs a user beside the token";
    return {};
}

/// Whether it is used unasked.
bool fits(std::string_view name, sasl_means const& m)
{
    if (name == "EXTERNAL")
        return m.certificate;
    return name != "ANONYMOUS" || !(m.credentials || m.token);
}

void consider(sasl_preference& out, std::string_view name, sasl_means const& m, bool asked)
{
    auto const why = missing(name, m);
    if (!why.empty()) {
        auto const telling = asked || (scram_hash_of(name) && m.credentials);
        if (telling && out.remark.find(why) == out.remark.npos)
            out.remark +=
                (out.remark.empty() ? "" : "; ") + std::string{name} + " " + std::string{why};
    } else if (sends_secret(name) && !m.may_send_secrets) {
        out.insecure.emplace_back(name);
    } else if (asked || fits(name, m)) {
        out.wanted.emplace_back(name);
    }
}

std::string advice(sasl_preference const& p, std::span<std::string const> offered)
{
    auto const only_external = [](std::span<std::string const> names) {
        return names.size() == 1 && names.front() == "EXTERNAL";
    };
    if (only_external(offered))
        return "; the peer wants a certificate of this side's (tls.cert_file)";
    if (only_external(p.wanted))
        return "; EXTERNAL is offered over TLS, and to who shows a certificate (tls.cert_file)";
    if (contains(p.wanted, "ANONYMOUS"))
        return "; give a user and a password if the peer wants them";
    // Of who asked for a mechanism by its name and did not give what it needs.
    if (auto const at = p.remark.find(needs); at != p.remark.npos) {
        auto const from = at + needs.size();
        auto const to = std::min(p.remark.find(';', from), p.remark.size());
        return "; give " + p.remark.substr(from, to - from) + ", or let the peer offer another one";
    }
    return "; leave the credentials out, or let the peer offer another one";
}

}  // namespace

std::span<std::string_view const> sasl_known() noexcept { return known; }

sasl_preference sasl_prefer(sasl_means const& means, std::span<std::string const> order)
{
    sasl_preference out;
    for (auto const& name : order) consider(out, name, means, true);
    if (order.empty())
        for (auto const name : known) consider(out, name, means, false);
    return out;
}

bool sasl_is_insecure_only(sasl_preference const& p, std::span<std::string const> offered)
{
    auto const of = [&](std::string const& name) { return contains(offered, name); };
    return std::ranges::none_of(p.wanted, of) && std::ranges::any_of(p.insecure, of);
}

std::string_view sasl_choose(sasl_preference const& p, std::span<std::string const> offered,
                             std::string* fault)
{
    for (auto const& name : p.wanted)
        if (contains(offered, name))
            return name;
    if (!fault)
        return {};
    if (sasl_is_insecure_only(p, offered)) {
        *fault = "the peer offers " + joined(offered) + ": of these only " + joined(p.insecure)
                 + " would do, and would send the secret readable, for the connection is not "
                   "encrypted; use amqps://, or set allow_plain_unencrypted if nobody in between "
                   "can read along";
        return {};
    }
    *fault = "no common SASL mechanism: the peer offers " + joined(offered) + "; this side may use "
             + joined(p.wanted);
    if (!p.remark.empty())
        *fault += "; " + p.remark;
    *fault += advice(p, offered);
    return {};
}

}  // namespace sluice::net
