// Options of every subcommand that connects.
#include "tools/peer_options.hpp"

#include <sluice/net/sasl.hpp>
#include <sluice/net/url.hpp>

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <map>
#include <stdexcept>

namespace sluice::tools {
namespace {

std::map<std::string, client::sasl_choice> const sasl_choices{
    {"none", client::sasl_choice::none},
    {"anonymous", client::sasl_choice::anonymous},
    {"plain", client::sasl_choice::plain}};

}  // namespace

void peer_options::add_to(CLI::App& app)
{
    app.add_option("URL", url,
                   "amqp://user:password@host:port/address, or amqps://; ws:// and wss:// have the "
                   "WebSocket's path there instead; what may be left out: all but the host");
    app.add_option("-a,--address", address, "queue or topic, instead of the path of the URL");
    auto const group = "Connection";
    app.add_option("-u,--user", user, "instead of the URL's")->group(group);
    app.add_option("-p,--password", password,
                   "instead of the URL's; others can read a command line, but not the environment")
        ->envname("SLUICE_PASSWORD")
        ->group(group);
    app.add_option("--sasl", sasl,
                   "none, anonymous or plain; default: the strongest that there are means for")
        ->check(CLI::IsMember({"none", "anonymous", "plain"}))
        ->group(group);
    std::vector<std::string> const known(net::sasl_known().begin(), net::sasl_known().end());
    app.add_option("--sasl-mechanism", mechanisms,
                   "one that may be used, best first, as often as wanted; others are not used")
        ->allow_extra_args(false)
        ->check(CLI::IsMember(known))
        ->group(group);
    app.add_flag("--allow-plain-unencrypted", allow_plain_unencrypted,
                 "send a password as it is over a connection that others may read")
        ->group(group);
    app.add_option("--tls-ca", tls.ca_file,
                   "PEM: whom to trust with amqps:// and wss://; default: the system's CAs")
        ->group(group);
    app.add_option("--tls-cert", tls.cert_file,
                   "PEM: our certificate, then those up to its CA; default: none")
        ->group(group);
    app.add_option("--tls-key", tls.key_file, "PEM: its key; default: in --tls-cert")->group(group);
    app.add_option("--tls-key-password", tls.key_password)
        ->envname("SLUICE_TLS_KEY_PASSWORD")
        ->group(group);
    app.add_option("--tls-server-name", tls.server_name,
                   "whose certificate to want, if not the URL's host's")
        ->group(group);
    app.add_flag("--tls-insecure", tls_insecure,
                 "do not check the peer's certificate: anybody may be the peer")
        ->group(group);
    app.add_option("--container-id", container_id, "how the peer knows this client [2.7.1]")
        ->group(group);
    app.add_option("--link-name", link_name)->group(group);
    app.add_flag("--trace", trace, "print every frame to standard error")->group(group);
}

std::string peer_options::path() const
{
    std::string fault;
    auto parsed = net::parse_url(url, &fault);
    if (!parsed)
        throw std::invalid_argument{fault};
    return parsed->path;
}

std::string peer_options::target() const
{
    auto const in_url = path();
    auto out = address.empty() ? in_url : address;
    if (out.empty())
        throw std::invalid_argument{
            "no address: put it behind the host, as in amqp://localhost/queue (not with ws:// and "
            "wss://), or give --address"};
    return out;
}

client::connection_options peer_options::connection() const
{
    client::connection_options o;
    if (!user.empty())
        o.user = user;
    if (!password.empty())
        o.password = password;
    if (!sasl.empty())
        o.sasl = sasl_choices.at(sasl);
    o.tls = tls;
    o.tls.verify = !tls_insecure;
    o.sasl_mechanisms = mechanisms;
    o.allow_plain_unencrypted = allow_plain_unencrypted;
    return o;
}

std::unique_ptr<client::container> peer_options::container() const
{
    if (trace)
        // NOLINTNEXTLINE(concurrency-mt-unsafe): the program has no other thread that looks yet
        ::setenv("SLUICE_TRACE", "frames", 1);
    return std::make_unique<client::container>(client::container_options{.id = container_id});
}

}  // namespace sluice::tools
