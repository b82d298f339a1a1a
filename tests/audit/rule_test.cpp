// The table of rules, and its copy for people.
#include <sluice/audit/rule.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace sluice::audit {
namespace {

TEST(Rule, HasANameOfItsOwn)
{
    std::set<std::string_view> names;
    for (auto const& r : rules()) names.insert(r.name);
    EXPECT_EQ(names.size(), rule_count);
}

TEST(Rule, StandsInTheDocumentation)
{
    std::ifstream in{"docs/auditing.md"};
    std::stringstream text;
    text << in.rdbuf();
    auto const document = text.str();
    auto const table = document.substr(document.find("## The rules"));
    std::string expected;
    for (auto const& r : rules()) {
        expected += "| `";
        expected.append(r.name).append("` | ").append(r.section).append(" | ");
        expected.append(name(r.severity)).append(" | ").append(r.says).append(" |\n");
    }
    EXPECT_NE(table.find(expected), std::string::npos)
        << "docs/auditing.md should have these lines:\n"
        << expected;
}

}  // namespace
}  // namespace sluice::audit
