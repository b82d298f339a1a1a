// Lines through a thread of their own.
#include "tools/terminal.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

namespace sluice::tools {
namespace {

struct closer {
    void operator()(std::FILE* f) const noexcept { std::fclose(f); }
};
using file = std::unique_ptr<std::FILE, closer>;

std::string content(std::FILE* f)
{
    std::rewind(f);
    std::string out;
    for (int c; (c = std::fgetc(f)) != EOF;) out += static_cast<char>(c);
    return out;
}

TEST(Terminal, WritesResultsAndNotesApartAndEverythingBeforeItGoes)
{
    file const results{std::tmpfile()};
    file const notes{std::tmpfile()};
    std::string expected;
    {
        terminal t{results.get(), notes.get(), terminal::when_full::wait};
        t.note("a note");
        t.live("nobody sees this in a file");
        // More than may wait, so that this thread waits for the other.
        for (std::size_t i = 0; i != terminal::lines_max * 3; ++i) {
            t.result(std::to_string(i));
            expected += std::to_string(i) + "\n";
        }
    }
    EXPECT_EQ(content(results.get()), expected);
    EXPECT_EQ(content(notes.get()), "a note\n");
}

TEST(Terminal, DropsWhatAPipeThatNobodyReadsCannotTakeAndCountsIt)
{
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    file pipe{::fdopen(ends[1], "w")};
    file const reader{::fdopen(ends[0], "r")};
    file const notes{std::tmpfile()};
    // A pipe holds 64 KiB: with 1 KiB a line, most lines neither go out nor find room.
    auto t = std::make_unique<terminal>(pipe.get(), notes.get(), terminal::when_full::drop);
    std::size_t const lines = terminal::lines_max * 3;
    for (std::size_t i = 0; i != lines; ++i) t->result(std::string(1023, 'x'));
    std::thread ends_after_all{[&] { t.reset(); }};  // waits for us to read
    std::thread reads{[&] {
        while (std::fgetc(reader.get()) != EOF) {}
    }};
    ends_after_all.join();
    pipe.reset();  // the end, for the reader
    reads.join();
    auto const text = content(notes.get());
    EXPECT_NE(text.find("lines were not printed, for the output did not take them in time"),
              std::string::npos)
        << text;
    auto const dropped = std::stoul(text);
    EXPECT_GT(dropped, 0u);
    EXPECT_LE(dropped, lines - terminal::lines_max);
}

}  // namespace
}  // namespace sluice::tools
