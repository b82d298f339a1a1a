// Links as their peers want them: to a queue, to a new one, to anywhere, to the management.
#include "node/attach.hpp"

#include "node/channel_link.hpp"
#include "node/checks.hpp"
#include "node/consumer.hpp"
#include "node/coordinator.hpp"
#include "node/management.hpp"
#include "node/node_core.hpp"
#include "node/producer.hpp"

#include <sluice/codec/transactions.hpp>
#include <sluice/codec/writer.hpp>

namespace sluice::node::detail {
namespace {

constexpr std::uint64_t coordinator_code = 0x30;
constexpr std::string_view outcome_names[] = {"amqp:accepted:list", "amqp:rejected:list",
                                              "amqp:released:list", "amqp:modified:list"};

/// An attach that is being answered.
struct request {
    peer& who;
    engine::link& link;
    source from{};
    target to{};
    engine::link_options answer{};
    std::unique_ptr<suspended> before{};

    node_core& core() const { return who.core(); }
    attach const& asked() const { return link.remote_attach(); }
    void refuse(std::string_view condition, std::string text)
    {
        answered(link.refuse(
            {.condition = std::string{condition}, .description = std::move(text), .info = {}}));
    }
    /// Refuses what the peer's user may not do. [2.6.3]
    bool is_allowed(net::access what, std::string_view address)
    {
        auto const no = who.denied(what, address);
        if (!no.empty())
            refuse(no.condition, no.description);
        return no.empty();
    }
    /// That it may do so somewhere.
    bool is_allowed(net::access what)
    {
        if (!who.may_any(what))
            refuse(condition::unauthorized_access,
                   "user '" + who.user() + "' may "
                       + (what == net::access::manage ? "manage" : "write to")
                       + " nothing on this node");
        return who.may_any(what);
    }
    /// The peer may have detached meanwhile: that is answered already.
    void answered(std::error_code failed)
    {
        if (failed == error::too_large)
            failed = link.refuse({.condition = condition::frame_size_too_small,
                                  .description = "our answer fits no frame that you take [2.7.1]",
                                  .info = {}});
        if (failed == error::handle_max_exceeded)
            std::ignore = link.session().end(
                {.condition = condition::not_allowed,
                 .description = "more links than the peer's own handle-max lets us answer [2.7.2]",
                 .info = {}});
    }
};

expiry expiry_of(symbol policy) noexcept
{
    return policy == symbol{"link-detach"}        ? expiry::link_detach
           : policy == symbol{"connection-close"} ? expiry::connection_close
           : policy == symbol{"never"}            ? expiry::never
                                                  : expiry::session_end;
}

/// The address, if it is one; else why not.
std::optional<std::string> address_of(request& r, raw_value raw, char const* whose)
{
    if (is_null(raw))
        return std::string{};
    auto const text = as<std::string_view>(raw);
    if (!text) {
        r.refuse(condition::not_implemented, std::string{"the address of the "} + whose
                                                 + " is not a string, and others are not known here"
                                                   " [3.5.3]");
        return std::nullopt;
    }
    if (text->size() > address_max) {
        r.refuse(condition::invalid_field,
                 std::string{"the address of the "} + whose + " has " + std::to_string(text->size())
                     + " octets, more than " + std::to_string(address_max));
        return std::nullopt;
    }
    return std::string{*text};
}

/// The queue that the link is for. Null: refused.
std::shared_ptr<queue> find_queue(request& r, net::access what, std::string const& address,
                                  bool dynamic, raw_value node_properties)
{
    // First of all: who may not have it does not learn whether it is there.
    if (!dynamic && !r.is_allowed(what, address))
        return nullptr;
    amqp_error why;
    if (dynamic && !address.empty()) {
        r.refuse(condition::invalid_field,
                 "dynamic is true and there is an address: one of both [3.5.3]");
        return nullptr;
    }
    auto found = dynamic ? r.core().make_dynamic(r.link, lifetime_of(node_properties), why)
                         : r.core().find_or_create(address, why);
    if (!found)
        r.refuse(why.condition, why.description);
    return found;
}

bytes dynamic_properties(raw_value asked)
{
    bytes out;
    map_writer map{out};
    map.add(symbol{"lifetime-policy"}, lifetime_of(asked) == lifetime::close
                                           ? raw_value{encoded_delete_on_close}
                                           : map_reader{asked}.find("lifetime-policy"));
    map.finish();
    return out;
}

symbols granted(symbols asked, std::vector<symbol>& keep)
{
    for (std::size_t i = 0; i < asked.size(); ++i)
        if (asked.at(i) == symbol{"queue"})
            keep.emplace_back("queue");
    return symbols{std::span<symbol const>{keep}};
}

/// The source as it is in force: an address of ours, no filter that is not applied, the outcomes
/// that are understood here. [3.5.3]
bytes answer_source(request& r, std::string const& address)
{
    auto s = r.from;
    bytes const name = encoded(std::string_view{address});
    bytes const properties = s.dynamic ? dynamic_properties(s.dynamic_node_properties) : bytes{};
    std::vector<symbol> outcomes;
    for (auto const known : outcome_names)
        if (s.outcomes.size() == 0 || s.outcomes.contains(known))
            outcomes.emplace_back(known);
    std::vector<symbol> capabilities;
    s.address = {name};
    s.durable = terminus_durability::none;  // nothing survives this process
    if (engine::kind_of(s.default_outcome) == engine::outcome_kind::unknown)
        s.default_outcome = {};  // an extension's
    s.dynamic_node_properties = {properties};
    s.distribution_mode = s.distribution_mode == symbol{"copy"} ? "copy" : "move";
    s.filter = {};
    s.outcomes = symbols{std::span<symbol const>{outcomes}};
    s.capabilities = granted(s.capabilities, capabilities);
    return encoded(s);
}

bytes answer_target(request& r, std::string const& address)
{
    auto t = r.to;
    bytes const name = address.empty() ? bytes{} : encoded(std::string_view{address});
    bytes const properties = t.dynamic ? dynamic_properties(t.dynamic_node_properties) : bytes{};
    std::vector<symbol> capabilities;
    t.address = {name};
    t.durable = terminus_durability::none;
    t.dynamic_node_properties = {properties};
    t.capabilities = granted(t.capabilities, capabilities);
    return encoded(t);
}

bytes copy(raw_value v) { return {v.encoded.begin(), v.encoded.end()}; }

/// Our attach, and from then on `made` sees to the link.
void accept(request& r, std::unique_ptr<node_link> made)
{
    auto const& a = r.asked();
    r.answer.snd_settle_mode = a.snd_settle_mode;
    r.answer.rcv_settle_mode = a.rcv_settle_mode;
    auto& key_of = *made;
    r.core().remember(key_of);
    r.who.add(r.link, std::move(made));
    r.answered(r.link.attach(std::move(r.answer)));
}

/// Whether the outcome of that name can be used on a link of this source. [3.5.3]
bool knows_rejected(source const& s)
{
    return s.outcomes.size() == 0 || s.outcomes.contains("amqp:rejected:list");
}

/// As much of the unsettled map as an attach may carry. [2.6.13]
void tell_unsettled(request& r)
{
    auto const room = r.who.engine().outgoing_frame_max() / 2;
    bytes out;
    map_writer map{out};
    auto const add = [&](bytes const& tag, raw_value state) {
        if (out.size() + tag.size() + state.encoded.size() > room) {
            r.answer.incomplete_unsettled = true;
            return;
        }
        map.add(bytes_view{tag}, state);
    };
    constexpr std::byte null[]{std::byte{0x40}};
    for (auto const& d : r.before->unsettled) add(d.tag, {null});
    for (auto const& tag : r.before->accepted) add(tag, {encoded_accepted});
    map.finish();
    r.answer.unsettled = std::move(out);
}

/// What a sender that is back does not list it has settled: nothing is left to be said of it.
/// [2.6.13]
void forget_settled(request& r)
{
    auto const& a = r.asked();
    if (a.incomplete_unsettled)
        return;
    std::set<bytes> listed;
    for (map_reader map{a.unsettled}; auto const e = map.next();)
        if (auto const tag = as<bytes_view>(e->key))
            listed.emplace(tag->begin(), tag->end());
    std::erase_if(r.before->accepted, [&](bytes const& tag) { return !listed.contains(tag); });
}

bool has_port(request& r)
{
    auto const room = r.core().channels().has_room(r.who, std::string{r.link.name()});
    if (!room)
        r.refuse(condition::resource_limit_exceeded,
                 "this connection has " + std::to_string(channel_service::ports_max)
                     + " ports of channels, as many as one may have");
    return room;
}

void attach_consumer(request& r)
{
    auto const address = address_of(r, r.from.address, "source");
    if (!address)
        return;
    auto& sender = static_cast<engine::sender&>(r.link);
    r.answer.manual_drain = true;
    r.answer.target = copy(r.asked().target);
    if (*address == management_address) {
        if (!r.is_allowed(net::access::manage))
            return;
        r.answer.source = answer_source(r, *address);
        auto const reply_to = as<std::string_view>(r.to.address).value_or(std::string_view{});
        return accept(r, std::make_unique<reply_link>(r.who, sender, std::string{reply_to}));
    }
    if (*address == protocol::address) {
        if (!has_port(r))
            return;
        r.answer.source = answer_source(r, *address);
        return accept(r, std::make_unique<channel_replies>(r.who, sender));
    }
    auto const found =
        find_queue(r, net::access::read, *address, r.from.dynamic, r.from.dynamic_node_properties);
    if (!found)
        return;
    r.answer.source = answer_source(r, found->name());
    if (r.before)
        tell_unsettled(r);
    auto made = std::make_unique<consumer>(
        r.who, sender, found,
        consumer::settings{.browse = r.from.distribution_mode == symbol{"copy"},
                           .default_outcome = copy(r.from.default_outcome),
                           .when = expiry_of(r.from.expiry_policy),
                           .timeout = r.from.timeout});
    if (r.before && r.before->from == found)
        made->resume(std::move(r.before), r.asked().unsettled, r.asked().incomplete_unsettled);
    accept(r, std::move(made));
    if (r.before)
        r.before->expire();  // it was another queue's
}

void attach_producer(request& r)
{
    auto const address = address_of(r, r.to.address, "target");
    if (!address)
        return;
    auto& receiver = static_cast<engine::receiver&>(r.link);
    r.answer.source = copy(r.asked().source);
    r.answer.max_message_size = r.core().options().message_size_max;
    r.answer.credit_window = r.core().options().credit;
    if (*address == management_address) {
        if (!r.is_allowed(net::access::manage))
            return;
        r.answer.target = answer_target(r, *address);
        return accept(r, std::make_unique<management_link>(r.who, receiver));
    }
    if (*address == protocol::address) {
        if (!has_port(r))
            return;
        r.answer.target = answer_target(r, *address);
        return accept(r, std::make_unique<channel_requests>(r.who, receiver));
    }
    std::shared_ptr<queue> found;
    if (!r.to.dynamic && address->empty() && !r.is_allowed(net::access::write))
        return;
    if (r.to.dynamic || !address->empty()) {
        found =
            find_queue(r, net::access::write, *address, r.to.dynamic, r.to.dynamic_node_properties);
        if (!found)
            return;
        if (found->withholds())
            r.answer.credit_window = 0;
    }
    r.answer.target = answer_target(r, found ? found->name() : std::string{});
    if (r.before) {
        forget_settled(r);
        tell_unsettled(r);
    }
    auto made = std::make_unique<producer>(r.who, receiver, std::move(found),
                                           producer::settings{.can_reject = knows_rejected(r.from),
                                                              .when = expiry_of(r.to.expiry_policy),
                                                              .timeout = r.to.timeout});
    if (r.before)
        made->resume(std::move(r.before->accepted));
    accept(r, std::move(made));
}

/// Capabilities that were asked for and are there, or all there are. [4.5.1]
void attach_controller(request& r)
{
    constexpr std::string_view available[] = {"amqp:local-transactions", "amqp:multi-txns-per-ssn",
                                              "amqp:multi-ssns-per-txn"};
    coordinator asked;
    decode_fault fault;
    auto in = r.asked().target.encoded;
    if (decode(in, asked, &fault))
        return r.refuse(condition::invalid_field, "the attach's coordinator: " + fault.message());
    std::vector<symbol> given;
    for (auto const name : available)
        if (asked.capabilities.size() == 0 || asked.capabilities.contains(name))
            given.emplace_back(name);
    r.answer.source = copy(r.asked().source);
    r.answer.target = encoded(coordinator{.capabilities = symbols{std::span<symbol const>{given}}});
    r.answer.credit_window = r.core().options().credit;
    accept(r, std::make_unique<coordinator_link>(r.who, static_cast<engine::receiver&>(r.link),
                                                 knows_rejected(r.from)));
}

}  // namespace

void attach_link(peer& p, engine::link& l)
{
    auto const& a = l.remote_attach();
    request r{.who = p, .link = l};
    auto in_source = a.source.encoded;
    auto in_target = a.target.encoded;
    auto const sends = l.role() == role::sender;
    auto const& decisive = sends ? a.source : a.target;
    if (is_null(decisive))
        return r.refuse(condition::invalid_field,
                        sends ? "an attach without a source: there is nothing to send from [2.6.3]"
                              : "an attach without a target: there is nowhere to send to [2.6.3]");
    decode_fault fault;
    auto const controls = !sends && peek_descriptor(in_target) == coordinator_code;
    if ((!is_null(a.source) && decode(in_source, r.from, &fault))
        || (!controls && !is_null(a.target) && decode(in_target, r.to, &fault)))
        return r.refuse(condition::decode_error, "the attach's terminus: " + fault.message());
    if (auto const why = sends ? fault_of(r.from) : fault_of(r.to); !why.empty())
        return r.refuse(why.condition, why.description);
    if (p.links() >= p.core().options().links_max)
        return r.refuse(condition::resource_limit_exceeded,
                        "this connection has " + std::to_string(p.links())
                            + " links, as many as one may have");
    link_key const key{
        .user = p.user(), .container = p.container_id(), .name = l.name(), .ours = l.role()};
    p.core().steal(key);
    if (controls)
        return attach_controller(r);
    r.before = p.core().take_suspended(key);
    if (r.before && is_null(a.unsettled)) {  // not a resume: the peer begins anew
        r.before->expire();
        r.before.reset();
    }
    sends ? attach_consumer(r) : attach_producer(r);
    if (r.before)
        r.before->expire();
}

}  // namespace sluice::node::detail
