// A consumer that works in transactions: orders in, invoices out, both or neither. One order cannot
// be processed at first: the transaction is rolled back and its messages come again, in order.
//   transacted_consumer [amqp://user:password@host:port] [address]
// Without a URL it talks to a node of its own.
#include <sluice/client/client.hpp>
#include <sluice/dispatch/transacted_session.hpp>
#include <sluice/node/node.hpp>

#include <iostream>
#include <optional>

namespace client = sluice::client;
namespace dispatch = sluice::dispatch;

namespace {

constexpr int orders = 6;
constexpr std::chrono::seconds patience{20};

int work(std::string const& url, std::string const& address)
{
    client::container container;
    auto const connection = container.connect(url);
    auto const session = connection.begin();

    auto const shop = session.open_sender(address);
    for (int n = 1; n <= orders; ++n) shop.send("order " + std::to_string(n)).or_throw();

    auto const invoices = session.open_sender(address + ".invoices");
    // No credit before the dispatcher gives it: what comes earlier could not be put in order.
    client::receiver_options from;
    from.credit_window = 0;

    dispatch::transacted_session transacted{session};
    auto const in = transacted.incoming().register_consumer(session.open_receiver(address, from),
                                                            {.prefetch = 10});
    transacted.incoming().start();

    auto has_failed = false;
    for (int done = 0; done < orders;) {
        auto const order = in.receive(patience);
        auto const text = order.message().body_text().value_or("");
        auto const attempt = order.message().header.delivery_count.value_or(0) + 1;
        std::cout << text << ", attempt " << attempt << '\n';
        invoices.send("invoice for " + text, transacted.posting()).or_throw();
        ++done;
        if (done == 4 && !std::exchange(has_failed, true)) {
            // Order 3 and 4, and their invoices, as if they had not been; 5 and 6 wait behind them.
            transacted.rollback();
            std::cout << "rolled back\n";
            done = 2;
        } else if (done % 2 == 0) {
            transacted.commit();
            std::cout << "committed\n";
        }
    }
    transacted.incoming().close();

    auto const out = session.open_receiver(address + ".invoices");
    for (int n = 1; n <= orders; ++n) {
        auto const invoice = out.receive(patience);
        std::cout << invoice.message().body_text().value_or("") << '\n';
        invoice.accept();
    }
    connection.close();
    return 0;
}

}  // namespace

int main(int argc, char** argv)
try {
    std::optional<sluice::node::node> own;
    auto url = std::string{argc > 1 ? argv[1] : ""};
    if (url.empty())
        url = "amqp://127.0.0.1:" + std::to_string(own.emplace().listen("127.0.0.1", 0).value());
    return work(url, argc > 2 ? argv[2] : "orders");
} catch (std::exception const& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
