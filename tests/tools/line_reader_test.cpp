// Lines out of a pipe, however they are cut.
#include "tools/line_reader.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

namespace sluice::tools {
namespace {

struct test_pipe {
    test_pipe() { EXPECT_EQ(::pipe(ends), 0); }
    ~test_pipe()
    {
        ::close(ends[0]);
        finish();
    }
    void finish()
    {
        if (ends[1] >= 0)
            ::close(std::exchange(ends[1], -1));
    }
    void put(std::string_view text) const
    {
        ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<::ssize_t>(text.size()));
    }
    int ends[2];
};

TEST(LineReader, GivesLinesAndALastOneWithoutItsEnd)
{
    interrupt stop;
    test_pipe p;
    p.put("one\n\nthree\nla");
    p.put("st");
    p.finish();
    line_reader reader{p.ends[0], stop};
    std::vector<std::string> lines;
    std::string line;
    while (reader.next(line) == line_reader::result::line) lines.push_back(line);
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "three", "last"}));
    EXPECT_EQ(reader.next(line), line_reader::result::end);
}

TEST(LineReader, ReadsLinesThatAreLongerThanItsSteps)
{
    interrupt stop;
    test_pipe p;
    std::string const long_line(1 << 20, 'x');
    std::thread writer{[&] {
        p.put(long_line + "\nshort\n");
        p.finish();
    }};
    line_reader reader{p.ends[0], stop};
    std::string line;
    EXPECT_EQ(reader.next(line), line_reader::result::line);
    EXPECT_EQ(line, long_line);
    EXPECT_EQ(reader.next(line), line_reader::result::line);
    EXPECT_EQ(line, "short");
    writer.join();
}

TEST(LineReader, ComesBackFromAPipeThatSaysNothing)
{
    interrupt stop;
    test_pipe p;
    line_reader reader{p.ends[0], stop};
    std::string line;
    EXPECT_EQ(reader.next(line), line_reader::result::nothing_yet);
}

TEST(Interrupt, IsSeenByWhoWaitsAndByWhoAsksLater)
{
    interrupt stop;
    test_pipe p;
    test_pipe told;
    stop.on_request([&] { told.put("x"); });
    EXPECT_FALSE(stop.requested());
    ASSERT_EQ(std::raise(SIGTERM), 0);
    char c = 0;
    EXPECT_EQ(::read(told.ends[0], &c, 1), 1);
    EXPECT_TRUE(stop.requested());
    line_reader reader{p.ends[0], stop};
    std::string line;
    EXPECT_EQ(reader.next(line), line_reader::result::interrupted);
    stop.on_request([&] { told.put("y"); });
    EXPECT_EQ(::read(told.ends[0], &c, 1), 1);
    EXPECT_EQ(c, 'y');
}

}  // namespace
}  // namespace sluice::tools
