// Messages that can be told apart and checked: run, number, size, and content that follows from the
// number.
#pragma once

#include <sluice/client/client.hpp>
#include <sluice/codec/message_writer.hpp>

#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

namespace interop {

/// At the start of each body, in the byte order of this machine: nobody else reads it.
struct stamp {
    std::uint64_t run = 0;     ///< tells what another run left in the queue
    std::uint64_t number = 0;  ///< from 0, each once a run
    std::uint64_t size = 0;    ///< octets of the body, this included
};

inline std::byte content_at(std::uint64_t number, std::size_t i) noexcept
{
    return static_cast<std::byte>((number * 31 + i) & 0xff);
}

/// Octets [from, from + count) of the body of a message.
inline void fill(stamp const& s, std::size_t from, std::size_t count, sluice::bytes& to)
{
    to.resize(count);
    std::byte head[sizeof(stamp)];
    std::memcpy(head, &s, sizeof s);
    for (std::size_t i = 0; i < count; ++i) {
        auto const at = from + i;
        to[i] = at < sizeof head ? head[at] : content_at(s.number, at);
    }
}

inline sluice::client::encoded_message make_message(stamp const& s)
{
    sluice::bytes body;
    fill(s, 0, static_cast<std::size_t>(s.size), body);
    sluice::client::encoded_message m;
    m.octets.reserve(body.size() + 16);
    sluice::message_writer{m.octets}.data(sluice::bytes_view{body});
    return m;
}

enum class verdict : std::uint8_t { intact, damaged, foreign };

/// Reads a body back. @param scratch memory that is used again
inline verdict check_message(sluice::message_view const& m, std::uint64_t run, stamp& out,
                             sluice::bytes& scratch)
{
    scratch.clear();
    m.append_data(scratch);
    if (scratch.size() < sizeof(stamp))
        return verdict::foreign;
    std::memcpy(&out, scratch.data(), sizeof out);
    if (out.run != run)
        return verdict::foreign;
    if (out.size != scratch.size())
        return verdict::damaged;
    for (std::size_t i = sizeof(stamp); i < scratch.size(); ++i)
        if (scratch[i] != content_at(out.number, i))
            return verdict::damaged;
    return verdict::intact;
}

/// Which numbers have come, from any thread.
class bitmap {
public:
    /// @returns false if this number came before.
    bool mark(std::uint64_t number)
    {
        std::lock_guard const lock{mutex_};
        if (number >= seen_.size())
            seen_.resize(static_cast<std::size_t>(number) * 2 + 1024);
        if (seen_[static_cast<std::size_t>(number)])
            return false;
        seen_[static_cast<std::size_t>(number)] = true;
        return true;
    }

private:
    std::mutex mutex_;
    std::vector<bool> seen_;
};

}  // namespace interop
