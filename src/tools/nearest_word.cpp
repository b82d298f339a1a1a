// Optimal string alignment, row by row.
#include "tools/nearest_word.hpp"

#include <algorithm>
#include <utility>

namespace sluice::tools {
namespace {

std::size_t distance(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::swap(before, last);
        std::swap(last, row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min(
                {last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
    }
    return row.back();
}

}  // namespace

std::string nearest_word(std::string_view typed, std::vector<std::string> const& words)
{
    auto least = std::min<std::size_t>(2, typed.size() / 2);
    std::string out;
    for (auto const& word : words) {
        auto const far = distance(typed, word);
        if (far < least || (far == least && out.empty())) {
            least = far;
            out = word;
        }
    }
    return out;
}

}  // namespace sluice::tools
