// Where the lines of a command go: results, remarks, and one live line on a terminal.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace sluice::tools {

/// What a command writes, line by line; without the line's end.
class line_output {
public:
    line_output() = default;
    line_output(line_output const&) = delete;
    line_output& operator=(line_output const&) = delete;
    virtual ~line_output() = default;

    virtual void result(std::string line) = 0;  ///< what the command is run for
    virtual void note(std::string line) = 0;    ///< what a person may want to know beside it
    virtual void live(std::string line) = 0;    ///< replaces the one before; nothing if piped
};

/// Standard output and standard error, written by a thread of its own, so that whoever produces
/// lines never waits for a pipe or a stopped terminal.
///
/// At most `lines_max` lines wait. What happens to one more is the caller's choice: a relay that
/// must not stall drops it, and the number of those is told at the end; a reader of files waits.
/// Thread-safe.
class terminal final : public line_output {
public:
    enum class when_full : std::uint8_t { drop, wait };
    static constexpr std::size_t lines_max = 10'000;

    terminal(std::FILE* results, std::FILE* notes, when_full full);
    ~terminal() override;  ///< writes what waits

    void result(std::string line) override { push({std::move(line), kind::result}); }
    void note(std::string line) override { push({std::move(line), kind::note}); }
    void live(std::string line) override;

private:
    enum class kind : std::uint8_t { result, note, live };
    struct entry {
        std::string text;
        kind is;
    };

    void push(entry e);
    void run();
    void write(entry const& e);
    void clear_live();

    std::FILE* results_;
    std::FILE* notes_;
    when_full full_;
    bool is_terminal_;
    bool live_shown_ = false;  // of the thread
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<entry> waiting_;
    std::uint64_t dropped_ = 0;
    bool ending_ = false;
    std::thread thread_;
};

}  // namespace sluice::tools
