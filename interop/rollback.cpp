// The dispatcher and transactions against a broker: a message in hand, more on their way, a
// rollback from another thread, and everything comes again in its order; a thousand of each kind of
// work in a transaction, committed and rolled back; or, with --refuses, a broker without
// transactions.
#include <sluice/client/client.hpp>
#include <sluice/dispatch/transacted_session.hpp>
#include <sluice/node/node.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <future>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>

namespace {

namespace client = sluice::client;
namespace dispatch = sluice::dispatch;
using std::chrono::milliseconds;

constexpr milliseconds patience{20'000};

void require(bool holds, std::string const& text)
{
    if (!holds)
        throw std::runtime_error(text);
}

struct settings {
    std::string url;
    std::string address;
    int count = 1000;
};

int number_of(client::delivery const& d)
{
    return std::stoi(d.message().body_text().value_or("-1"));
}

class broker {
public:
    explicit broker(settings s) : settings_{std::move(s)}
    {
        client::connection_options o;
        o.audit = client::audit_mode::fatal;
        connection_ = container_.connect(settings_.url, o);
        session_ = connection_.begin();
    }
    client::session const& session() const noexcept { return session_; }
    std::string queue(std::string_view name) const
    {
        return fmt::format("{}.{}", settings_.address, name);
    }
    client::receiver receiver(std::string const& queue) const
    {
        client::receiver_options o;
        o.credit_window = 0;
        return session_.open_receiver(queue, o);
    }
    client::sender sender(std::string const& queue) const { return session_.open_sender(queue); }
    /// What is in a queue, by somebody else; it is empty then.
    void expect_content(std::string const& queue, int first, int last)
    {
        auto const other = connection_.begin();
        auto const r = other.open_receiver(queue);
        for (int n = first; n <= last; ++n) {
            auto const d = r.receive(patience);
            require(number_of(d) == n, fmt::format("{} where {} was due", number_of(d), n));
            d.accept();
        }
        try {
            require(false, fmt::format("{} is left", number_of(r.receive(milliseconds{300}))));
        } catch (boost::system::system_error const& e) {
            require(e.code() == sluice::error::timed_out, e.what());
        }
        other.end();
    }

private:
    settings const settings_;
    client::container container_;
    client::connection connection_;
    client::session session_;
};

void send(client::sender const& s, int first, int last)
{
    for (int n = first; n <= last; ++n) s.send(std::to_string(n)).or_throw();
}

void expect_next(dispatch::consumer const& c, int first, int last)
{
    for (int n = first; n <= last; ++n) {
        auto const d = c.receive(patience);
        require(number_of(d) == n, fmt::format("{} where {} was due", number_of(d), n));
    }
}

/// The listener has seen 1 and 2 and has 3 in hand; 4 and 5 wait, five more are sent; then it is
/// stopped, and rolled back by another thread.
void in_hand(broker& b)
{
    auto const queue = b.queue("hand");
    auto const out = b.sender(queue);
    send(out, 1, 5);
    dispatch::transacted_session work{b.session()};
    std::promise<void> has_it;
    std::promise<void> go;
    std::mutex mutex;
    std::vector<int> seen;
    std::promise<void> all;
    work.incoming().register_consumer(b.receiver(queue), {.prefetch = 10},
                                      [&](client::delivery const& d) {
                                          std::unique_lock lock{mutex};
                                          seen.push_back(number_of(d));
                                          auto const count = seen.size();
                                          lock.unlock();
                                          if (count == 3) {
                                              has_it.set_value();
                                              go.get_future().wait();
                                          } else if (count == 13) {
                                              work.commit();
                                              all.set_value();
                                          }
                                      });
    work.incoming().start();
    has_it.get_future().wait();
    work.incoming().stop();
    send(out, 6, 10);
    auto rollback = std::async(std::launch::async, [&] { work.rollback(); });
    go.set_value();
    rollback.get();
    {
        std::lock_guard const lock{mutex};
        require(seen == std::vector<int>{1, 2, 3}, "something was delivered after the stop");
    }
    work.incoming().start();
    require(all.get_future().wait_for(patience) == std::future_status::ready,
            "not everything came again");
    require(seen == std::vector<int>{1, 2, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
            fmt::format("out of order: {}", fmt::join(seen, " ")));
    work.incoming().close();
}

void work_of(broker& b, int count)
{
    auto const in = b.queue("in");
    auto const out = b.queue("out");
    send(b.sender(in), 1, 2 * count);
    auto const results = b.sender(out);
    dispatch::transacted_session work{b.session()};
    auto const c = work.incoming().register_consumer(b.receiver(in), {.prefetch = 100});
    work.incoming().start();
    for (auto const commits : {false, true}) {
        for (int n = 1; n <= count; ++n) {
            expect_next(c, n, n);
            results.send(std::to_string(n), work.posting());
        }
        commits ? work.commit() : work.rollback();
    }
    expect_next(c, count + 1, count + 10);
    work.rollback();
    work.incoming().close();
    c.receiver().close();
    b.expect_content(out, 1, count);
    b.expect_content(in, count + 1, 2 * count);
}

/// Several consumers of one queue: what they hold goes back in the order of arrival over all.
void over_all_consumers(broker& b)
{
    auto const queue = b.queue("all");
    send(b.sender(queue), 1, 60);
    dispatch::dispatcher d{b.session(), {.mode = dispatch::acknowledge::by_user}};
    auto const first = d.register_consumer(b.receiver(queue), {.prefetch = 10});
    auto const second = d.register_consumer(b.receiver(queue), {.prefetch = 7});
    d.start();
    for (int i = 0; i < 4; ++i) std::ignore = first.receive(patience);
    for (int i = 0; i < 3; ++i) std::ignore = second.receive(patience);
    d.unregister_consumer(second);
    d.rollback();
    d.close();
    first.receiver().close();
    second.receiver().close();
    b.expect_content(queue, 1, 60);
}

/// Two at once on one session: what one posts and retires is no business of the other.
void interleaved(broker& b)
{
    auto const queue = b.queue("two");
    auto const in = b.queue("two.in");
    auto const out = b.sender(queue);
    send(b.sender(in), 1, 4);
    auto const r = b.session().open_receiver(in);
    auto const stays = b.session().begin_transaction();
    auto const goes = b.session().begin_transaction();
    for (int n = 1; n <= 4; ++n) {
        auto const& t = n % 2 ? stays : goes;
        out.send(std::to_string(n % 2 ? (n + 1) / 2 : 100 + n), t.posting());
        auto const d = r.receive(patience);
        require(number_of(d) == n, fmt::format("{} where {} was due", number_of(d), n));
        t.accept(d);
    }
    goes.rollback();
    stays.commit();
    r.close();
    b.expect_content(queue, 1, 2);
    auto const other = b.session().open_receiver(in);
    for (auto const n : {2, 4}) {
        auto const d = other.receive(patience);
        require(number_of(d) == n, fmt::format("{} where {} was due", number_of(d), n));
        d.accept();
    }
}

void refuses(broker& b)
{
    try {
        dispatch::transacted_session const work{b.session()};
    } catch (boost::system::system_error const& e) {
        fmt::print("       says: {}\n", e.what());
        require(std::string_view{e.what()}.size() > 20, "says nothing");
        return;
    }
    throw std::runtime_error("it has transactions");
}

int run(settings const& s, bool without_transactions)
{
    auto failed = 0;
    auto const check = [&](std::string_view name, auto body) {
        try {
            broker b{s};
            body(b);
            fmt::print("  ok   {}\n", name);
        } catch (std::exception const& e) {
            fmt::print("FAILED {}: {}\n", name, e.what());
            ++failed;
        }
        std::fflush(stdout);
    };
    if (without_transactions) {
        check("a broker without transactions says so", refuses);
        return failed;
    }
    check("consumers of one queue go back in one order", over_all_consumers);
    check("a message in hand and five on their way", in_hand);
    check("two transactions at once", interleaved);
    check(fmt::format("{} retirements and posts, rolled back and committed", s.count),
          [&](broker& b) { work_of(b, s.count); });
    return failed;
}

}  // namespace

int main(int argc, char** argv)
try {
    CLI::App app{"The dispatcher and transactions against a broker"};
    settings s;
    auto without = false;
    app.add_option("--url", s.url, "the broker; without it, a node of our own");
    app.add_option("--count", s.count, "messages in the large transactions");
    app.add_flag("--refuses", without, "the broker has no transactions");
    CLI11_PARSE(app, argc, argv);
    std::optional<sluice::node::node> own;
    if (s.url.empty())
        s.url = fmt::format("amqp://127.0.0.1:{}", own.emplace().listen("127.0.0.1", 0).value());
    s.address = fmt::format("test.{:08x}", std::random_device{}());
    return run(s, without) == 0 ? 0 : 1;
} catch (std::exception const& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
}
