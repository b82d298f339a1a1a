// One cell of an interop pairing: this project's client against a peer. It says what it saw, a line
// for each fact with what the standard lets one hope for beside it; interop/pairing.py decides.
#include "pairing_samples.hpp"

#include <sluice/client/client.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <regex>
#include <stdexcept>
#include <thread>

namespace {

using namespace std::chrono_literals;
using namespace interop;
namespace client = sluice::client;
using boost::system::system_error;

constexpr auto patience = 60s;    // for what has to come
constexpr auto a_moment = 300ms;  // for what must not come

struct settings {
    std::string url;
    std::string to;
    std::string from;
    std::uint32_t count = 10'000;
    std::uint64_t seed = 1;
    std::uint32_t idle_ms = 2'000;
    std::uint32_t batch = 0;  ///< credit in batches, each when the last has come whole; 0: a window
};

void fact(std::string_view name, std::string_view observed, std::string_view ideal)
{
    fmt::print("fact\t{}\t{}\t{}\n", name, observed, ideal);
    std::fflush(stdout);
}

void say(std::string_view word)
{
    fmt::print("{}\n", word);
    std::fflush(stdout);
}

/// What a failure says that is the same each time: its condition, or else the code's sentence.
std::string cause(system_error const& e)
{
    std::string const text = e.what();
    std::smatch found;
    if (std::regex_search(text, found, std::regex{"amqp:[a-z:-]+[a-z]"}))
        return found.str();
    return e.code().message();
}

std::string fresh(std::string_view what)
{
    static std::random_device random;
    return fmt::format("test.pairing.{}.{:08x}{:08x}", what, random(), random());
}

class peer {
public:
    explicit peer(settings const& s) : s_{s}, container_{"sluice-pairing"} {}

    client::connection connect(std::chrono::milliseconds idle = 60s)
    {
        client::connection_options o;
        o.timeout = patience;
        o.idle_timeout = idle;
        return container_.connect(s_.url, o);
    }

    /// Lets `look` see on a connection of its own; a failure is what was seen.
    void observe(std::string const& name, std::string const& ideal,
                 std::function<std::string(client::session&)> const& look)
    {
        std::string seen;
        try {
            auto connection = connect();
            auto session = connection.begin();
            seen = look(session);
            connection.close();
        } catch (system_error const& e) {
            seen = "fails: " + cause(e);
        }
        fact(name, seen, ideal);
    }

private:
    settings const& s_;
    client::container container_;
};

bool nothing_comes(client::receiver const& r)
{
    try {
        auto const d = r.receive(a_moment);
        d.release();
        return false;
    } catch (system_error const& e) {
        if (e.code() == sluice::make_error_code(sluice::error::timed_out))
            return true;
        throw;
    }
}

/// Sends without waiting for each outcome, `window` at most under way.
class pipeline {
public:
    explicit pipeline(client::sender s, std::size_t window = 256)
        : sender_{std::move(s)}, window_{window}
    {
    }
    void send(sluice::message const& m)
    {
        {
            std::unique_lock lock{mutex_};
            changed_.wait(lock, [&] { return under_way_ < window_; });
            ++under_way_;
        }
        sender_.async_send(m, [this](client::error_code ec, client::outcome o) {
            std::lock_guard const lock{mutex_};
            ++counts_[ec ? "failed: " + ec.message() : o.to_string()];
            --under_way_;
            changed_.notify_all();
        });
    }
    /// How often each outcome came, once all have.
    std::map<std::string, std::uint64_t> finish()
    {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] { return under_way_ == 0; });
        return counts_;
    }

private:
    client::sender sender_;
    std::size_t window_;
    std::mutex mutex_;  // of what follows
    std::condition_variable changed_;
    std::size_t under_way_ = 0;
    std::map<std::string, std::uint64_t> counts_;
};

std::string joined(std::map<std::string, std::uint64_t> const& counts)
{
    std::string out;
    for (auto const& [what, n] : counts)
        out += fmt::format("{}{} {}", out.empty() ? "" : ", ", n, what);
    return out;
}

// ---- cells

/// Sizes and contents by a seed; order and octets are compared.
void messages(settings const& s, peer& p)
{
    auto connection = p.connect();
    auto session = connection.begin();
    client::receiver_options o;
    if (s.batch > 0)
        o.credit_window = 0;
    auto receiver = session.open_receiver(s.from, o);
    pipeline out{session.open_sender(s.to)};
    std::thread sending{[&] {
        for (std::uint32_t i = 0; i < s.count; ++i) {
            sluice::message m{seeded_body(s.seed, i)};
            m.application_properties["n"] = static_cast<std::int32_t>(i);
            out.send(m);
        }
    }};
    std::string fault;
    std::uint32_t received = 0;
    std::uint64_t octets = 0;
    try {
        for (; received < s.count; ++received) {
            if (s.batch > 0 && received % s.batch == 0)
                receiver.add_credit(s.batch);
            auto const d = receiver.receive(patience);
            auto const m = d.message();
            auto const* const n = m.application_properties.find("n");
            auto const body = m.body_bytes();
            if (fault.empty() && (!n || n->integer() != std::int64_t{received}))
                fault = fmt::format("out of order at {}", received);
            if (fault.empty() && (!body || *body != seeded_body(s.seed, received)))
                fault = fmt::format("{} came with another body", received);
            octets += body ? body->size() : 0;
            d.accept();
        }
    } catch (system_error const& e) {
        fault = fmt::format("after {}: {}", received, cause(e));
    }
    if (!fault.empty())
        connection.close({.condition = sluice::condition::internal_error, .description = fault});
    sending.join();
    auto const outcomes = joined(out.finish());
    say(fmt::format("{} octets of bodies", octets));
    fact("messages", fault.empty() ? fmt::format("{} in order, unchanged", received) : fault,
         fmt::format("{} in order, unchanged", s.count));
    fact("outcomes", outcomes, fmt::format("{} accepted", s.count));
    connection.close();
}

/// One data section of 20 MiB, written and read in parts.
void streamed(settings const& s, peer& p)
{
    constexpr std::size_t size = 20u << 20;
    constexpr std::size_t part = 64 * 1024;
    auto const body = seeded{s.seed}.octets(size);
    auto connection = p.connect();
    auto session = connection.begin();
    auto sender = session.open_sender(s.to);
    auto stream = sender.stream();
    std::uint8_t const head[] = {0x00, 0x53, 0x75, 0xb0, size >> 24, (size >> 16) & 0xff, 0, 0};
    stream.write(std::as_bytes(std::span{head}));
    for (std::size_t at = 0; at < size; at += part)
        stream.write(sluice::bytes_view{body}.subspan(at, part));
    fact("outcome", stream.finish().to_string(), "accepted");
    client::receiver_options o;
    o.streamed = true;
    o.credit_window = 1;
    auto receiver = session.open_receiver(s.from, o);
    auto const d = receiver.receive(patience);
    sluice::bytes got;
    sluice::bytes buffer(part);
    try {
        while (true) {
            auto const n = d.read_some(buffer);
            got.insert(got.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(n));
        }
    } catch (system_error const& e) {
        if (e.code() != boost::asio::error::eof)
            throw;
    }
    d.accept();
    sluice::message m;
    auto const code = decode(got, m);
    auto const same = !code && m.body_bytes() == body;
    fact("20 MiB",
         same ? "unchanged" : fmt::format("{} octets came, {}", got.size(), code.message()),
         "unchanged");
    connection.close();
}

/// With the type in front, inside of lists and maps too: 5 as an int is another value than 5 as a
/// long.
std::string typed(sluice::value const& v)
{
    if (auto const* const list = v.get_if<sluice::value_list>()) {
        std::string out;
        for (auto const& e : *list) out += (out.empty() ? "" : ", ") + typed(e);
        return "list [" + out + "]";
    }
    if (auto const* const map = v.get_if<sluice::value_map>()) {
        std::vector<std::string> entries;  // in no order: some clients shuffle them
        for (auto const& [k, e] : *map) entries.push_back(typed(k) + ": " + typed(e));
        std::sort(entries.begin(), entries.end());
        return fmt::format("map {{{}}}", fmt::join(entries, ", "));
    }
    return v.is_null() ? "null" : fmt::format("{} {}", to_string(v.type()), to_string(v));
}

std::string body_text(sluice::message const& m)
{
    if (auto const* const v = m.body_value())
        return typed(*v);
    auto const* const data = std::get_if<sluice::data_body>(&m.body);
    if (!data) {
        sluice::message only;
        only.body = m.body;
        auto const text = to_string(only);
        return text.empty() ? "a message without a body" : text;
    }
    std::string sizes;
    for (auto const& section : data->sections)
        sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", section.size());
    return fmt::format("data of {} octets", sizes);
}

/// As far as a map's order is nobody's promise. [1.6.23]
bool same_body(sluice::message const& a, sluice::message const& b)
{
    auto const* const x = a.body_value();
    auto const* const y = b.body_value();
    return a.body == b.body || (x && y && typed(*x) == typed(*y));
}

std::vector<std::string> sorted(sluice::value_map const& map)
{
    std::vector<std::string> out;
    for (auto const& [k, v] : map) out.push_back(typed(k) + typed(v));
    std::sort(out.begin(), out.end());
    return out;
}

/// What differs between a message and what became of it; header fields are the peer's to set.
std::string difference(sluice::message const& sent, sluice::message const& got)
{
    // The script sends this in the place of what a client ended for.
    if (auto const text = got.body_text(); text && text->starts_with("the client fails"))
        return *text;
    auto const annotated = [&] {
        for (auto const& [k, v] : sent.message_annotations) {
            auto const* const found = got.message_annotations.find(k.text().value_or(""));
            if (!found || *found != v)
                return false;
        }
        return true;
    };
    auto properties = got.properties;
    if (!sent.properties.to)
        properties.to.reset();  // a node may say where it went
    std::string remark = "unchanged";
    if (!sent.properties.subject && got.properties.subject
        && got.properties.subject->starts_with("test.pairing.")) {
        remark = "unchanged, with its address as the subject";
        properties.subject.reset();
    }
    auto copy = got;
    copy.properties = properties;
    if (copy.application_properties != sent.application_properties
        && sorted(copy.application_properties) == sorted(sent.application_properties)) {
        remark += ", in another order";
        copy.application_properties = sent.application_properties;
    }
    auto const same = same_body(sent, got) && sent.properties == properties && annotated()
                      && sent.application_properties == copy.application_properties
                      && sent.footer == got.footer;
    if (same)
        return remark;
    copy.header = {};
    copy.delivery_annotations.clear();
    if (annotated() && !sent.message_annotations.empty())
        copy.message_annotations = sent.message_annotations;
    else if (sent.message_annotations.empty())
        copy.message_annotations.clear();
    auto text = "comes as " + to_string(copy);
    if (!same_body(sent, got))
        text = "comes as " + body_text(got);
    else if (sent.application_properties != copy.application_properties)
        for (auto const& [k, v] : copy.application_properties) {
            auto const* const was = sent.application_properties.find(k.text().value_or(""));
            if (!was || *was != v) {
                text = "comes as " + typed(v);
                break;
            }
        }
    else if (sent.properties.message_id != properties.message_id)
        text = "comes as " + typed(properties.message_id);
    constexpr std::size_t length_max = 90;
    if (text.size() > length_max)
        text = text.substr(0, length_max) + "...";
    for (auto& c : text)
        if (c == '\t' || c == '\n')
            c = ' ';
    return text;
}

void round_trips(settings const& s, peer& p, std::vector<sample> const& samples)
{
    client::connection connection;
    client::sender sender;
    client::receiver receiver;
    // An echo has its two addresses; a broker gets a new queue when something was lost in the old.
    auto const echoed = s.to != s.from;
    auto const open = [&] {
        connection = p.connect();
        auto session = connection.begin();
        auto const to = echoed ? s.to : fresh("round_trips");
        receiver = session.open_receiver(echoed ? s.from : to);
        sender = session.open_sender(to);
    };
    open();
    for (auto const& [name, m] : samples) {
        std::string seen;
        try {
            auto const outcome = sender.send(m);
            if (!outcome.accepted()) {
                seen = outcome.to_string();
            } else {
                // For an echo something comes in any case: see Echo in pairing.py.
                auto const d = receiver.receive(echoed ? 30s : 10s);
                try {
                    seen = difference(m, d.message());
                } catch (system_error const& e) {
                    seen = "malformed: " + cause(e);
                }
                d.accept();
            }
        } catch (system_error const& e) {
            auto const late = e.code() == sluice::make_error_code(sluice::error::timed_out);
            seen = late ? "is lost" : "fails: " + cause(e);
            try {
                connection.close();
            } catch (system_error const&) {
                std::ignore = 0;  // it is gone already
            }
            open();
        }
        fact(name, seen, "unchanged");
    }
    connection.close();
}

std::string_view name_of(sluice::sender_settle_mode m)
{
    using mode = sluice::sender_settle_mode;
    return m == mode::unsettled ? "unsettled" : m == mode::settled ? "settled" : "mixed";
}

std::string_view name_of(sluice::receiver_settle_mode m)
{
    return m == sluice::receiver_settle_mode::first ? "first" : "second";
}

/// Every combination, on a queue of its own: how it is sent, how it comes, and that it is gone.
void settle_modes(settings const&, peer& p)
{
    using snd_mode = sluice::sender_settle_mode;
    using rcv_mode = sluice::receiver_settle_mode;
    for (auto const snd : {snd_mode::unsettled, snd_mode::settled, snd_mode::mixed})
        for (auto const rcv : {rcv_mode::first, rcv_mode::second}) {
            auto const queue = fresh("settle");
            auto const name = fmt::format("{}, {}", name_of(snd), name_of(rcv));
            auto const settled = snd == snd_mode::settled;
            p.observe("send " + name, settled ? "sent settled" : "accepted",
                      [&](client::session& session) {
                          client::sender_options o;
                          o.snd_settle_mode = snd;
                          o.rcv_settle_mode = rcv;
                          auto const sender = session.open_sender(queue, o);
                          auto const outcome = sender.send("m", {.settled = settled});
                          if (snd == snd_mode::mixed)
                              sender.send("m", {.settled = true});
                          session.open_sender(queue).send("m");  // all before it have arrived
                          return settled ? "sent settled" : outcome.to_string();
                      });
            p.observe("receive " + name, settled ? "comes settled" : "comes unsettled, is settled",
                      [&](client::session& session) -> std::string {
                          client::receiver_options o;
                          o.snd_settle_mode = snd;
                          o.rcv_settle_mode = rcv;
                          auto receiver = session.open_receiver(queue, o);
                          auto const d = receiver.receive(5s);
                          auto const came = d.settled();
                          if (!came)
                              d.settle();
                          return came ? "comes settled" : "comes unsettled, is settled";
                      });
        }
}

void outcomes(settings const&, peer& p)
{
    using answer = std::function<void(client::delivery const&)>;
    auto const look = [&](std::string const& name, std::string const& ideal, answer const& give) {
        p.observe(name, ideal, [&](client::session& session) -> std::string {
            auto const queue = fresh("outcomes");
            auto sender = session.open_sender(queue);
            auto receiver = session.open_receiver(queue);
            sender.send("m");
            give(receiver.receive(patience));
            try {
                auto const again = receiver.receive(1s);
                auto const header = again.message().header;
                auto const count = header.delivery_count.value_or(0);
                again.accept();
                return fmt::format("comes again, delivery-count {}", count);
            } catch (system_error const& e) {
                if (e.code() != sluice::make_error_code(sluice::error::timed_out))
                    throw;
            }
            session.open_sender(queue);  // the session is still there
            return "does not come again";
        });
    };
    look("accepted", "does not come again", [](auto const& d) { d.accept(); });
    look("released", "comes again, delivery-count 0", [](auto const& d) { d.release(); });
    look("rejected", "does not come again", [](auto const& d) {
        d.reject({.condition = sluice::condition::not_allowed, .description = "by the test"});
    });
    look("modified, failed", "comes again, delivery-count 1",
         [](auto const& d) { d.modify({.delivery_failed = true}); });
    look("modified, undeliverable here", "does not come again",
         [](auto const& d) { d.modify({.delivery_failed = true, .undeliverable_here = true}); });
}

void credit_one(settings const&, peer& p)
{
    constexpr auto count = 200;
    p.observe("credit 1 by hand", "one comes for each", [&](client::session& session) {
        auto const queue = fresh("credit");
        auto sender = session.open_sender(queue);
        for (auto i = 0; i < 10; ++i) sender.send(fmt::format("{}", i));
        client::receiver_options o;
        o.credit_window = 0;
        auto receiver = session.open_receiver(queue, o);
        for (auto i = 0; i < 10; ++i) {
            if (i % 3 == 0 && !nothing_comes(receiver))
                return std::string{"one comes without credit"};
            receiver.add_credit(1);
            auto const d = receiver.receive(patience);
            d.accept();
            if (d.message().body_text() != fmt::format("{}", i))
                return std::string{"out of order"};
        }
        return std::string{"one comes for each"};
    });
    p.observe("credit 1 kept up", "all come, one at a time", [&](client::session& session) {
        auto const queue = fresh("credit");
        client::receiver_options o;
        o.credit_window = 1;
        auto receiver = session.open_receiver(queue, o);
        pipeline out{session.open_sender(queue)};
        for (auto i = 0; i < count; ++i) out.send(sluice::message{std::to_string(i)});
        for (auto i = 0; i < count; ++i) {
            auto const d = receiver.receive(patience);
            if (receiver.try_receive())
                return std::string{"two come at once"};
            if (d.message().body_text() != std::to_string(i))
                return std::string{"out of order"};
            d.accept();
        }
        out.finish();
        return std::string{"all come, one at a time"};
    });
}

void drain(settings const&, peer& p)
{
    auto const look = [&](std::string const& name, std::string const& ideal, int there) {
        p.observe(name, ideal, [&](client::session& session) {
            auto const queue = fresh("drain");
            auto sender = session.open_sender(queue);
            for (auto i = 0; i < there; ++i) sender.send("m");
            client::receiver_options o;
            o.credit_window = 0;
            auto receiver = session.open_receiver(queue, o);
            receiver.add_credit(10);
            receiver.drain();
            auto came = 0;
            for (; auto const d = receiver.try_receive(); ++came) d.accept();
            sender.send("later");
            if (!nothing_comes(receiver))
                return fmt::format("{} come, and one more without credit", came);
            receiver.add_credit(1);
            receiver.receive(patience).accept();
            return fmt::format("{} come, then no credit is left", came);
        });
    };
    look("drain of three", "3 come, then no credit is left", 3);
    look("drain of an empty queue", "0 come, then no credit is left", 0);
}

/// Silence of the user is none on the wire: both sides stay.
void idle(settings const& s, peer& p)
{
    auto connection = p.connect(std::chrono::milliseconds{s.idle_ms});
    auto const queue = fresh("idle");
    auto session = connection.begin();
    auto sender = session.open_sender(queue);
    auto receiver = session.open_receiver(queue);
    std::this_thread::sleep_for(std::chrono::milliseconds{s.idle_ms * 2});
    std::string seen = "the connection lives";
    try {
        sender.send("m");
        receiver.receive(patience).accept();
        connection.close();
    } catch (system_error const& e) {
        seen = "fails: " + cause(e);
    }
    fact("silence of twice the time-out", seen, "the connection lives");
}

/// The other side goes silent while one delivery is held: it is given up, and nothing hangs.
void silent_peer(settings const& s, peer& p)
{
    auto connection = p.connect(std::chrono::milliseconds{s.idle_ms});
    auto session = connection.begin();
    auto sender = session.open_sender(s.to);
    auto receiver = session.open_receiver(s.from);
    sender.send("held");
    auto const d = receiver.receive(patience);
    say("ready");  // now the relay stops
    std::string seen = "nothing";
    try {
        receiver.receive(patience);
    } catch (system_error const& e) {
        seen = e.code() == sluice::make_error_code(sluice::error::timed_out)
                   ? "is not noticed"
                   : "is given up: " + cause(e);
    }
    fact("a peer that goes silent", seen, "is given up: amqp:resource-limit-exceeded");
}

// ---- parts of the cell `killed`, put together by the script

void fill(settings const& s, peer& p)
{
    auto connection = p.connect();
    pipeline out{connection.open_sender(s.to)};
    for (std::uint32_t i = 0; i < s.count; ++i) out.send(sluice::message{std::to_string(i)});
    fact("filled", joined(out.finish()), fmt::format("{} accepted", s.count));
    connection.close();
}

/// Holds `count` deliveries without an answer, until it is killed.
void hold(settings const& s, peer& p)
{
    auto connection = p.connect();
    client::receiver_options o;
    o.credit_window = s.count;
    auto receiver = connection.open_receiver(s.from, o);
    std::vector<client::delivery> held;
    while (held.size() < s.count) held.push_back(receiver.receive(patience));
    say("ready");
    std::this_thread::sleep_for(10min);
}

/// Sends `count` messages, then half of a large one, until it is killed.
void half(settings const& s, peer& p)
{
    auto connection = p.connect();
    auto sender = connection.open_sender(s.to);
    for (std::uint32_t i = 0; i < s.count; ++i) sender.send(std::to_string(i));
    auto stream = sender.stream();
    std::uint8_t const head[] = {0x00, 0x53, 0x75, 0xb0, 0x01, 0x40, 0, 0};
    stream.write(std::as_bytes(std::span{head}));
    stream.write(sluice::bytes(std::size_t{4} << 20));
    std::this_thread::sleep_for(200ms);  // what is in the buffers goes out
    say("ready");
    std::this_thread::sleep_for(10min);
}

/// Takes all there is, or `count`: which came, and which of them had been delivered before.
void take(settings const& s, peer& p)
{
    auto connection = p.connect();
    auto receiver = connection.open_receiver(s.from);
    std::string order;
    std::uint32_t came = 0;
    std::uint32_t again = 0;
    try {
        while (true) {
            auto const d = receiver.receive(came < s.count ? std::chrono::milliseconds{10s}
                                                           : std::chrono::milliseconds{a_moment});
            auto const m = d.message();
            if (m.body_text() != std::to_string(came) && order.empty())
                order = fmt::format(", out of order from {} on", came);
            again += m.header.delivery_count.value_or(0) > 0 ? 1 : 0;
            ++came;
            d.accept();
        }
    } catch (system_error const& e) {
        if (e.code() != sluice::make_error_code(sluice::error::timed_out))
            throw;
    }
    fact("come", fmt::format("{}{}", came, order), fmt::format("{}", s.count));
    fact("with a delivery-count", fmt::format("{}", again), "any");
    connection.close();
}

/// The peer dies in the middle of everything: each call ends, and none says more than is known.
void bereaved(settings const& s, peer& p)
{
    auto connection = p.connect();
    auto session = connection.begin();
    auto sender = session.open_sender(s.to);
    auto receiver = session.open_receiver(s.from);
    sender.send("held");
    auto const held = receiver.receive(patience);
    pipeline out{sender, 500};
    say("ready");
    sluice::message const m{seeded{1}.octets(1000)};
    while (!connection.error()) out.send(m);
    auto const counts = out.finish();
    std::uint64_t other = 0;
    for (auto const& [what, n] : counts)
        if (what != "accepted" && !what.starts_with("failed"))
            other += n;
    fact("sends under way", other == 0 && counts.size() > 1 ? "accepted, or fail" : joined(counts),
         "accepted, or fail");
    std::string seen = "nothing";
    try {
        while (true) receiver.receive(patience).release();
    } catch (system_error const& e) {
        seen = e.code() == sluice::make_error_code(sluice::error::timed_out) ? "hangs" : "ends";
    }
    fact("a receive that waits", seen, "ends");
    try {
        held.accept();
        seen = "is taken";
    } catch (system_error const& e) {
        seen = e.code() == sluice::make_error_code(sluice::error::stale_delivery) ? "is refused"
                                                                                  : cause(e);
    }
    fact("an answer to what was held", seen, "is refused");
}

int run(std::string const& cell, settings const& s)
{
    using body = std::function<void(settings const&, peer&)>;
    static std::map<std::string, body> const cells{
        {"messages", messages},
        {"streamed", streamed},
        {"bodies", [](auto const& o, auto& p) { round_trips(o, p, body_samples()); }},
        {"properties", [](auto const& o, auto& p) { round_trips(o, p, property_samples()); }},
        {"settle_modes", settle_modes},
        {"outcomes", outcomes},
        {"credit_one", credit_one},
        {"drain", drain},
        {"idle", idle},
        {"silent_peer", silent_peer},
        {"fill", fill},
        {"hold", hold},
        {"half", half},
        {"take", take},
        {"bereaved", bereaved},
    };
    auto const found = cells.find(cell);
    if (found == cells.end())
        throw std::invalid_argument{"no cell " + cell};
    peer p{s};
    found->second(s, p);
    return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv)
{
    settings s;
    std::string cell;
    CLI::App app{"One cell of an interop pairing; interop/pairing.py knows which there are."};
    app.add_option("CELL", cell)->required();
    app.add_option("--url", s.url)->required();
    app.add_option("--to", s.to, "where messages are sent to; default: a new address");
    app.add_option("--from", s.from, "where they come back; default: the same");
    app.add_option("--count", s.count);
    app.add_option("--seed", s.seed);
    app.add_option("--idle-ms", s.idle_ms);
    app.add_option("--batch", s.batch);
    CLI11_PARSE(app, argc, argv);
    if (s.to.empty())
        s.to = s.from.empty() ? fresh(cell) : s.from;
    if (s.from.empty())
        s.from = s.to;
    try {
        return run(cell, s);
    } catch (std::exception const& e) {
        fmt::print(stderr, "pairing {}: {}\n", cell, e.what());
        return EXIT_FAILURE;
    }
}
