// The node as its users see it.
#include "node/node_core.hpp"

#include <sluice/node/node.hpp>

namespace sluice::node {

namespace {

auto const stopped = make_error_code(error::operation_aborted);

}  // namespace

node::node(node_options options) : core_{std::make_unique<detail::node_core>(std::move(options))} {}

node::~node() = default;

result<std::uint16_t> node::listen(std::string const& host, std::uint16_t port, std::string* fault)
{
    return core_->listen(host, port, {.tls = core_->options().tls.has_value()}, fault);
}

result<std::uint16_t> node::listen(std::string const& host, std::uint16_t port,
                                   node_transport under, std::string* fault)
{
    return core_->listen(host, port, under, fault);
}

std::error_code node::reload_tls(std::string* fault)
{
    auto const& tls = core_->options().tls;
    return tls ? core_->set_tls(*tls, fault) : make_error_code(error::invalid_state);
}

std::error_code node::reload_tls(net::tls_server_options const& options, std::string* fault)
{
    return core_->options().tls ? core_->set_tls(options, fault)
                                : make_error_code(error::invalid_state);
}

std::error_code node::declare(std::string const& name, queue_options options)
{
    return core_->ask([&](detail::node_core& c) { return c.declare(name, options); }, stopped);
}

std::error_code node::declare(std::string const& name)
{
    return core_->ask([&](detail::node_core& c) { return c.declare(name, c.options().queue); },
                      stopped);
}

std::error_code node::remove(std::string const& name)
{
    return core_->ask([&](detail::node_core& c) { return c.remove(name); }, stopped);
}

result<std::uint64_t> node::purge(std::string const& name)
{
    using answer = result<std::uint64_t>;
    return core_->ask(
        [&](detail::node_core& c) -> answer {
            auto* const q = c.find(name);
            if (!q)
                return unexpected{error::not_found};
            return q->purge();
        },
        answer{unexpected{stopped}});
}

std::optional<queue_info> node::read(std::string const& name) const
{
    using answer = std::optional<queue_info>;
    return core_->ask(
        [&](detail::node_core& c) -> answer {
            auto* const q = c.find(name);
            return q ? answer{q->info()} : std::nullopt;
        },
        answer{});
}

std::vector<queue_info> node::list() const
{
    return core_->ask([&](detail::node_core& c) { return c.list(); }, std::vector<queue_info>{});
}

std::error_code node::reload_users(std::string* fault)
{
    auto const& file = core_->users_file();
    if (file.empty()) {
        if (fault)
            *fault = "this node was not given a file of users";
        return make_error_code(error::invalid_state);
    }
    auto read = net::sasl_users::read(file, fault);
    if (!read)
        return read.error();
    return set_users(std::make_shared<net::sasl_users const>(std::move(*read)));
}

std::error_code node::set_users(std::shared_ptr<net::sasl_users const> users)
{
    return core_->ask(
        [&](detail::node_core& c) {
            c.set_users(std::move(users));
            return std::error_code{};
        },
        stopped);
}

node_stats node::stats() const { return core_->stats(); }

void node::stop() { core_->stop(); }

}  // namespace sluice::node
