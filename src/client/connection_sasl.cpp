// The SASL exchange of a connection, as a client and as a server. [5.3]
#include "client/listener_core.hpp"
#include "client/server_requests.hpp"

#include <utility>

namespace sluice::client::detail {

// ---- as a client

/// What this connection, as it is protected, and these options leave to choose from.
net::sasl_preference connection_core::sasl_preference()
{
    auto const security = stream_->security();
    net::sasl_means means;
    means.may_send_secrets =
        security.encrypted || security.loopback || options_.allow_plain_unencrypted;
    means.certificate = security.encrypted && !options_.tls.cert_file.empty();
    means.token = options_.token != nullptr;
    {
        std::lock_guard const lock{default_session_mutex_};
        means.token_user = user_ && !user_->empty();
        means.credentials = user_ && (password_ || !means.token);
        means.scram_possible =
            means.token_user && net::scram_is_prepared(*user_)
            && net::scram_is_prepared(password_ ? *password_ : std::string_view{});
    }
    if (options_.sasl == sasl_choice::anonymous)
        return net::sasl_prefer(means, std::vector<std::string>{"ANONYMOUS"});
    if (options_.sasl == sasl_choice::plain) {
        means.credentials = true;
        return net::sasl_prefer(means, std::vector<std::string>{"PLAIN"});
    }
    return net::sasl_prefer(means, options_.sasl_mechanisms);
}

/// The first mechanism of ours that the peer offers; credentials go out under no other. [5.3.2]
void connection_core::choose_sasl()
{
    ++sasl_round_;
    auto const preference = sasl_preference();
    auto const& offered = engine_->sasl_mechanisms();
    std::string fault;
    auto const chosen = net::sasl_choose(preference, offered, &fault);
    if (chosen.empty())
        return lose(make_error_code(net::sasl_is_insecure_only(preference, offered)
                                        ? sluice::error::sasl_unencrypted
                                        : sluice::error::sasl_no_common_mechanism),
                    fault + " (" + where() + ")");
    if (chosen == "OAUTHBEARER" || chosen == "XOAUTH2")
        return ask_for_token(std::string{chosen});
    begin_sasl(chosen, {});
}

/// The user's callback may take its time, so it runs where handlers do. An answer that comes when
/// this exchange is over already is nobody's.
void connection_core::ask_for_token(std::string mechanism)
{
    run_handler([self = shared_from_this(), mechanism = std::move(mechanism), round = sasl_round_] {
        std::string token;
        std::string fault;
        try {
            token = self->options_.token();
            if (token.empty())
                fault = "it gave an empty token";
        } catch (std::exception const& e) {
            fault = std::string{"it threw: "} + e.what();
        } catch (...) {
            fault = "it threw something that is no std::exception";
        }
        auto f = [=](connection_core& on) {
            if (on.sasl_round_ != round || !on.engine_ || !on.stream_ || on.ended())
                return;
            if (fault.empty())
                return on.begin_sasl(mechanism, token);
            on.lose(make_error_code(sluice::error::sasl_temporary_error),
                    "connection_options::token did not give a token for " + on.where() + ": "
                        + fault);
        };
        auto* const c = new call_command<decltype(f)>{std::move(f)};
        if (!self->push(*c))
            c->refuse();
    });
}

void connection_core::begin_sasl(std::string_view mechanism, std::string token)
{
    net::credentials who;
    {
        std::lock_guard const lock{default_session_mutex_};
        who.user = user_.value_or("");
        who.password = password_.value_or("");
    }
    auto const host = options_.hostname.empty() ? url().host : options_.hostname;
    net::sasl_token const bearer{
        .token = std::move(token), .user = who.user, .host = url().host, .port = url().port};
    auto const hash = net::scram_hash_of(mechanism);
    using made_client = result<std::unique_ptr<net::sasl_client>>;
    auto made = hash                         ? net::sasl_scram(*hash, who)
                : mechanism == "OAUTHBEARER" ? net::sasl_oauthbearer(bearer)
                : mechanism == "XOAUTH2"     ? net::sasl_xoauth2(bearer)
                : mechanism == "PLAIN"       ? net::sasl_plain(who)
                : mechanism == "EXTERNAL"    ? made_client{net::sasl_external()}
                                             : made_client{net::sasl_anonymous()};
    if (!made)
        return lose(made.error(), "the user, password or token has a character that cannot be sent "
                                  "with SASL "
                                      + std::string{mechanism});
    sasl_ = std::move(*made);
    auto const first = sasl_->initial_response();
    std::ignore = engine_->sasl_init(
        sasl_->mechanism(), first ? std::optional<bytes_view>{*first} : std::nullopt, host);
}

void connection_core::on_sasl_challenge()
{
    if (!sasl_)
        return lose(make_error_code(sluice::error::sasl_auth_failed),
                    "the peer at " + where() + " sent a SASL challenge before a mechanism");
    if (!sasl_->is_slow(engine_->sasl_bytes()))
        return answer_challenge(sasl_->respond(engine_->sasl_bytes()));
    run_handler([self = shared_from_this(), held = sasl_, challenge = engine_->sasl_bytes()] {
        auto f = [held, answer = held->respond(challenge)](connection_core& on) {
            if (on.sasl_ == held && on.engine_ && on.stream_ && !on.ended())
                on.answer_challenge(answer);
        };
        auto* const c = new call_command<decltype(f)>{std::move(f)};
        if (!self->push(*c))
            c->refuse();
    });
}

void connection_core::answer_challenge(result<bytes> answer)
{
    if (answer) {
        std::ignore = engine_->sasl_response(*answer);
        return;
    }
    auto const mechanism = std::string{sasl_->mechanism()};
    lose(answer.error(), sasl_->fault().empty()
                             ? "the peer at " + where() + " sent a SASL challenge that " + mechanism
                                   + " does not have"
                             : "SASL with " + where() + ": " + sasl_->fault());
}

void connection_core::on_sasl_outcome(std::error_code code)
{
    if (!code) {
        if (auto const failed = sasl_ ? sasl_->finish(engine_->sasl_bytes()) : std::error_code{})
            lose(failed, "SASL with " + where() + ": " + sasl_->fault());
        return;
    }
    if (!failure_text_.empty())
        return;
    auto const mechanism = std::string{sasl_ ? sasl_->mechanism() : "exchange"};
    auto const peer_is = "the peer at " + where();
    if (code == sluice::error::sasl_temporary_error)
        failure_text_ = peer_is + " cannot check who we are for the moment (SASL " + mechanism
                        + ", outcome sys-temp); try again later";
    else if (code == sluice::error::sasl_system_error)
        failure_text_ = engine_->error().description.find("sys-perm") != std::string::npos
                            ? peer_is + " cannot check who we are until somebody mends it (SASL "
                                  + mechanism + ", outcome sys-perm); ask its operator"
                            : peer_is + " failed to check who we are (SASL " + mechanism
                                  + ", outcome sys); see its log";
    else if (mechanism == "EXTERNAL" || mechanism == "ANONYMOUS")
        failure_text_ =
            peer_is + " refused us (SASL " + mechanism
            + "); it may want a certificate, or a user and a password; ask its operator";
    else if (mechanism == "OAUTHBEARER" || mechanism == "XOAUTH2")
        failure_text_ = peer_is + " refused the token (SASL " + mechanism
                        + "); it may have expired, or be for another service";
    else
        failure_text_ = peer_is + " refused the user or password (SASL " + mechanism
                        + "); check both, or ask its operator";
    if (sasl_ && !sasl_->fault().empty())
        failure_text_ += "; " + sasl_->fault();
}

// ---- as a server

net::sasl_server_options connection_core::sasl_of_server() const
{
    auto const& o = server_->listener->options();
    auto const security = stream_ ? stream_->security() : net::stream_security{};
    return {.users = o.users,
            .check_password = o.check_password,
            .certificate_user = security.peer_common_name,
            .plain = security.encrypted || security.loopback || o.allow_plain_unencrypted};
}

/// What takes long, or asks the user's code, is done where handlers run.
void connection_core::on_sasl_of_peer(bool first)
{
    if (first)
        server_->sasl = net::make_sasl_server(engine_->sasl_mechanism(), sasl_of_server());
    if (!server_->sasl)
        return on_sasl_answer({});
    if (!server_->sasl->is_slow())
        return on_sasl_answer(server_->sasl->respond(engine_->sasl_bytes()));
    auto place = server_->listener->take_check();
    if (!place) {
        server_->sasl.reset();
        std::ignore = engine_->sasl_outcome(sasl_code::sys_temp);
        return;
    }
    run_handler([self = shared_from_this(), held = server_->sasl, said = engine_->sasl_bytes(),
                 place = std::move(place)]() mutable {
        auto f = [answer = held->respond(said)](connection_core& on) { on.on_sasl_answer(answer); };
        place.reset();  // before the answer is out: who has it may come again at once
        auto* const c = new call_command<decltype(f)>{std::move(f)};
        if (!self->push(*c))
            c->refuse();
    });
}

void connection_core::on_sasl_answer(net::sasl_server::answer const& said)
{
    using step = net::sasl_server::step;
    if (!engine_)
        return;
    if (said.what == step::challenge) {
        std::ignore = engine_->sasl_challenge(said.octets);
        return;
    }
    auto const good = said.what == step::accepted;
    if (good)
        server_->user = server_->sasl->user();
    server_->sasl.reset();
    std::ignore = engine_->sasl_outcome(good ? sasl_code::ok : sasl_code::auth, said.octets);
}

}  // namespace sluice::client::detail
