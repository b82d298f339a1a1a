// `sluice passwd`: the users of a node.
#include "command.hpp"
#include "tools/user_file.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>

namespace sluice::tools {
namespace {

struct settings {
    std::string file;
    std::string user;
    std::vector<std::string> read;
    std::vector<std::string> write;
    std::vector<std::string> manage;
    std::uint32_t iterations = net::scram_iterations_default;
    bool from_stdin = false;
    bool no_password = false;
    bool list = false;
    bool erase = false;
};

std::string ask(settings const& s)
{
    std::string line;
    if (s.from_stdin) {
        constexpr std::size_t password_max = 1023;  // as at a terminal
        for (int c = 0; (c = std::getchar()) != EOF && c != '\n';) {
            if (line.size() == password_max)
                throw std::invalid_argument{"--stdin: a password has 1023 octets at most"};
            line += static_cast<char>(c);
        }
        if (line.empty() && std::feof(stdin) != 0)
            throw std::invalid_argument{"--stdin: there is no line on standard input"};
        if (line.ends_with('\r'))
            line.pop_back();
        return line;
    }
    if (::isatty(STDIN_FILENO) != 1)
        throw std::invalid_argument{
            "standard input is no terminal to ask at; give --stdin to read the password from it"};
    std::array<char, 1024> typed{};
    auto const prompt = fmt::format("Password for {}: ", s.user);
    // Asks twice, shows nothing, and puts the terminal back, whatever signal comes.
    auto const failed =
        EVP_read_pw_string(typed.data(), static_cast<int>(typed.size()) - 1, prompt.c_str(), 1);
    line = typed.data();
    OPENSSL_cleanse(typed.data(), typed.size());
    if (failed != 0)
        throw std::invalid_argument{"no password: they differ, or it was broken off; nothing has "
                                    "changed"};
    return line;
}

std::string grants_of(net::sasl_user const& u)
{
    auto const line = net::sasl_user_line({.name = "u", .keys = {}, .grants = u.grants});
    return line.size() > 2 ? line.substr(2) : "nothing";
}

int list(settings const& s)
{
    user_file const file{s.file, false};
    for (auto const& [name, u] : file.users())
        fmt::print("{}  {}  {}\n", name, u.keys.empty() ? "certificate" : "password", grants_of(u));
    return 0;
}

int erase(settings const& s)
{
    user_file file{s.file, false};
    auto const left = without_user(file.text(), s.user);
    if (!left)
        throw std::invalid_argument{fmt::format("{} has no user '{}'", s.file, s.user)};
    file.write(*left);
    fmt::print(stderr, "{} is no user any more\n", s.user);
    return 0;
}

/// Those of the command line for each kind that it names, else those that there are.
void set_grants(settings const& s, net::sasl_user& u, bool is_new)
{
    using net::access;
    auto const replace = [&](access what, std::vector<std::string> const& patterns) {
        if (patterns.empty())
            return;
        std::erase_if(u.grants, [&](auto const& g) { return g.what == what; });
        for (auto const& p : patterns)
            if (p != "none")
                u.grants.push_back({what, p});
    };
    if (is_new && s.read.empty() && s.write.empty() && s.manage.empty())
        u.grants = {{access::read, "*"}, {access::write, "*"}};
    replace(access::read, s.read);
    replace(access::write, s.write);
    replace(access::manage, s.manage);
}

int set(settings const& s)
{
    // Asked before the file is locked: people take their time.
    auto password = s.no_password ? std::string{} : ask(s);
    auto keys =
        s.no_password ? std::vector<net::scram_keys>{} : keys_of_password(password, s.iterations);
    OPENSSL_cleanse(password.data(), password.size());
    user_file file{s.file, true};
    net::sasl_user u{.name = s.user, .keys = {}, .grants = {}};
    auto is_new = true;
    if (auto const old = without_user(file.text(), s.user)) {
        auto const users = file.users();
        if (auto const* const there = users.find(s.user)) {
            u = *there;
            is_new = false;
        }
    }
    u.keys = std::move(keys);
    set_grants(s, u, is_new);
    auto const text = with_user(file.text(), u);
    std::string fault;
    if (!net::sasl_users::parse(text, s.file, &fault))
        throw std::invalid_argument{fault};  // of another line: what is there is not made worse
    file.write(text);
    fmt::print(stderr, "{}: {}, may {}\n", s.user,
               u.keys.empty() ? "by certificate only" : "password set", grants_of(u));
    return 0;
}

int run_passwd(settings const& s)
{
    if (s.list)
        return list(s);
    if (s.user.empty())
        throw std::invalid_argument{"no user: write sluice passwd FILE USER, or --list"};
    if (!net::scram_is_prepared(s.user))
        throw std::invalid_argument{"the user's name has a character that is not ASCII, or a "
                                    "control character; choose another"};
    constexpr std::size_t name_max = 255;
    if (s.user.size() > name_max)
        throw std::invalid_argument{
            fmt::format("the user's name has {} octets; {} may be", s.user.size(), name_max)};
    return s.erase ? erase(s) : set(s);
}

}  // namespace

void add_passwd(CLI::App& program, action& chosen)
{
    auto s = std::make_shared<settings>();
    auto& app = *program.add_subcommand(
        "passwd",
        "Add a user to the file of `sluice node --users`, or change what is there. The password is "
        "asked for twice; the file keeps salted keys, from which it cannot be read.\n"
        "A new user may read and write every address unless told otherwise.\n"
        "Exit status: 0 done; 2 not, and nothing has changed.");
    app.add_option("FILE", s->file, "made if it is not there (mode 0600)")->required();
    app.add_option("USER", s->user);
    app.add_flag("--stdin", s->from_stdin, "the password is the first line of standard input");
    app.add_flag("--no-password", s->no_password, "a user who comes with a TLS certificate");
    auto const grant = [&](char const* name, auto& into, char const* what) {
        app.add_option(name, into, what)->allow_extra_args(false);
    };
    grant("--read", s->read,
          "ADDRESS to receive from, 'PREFIX*' or '*'; as often as wanted; 'none'");
    grant("--write", s->write, "ADDRESS to send to, likewise");
    grant("--manage", s->manage, "ADDRESS to declare, delete and purge, likewise");
    app.add_option("--iterations", s->iterations, "how long guessing takes, and each login")
        ->check(CLI::Range(net::scram_iterations_min, net::scram_iterations_max))
        ->capture_default_str();
    auto* const erase = app.add_flag("--delete", s->erase, "the user goes");
    app.add_flag("--list", s->list, "who is there, and may do what")->excludes(erase);
    app.callback([s, &chosen] { chosen = [s] { return run_passwd(*s); }; });
}

}  // namespace sluice::tools
