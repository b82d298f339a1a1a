// A node for scripts: prints its port, and serves until its standard input ends.
#include <sluice/node/node.hpp>

#include <cstdio>

int main()
{
    sluice::node::node node;
    std::string fault;
    auto const port = node.listen("127.0.0.1", 0, &fault);
    if (!port) {
        std::fprintf(stderr, "%s\n", fault.c_str());
        return 1;
    }
    std::printf("%u\n", static_cast<unsigned>(*port));
    std::fflush(stdout);
    while (std::getchar() != EOF) {}
    node.stop();
    return 0;
}
