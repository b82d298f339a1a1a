// Other processes of a test: forked before this one has threads, told by pipes, killed at will.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

namespace sluice::channels {

/// The child's ends of two pipes.
struct child_pipes {
    int in = -1;
    int out = -1;

    void say(std::uint32_t what) const
    {
        if (::write(out, &what, sizeof what) != sizeof what)
            ::_exit(3);
    }
    /// Waits. @returns false if the parent is gone
    bool hear(std::uint32_t& what) const { return ::read(in, &what, sizeof what) == sizeof what; }
};

/// @pre made while this process has one thread
class child_process {
public:
    explicit child_process(std::function<void(child_pipes)> const& role)
    {
        int down[2];
        int up[2];
        if (::pipe(down) != 0 || ::pipe(up) != 0)
            throw std::runtime_error{"no pipe"};
        pid_ = ::fork();
        if (pid_ < 0)
            throw std::runtime_error{"no process"};
        if (pid_ != 0) {
            ::close(down[0]);
            ::close(up[1]);
            to_ = down[1];
            from_ = up[0];
            return;
        }
        ::close(down[1]);
        ::close(up[0]);
        auto status = 0;
        try {
            role({down[0], up[1]});
        } catch (std::exception const& e) {
            std::fprintf(stderr, "child: %s\n", e.what());
            status = 2;
        }
        ::_exit(status);
    }
    child_process(child_process&& other) noexcept
        : pid_{std::exchange(other.pid_, 0)},
          to_{std::exchange(other.to_, -1)},
          from_{std::exchange(other.from_, -1)}
    {
    }
    child_process& operator=(child_process&& other) noexcept
    {
        std::swap(pid_, other.pid_);
        std::swap(to_, other.to_);
        std::swap(from_, other.from_);
        return *this;
    }
    ~child_process()
    {
        kill();
        if (to_ >= 0)
            ::close(to_);
        if (from_ >= 0)
            ::close(from_);
    }

    void say(std::uint32_t what) const
    {
        ASSERT_EQ(::write(to_, &what, sizeof what), static_cast<ssize_t>(sizeof what));
    }
    /// Waits. @returns false if it has ended
    bool hear(std::uint32_t& what) const
    {
        return ::read(from_, &what, sizeof what) == static_cast<ssize_t>(sizeof what);
    }
    std::uint32_t hear() const
    {
        std::uint32_t what = 0;
        EXPECT_TRUE(hear(what)) << "a child process ended early";
        return what;
    }
    int descriptor() const noexcept { return from_; }
    /// -9, and waits for its end.
    void kill()
    {
        if (pid_ == 0)
            return;
        ::kill(pid_, SIGKILL);
        wait();
    }
    /// @returns its exit status; -1 if it was killed
    int wait()
    {
        auto status = 0;
        if (pid_ != 0)
            ::waitpid(std::exchange(pid_, 0), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    pid_t pid_ = 0;
    int to_ = -1;
    int from_ = -1;
};

}  // namespace sluice::channels
