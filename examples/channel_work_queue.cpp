// A work queue: a worker that dies in the middle of a job loses nothing; the job goes to another
// one.
//
//     channel_work_queue [amqp://host]      without a URL: a node in this process
#include <sluice/channel/channel.hpp>
#include <sluice/client/client.hpp>
#include <sluice/node/node.hpp>

#include <boost/describe.hpp>

#include <iostream>

namespace client = sluice::client;

struct job {
    int id = 0;
    std::string what{};
};
BOOST_DESCRIBE_STRUCT(job, (), (id, what))

int main(int argc, char** argv)
{
    sluice::node::node node;
    auto const url =
        argc > 1 ? std::string{argv[1]}
                 : "amqp://127.0.0.1:" + std::to_string(node.listen("127.0.0.1", 0).value());
    sluice::channels::options const options{
        .capacity = 16, .tries_max = 3, .dead_letter = "bad-jobs"};
    client::container container;
    auto const connection = container.connect(url);
    auto const jobs = sluice::channel<job>::open(connection, "jobs", options);
    jobs.send({.id = 1, .what = "paint"});
    jobs.send({.id = 2, .what = "polish"});
    jobs.close();
    {
        auto const doomed = container.connect(url);
        auto const his = sluice::channel<job>::open(doomed, "jobs", options);
        auto const j = his.recv_ack();
        std::cout << "first worker has job " << (*j)->id << ", and dies\n";
        doomed.close({.condition = "amqp:internal-error", .description = "the worker died"});
    }
    while (auto j = jobs.recv_ack()) {  // ends when all is done, not when all is handed out
        std::cout << "second worker does job " << (*j)->id << ", " << (*j)->what
                  << " (tries before: " << j->tries() << ")\n";
        j->ack();
    }
    std::cout << "all done, " << jobs.size() << " left\n";
}
