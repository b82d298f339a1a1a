// How many, how fast, how long still.
#include "tools/progress.hpp"

#include <fmt/format.h>

namespace sluice::tools {

using namespace std::chrono_literals;

std::string grouped(std::uint64_t number)
{
    auto digits = std::to_string(number);
    for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3)
        digits.insert(static_cast<std::size_t>(i), ",");
    return digits;
}

std::string counted(std::uint64_t number, std::string_view noun)
{
    return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::string duration_text(std::chrono::duration<double> d)
{
    if (d < 1s)
        return fmt::format("{:.0f} ms", d.count() * 1000);
    if (d < 60s)
        return fmt::format("{:.1f} s", d.count());
    auto const seconds = static_cast<std::uint64_t>(d.count());
    if (seconds < 3600)
        return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
    return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

void progress::show(std::uint64_t count, clock::time_point now)
{
    if (drawn_ && now - *drawn_ < 100ms)
        return;
    to_->live(line(count, now));
}

std::string progress::line(std::uint64_t count, clock::time_point now)
{
    if (!drawn_) {
        since_ = now;
        count_then_ = count;
    } else if (std::chrono::duration<double> const passed = now - since_; passed >= 1s) {
        auto const latest = static_cast<double>(count - count_then_) / passed.count();
        rate_ = rate_ == 0 ? latest : 0.5 * (rate_ + latest);
        since_ = now;
        count_then_ = count;
    }
    drawn_ = now;
    auto text = fmt::format("{} {}", verb_, grouped(count));
    if (total_)
        text += fmt::format(" of {}", grouped(*total_));
    if (!unit_.empty())
        text += ' ' + unit_;
    if (rate_ > 0)
        text += fmt::format(", {}/s", grouped(static_cast<std::uint64_t>(rate_)));
    if (total_ && rate_ > 0 && *total_ > count)
        text += fmt::format(", {} left", duration_text(std::chrono::duration<double>{
                                             static_cast<double>(*total_ - count) / rate_}));
    return text;
}

}  // namespace sluice::tools
