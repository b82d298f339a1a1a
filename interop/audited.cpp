// A small client for the scripted peer judges/flow_audit.py: one session, a sender and a receiver
// on "q".
//
// What each scenario wants of its client stands in flow_audit.py. The exit status is 0 only if the
// client's side of it is right as well: what arrived, what was accepted, and how the session ended.
#include <sluice/client/client.hpp>
#include <sluice/codec/message_writer.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <future>
#include <map>
#include <stdexcept>

namespace {

using namespace std::chrono_literals;
namespace client = sluice::client;

void require(bool holds, std::string const& text)
{
    if (!holds)
        throw std::runtime_error(text);
}

bool is(boost::system::system_error const& e, sluice::error code)
{
    return e.code() == sluice::make_error_code(code);
}

std::string text_of(client::delivery const& d)
{
    sluice::bytes data;
    d.view().append_data(data);
    std::string text;
    for (auto const b : data) text += static_cast<char>(b);
    return text;
}

/// Accepts what comes until the peer closes. @returns the texts.
std::vector<std::string> receive_until_closed(client::receiver& r)
{
    std::vector<std::string> texts;
    try {
        for (;;) {
            auto d = r.receive(30s);
            texts.push_back(text_of(d));
            d.accept();
        }
    } catch (boost::system::system_error const& e) {
        require(is(e, sluice::error::connection_closed_by_peer), e.what());
    }
    return texts;
}

/// The peer ends a scenario by closing; until then there is nothing to do.
void stay(client::receiver& r)
{
    auto const texts = receive_until_closed(r);
    require(texts.empty(), fmt::format("{} messages came, and none was sent", texts.size()));
}

void send_large_then_receive(client::connection& c, client::session& s)
{
    auto sender = s.open_sender("q");
    std::vector<std::future<client::outcome>> sent;
    for (int i = 0; i < 3; ++i) {
        client::encoded_message m;
        sluice::message_writer{m.octets}.data(std::string(5'000, 'm'));
        sent.push_back(sender.async_send(std::move(m), boost::asio::use_future));
    }
    auto receiver = s.open_receiver("q");  // its first flow falls due among the transfers
    for (auto& f : sent) require(f.get().accepted(), "a message was not accepted");
    s.request_flow();
    receiver.close();
    sender.close();
    require(s.counters().transfers_written >= 15, "the messages went out in too few frames");
    c.close();
}

void abort_some(client::connection& c, client::session& s)
{
    auto sender = s.open_sender("q");
    auto receiver = s.open_receiver("q");
    sluice::bytes const part(3'000, std::byte{'s'});
    for (int i = 0; i < 6; ++i) {
        auto body = sender.stream();
        for (int n = 0; n < 100; ++n) body.write_data(part);
        s.request_flow();
        if (i % 2 == 0)
            body.abort();
        else
            require(body.finish().accepted(), "a message was not accepted");
        s.request_flow();
    }
    sender.close();
    receiver.close();
    c.close();
}

/// Nothing may come of an aborted delivery.
void receive_only_good(client::connection&, client::session& s)
{
    auto receiver = s.open_receiver("q");
    auto const texts = receive_until_closed(receiver);
    require(texts == std::vector<std::string>{"good"},
            fmt::format("received {} messages instead of the good one alone", texts.size()));
}

void receive_eight(client::connection&, client::session& s)
{
    client::receiver_options options;
    options.credit_window = 2;  // so that flows state ids from beyond the wrap
    auto receiver = s.open_receiver("q", options);
    auto const texts = receive_until_closed(receiver);
    std::vector<std::string> expected;
    for (int i = 0; i < 8; ++i) expected.push_back(fmt::format("m{}", i));
    require(texts == expected,
            fmt::format("received {} messages instead of m0 to m7", texts.size()));
}

void idle(client::connection&, client::session& s)
{
    auto sender = s.open_sender("q");
    auto receiver = s.open_receiver("q");
    stay(receiver);
}

/// A disposition over 0..2^32-1 runs backwards: the session is ended for it, the connection stays.
void survive_range(client::connection& c, client::session& s)
{
    auto sender = s.open_sender("q");
    auto receiver = s.open_receiver("q");
    try {
        receiver.receive(20s);
        require(false, "the session went on after an invalid range");
    } catch (boost::system::system_error const& e) {
        require(!is(e, sluice::error::timed_out), "the session was not ended for an invalid range");
    }
    auto const why = s.error();
    require(why != nullptr, "the session does not say why it ended");
    require(why->error.condition == sluice::condition::invalid_field, why->text);
    require(c.error() == nullptr, "the connection ended with the session");
    c.close();
}

int run(std::string const& url, std::string const& scenario)
{
    std::map<std::string, void (*)(client::connection&, client::session&)> const scenarios{
        {"multi", send_large_then_receive},
        {"window", send_large_then_receive},
        {"echo", idle},
        {"abortrecv", receive_only_good},
        {"abortsend", abort_some},
        {"range", survive_range},
        {"wrap", receive_eight}};
    client::container container{"sluice-audited"};
    auto connection = container.connect(url);
    client::session_options options;
    options.next_outgoing_id = sluice::transfer_id{4294967293};
    auto session = connection.begin(options);
    scenarios.at(scenario)(connection, session);
    auto const why = session.error();
    fmt::print("client: {}\n", why && why->code ? why->text : "done");
    return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv)
{
    std::string url;
    std::string scenario;
    CLI::App app{"The client under test of judges/flow_audit.py."};
    app.add_option("--url", url, "of the peer")->required();
    app.add_option("scenario", scenario, "as in flow_audit.py")
        ->required()
        ->check(
            CLI::IsMember({"multi", "window", "echo", "abortrecv", "abortsend", "range", "wrap"}));
    CLI11_PARSE(app, argc, argv);
    try {
        return run(url, scenario);
    } catch (std::exception const& e) {
        fmt::print(stderr, "client: {}: {}\n", scenario, e.what());
        return EXIT_FAILURE;
    }
}
