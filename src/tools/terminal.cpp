// The thread that writes lines.
#include "tools/terminal.hpp"

#include "tools/standard_streams.hpp"

#include <unistd.h>

#include <utility>

namespace sluice::tools {

terminal::terminal(std::FILE* results, std::FILE* notes, when_full full)
    : results_{results},
      notes_{notes},
      full_{full},
      is_terminal_{::isatty(::fileno(notes)) == 1},
      thread_{[this] { run(); }}
{
}

terminal::~terminal()
{
    {
        std::lock_guard const lock{mutex_};
        ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
    clear_live();
    if (dropped_ != 0)
        write({std::to_string(dropped_)
                   + " lines were not printed, for the output did not take them in time",
               kind::note});
    flush_stream(results_);
    flush_stream(notes_);
}

void terminal::live(std::string line)
{
    if (!is_terminal_)
        return;
    {
        std::lock_guard const lock{mutex_};
        if (!waiting_.empty())  // whoever reads is behind already
            return;
    }
    push({std::move(line), kind::live});
}

void terminal::push(entry e)
{
    std::unique_lock lock{mutex_};
    if (waiting_.size() >= lines_max) {
        if (full_ == when_full::drop) {
            ++dropped_;
            return;
        }
        changed_.wait(lock, [this] { return waiting_.size() < lines_max; });
    }
    waiting_.push_back(std::move(e));
    lock.unlock();
    changed_.notify_all();
}

void terminal::run()
{
    std::unique_lock lock{mutex_};
    for (;;) {
        changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
        if (waiting_.empty())
            return;
        auto const batch = std::exchange(waiting_, {});
        lock.unlock();
        changed_.notify_all();
        for (auto const& e : batch) write(e);
        flush_stream(results_);
        flush_stream(notes_);
        lock.lock();
    }
}

void terminal::write(entry const& e)
{
    clear_live();
    if (e.is == kind::live) {
        std::fputs(e.text.c_str(), notes_);
        live_shown_ = true;
        return;
    }
    auto* const to = e.is == kind::result ? results_ : notes_;
    std::fwrite(e.text.data(), 1, e.text.size(), to);
    std::fputc('\n', to);
}

void terminal::clear_live()
{
    if (std::exchange(live_shown_, false))
        std::fputs("\r\x1b[K", notes_);
}

}  // namespace sluice::tools
