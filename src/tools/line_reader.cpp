// Reading lines.
#include "tools/line_reader.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace sluice::tools {

bool line_reader::take(std::string& line)
{
    auto const end = buffer_.find('\n', std::max(at_, searched_));
    if (end == std::string::npos) {
        searched_ = buffer_.size();
        return false;
    }
    line.assign(buffer_, at_, end - at_);
    at_ = searched_ = end + 1;
    return true;
}

line_reader::result line_reader::next(std::string& line)
{
    constexpr std::size_t step = std::size_t{64} << 10;
    while (!take(line)) {
        if (stop_->requested())
            return result::interrupted;
        if (end_) {
            if (at_ == buffer_.size())
                return result::end;
            line.assign(buffer_, at_);
            at_ = buffer_.size();
            return result::line;
        }
        buffer_.erase(0, at_);
        searched_ -= at_;
        at_ = 0;
        if (buffer_.size() > line_max)
            throw std::runtime_error{
                "a line of more than " + std::to_string(line_max)
                + " octets; send it as a file instead: --file NAME, or --file -"};
        pollfd wait[] = {{descriptor_, POLLIN, 0}, {stop_->descriptor(), POLLIN, 0}};
        constexpr int patience_ms = 200;
        auto const ready = ::poll(wait, 2, patience_ms);
        if (ready == 0 || (ready < 0 && errno == EINTR))
            return result::nothing_yet;
        if (wait[1].revents != 0)
            continue;
        auto const size = buffer_.size();
        buffer_.resize(size + step);
        auto const got = ::read(descriptor_, buffer_.data() + size, step);
        buffer_.resize(size + static_cast<std::size_t>(std::max<::ssize_t>(got, 0)));
        if (got < 0 && errno != EINTR)
            throw std::system_error{errno, std::generic_category(), "cannot read standard input"};
        end_ = got == 0;
    }
    return result::line;
}

}  // namespace sluice::tools
