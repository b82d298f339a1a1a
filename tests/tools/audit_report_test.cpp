// What `sluice audit` prints, and how it ends.
#include "support/audit_conversation.hpp"
#include "support/recorded_lines.hpp"
#include "tools/audit_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::tools {
namespace {

using audit::testing::conversation;
using test::recorded_lines;
using ::testing::HasSubstr;
using ::testing::Not;

struct rig {
    recorded_lines out;
    audit_report report;

    explicit rig(audit_report_options o = {}) : report{out, o} {}

    /// One connection from its start to its end.
    void run(std::vector<audit::testing::piece> const& pieces, std::string how = "closed")
    {
        auto c = report.begin("10.0.0.1:40000", "10.0.0.2:5672");
        audit::checker checker;
        for (auto const& p : pieces) {
            checker.feed(p.way, p.octets, std::chrono::milliseconds{1250});
            report.collect(*c, checker);
        }
        checker.finish();
        report.end(std::move(c), checker, std::move(how));
    }
};

TEST(AuditReport, PrintsAFindingAsItComesWithItsConnection)
{
    rig r;
    r.run(conversation(1));
    EXPECT_EQ(r.out.results(), "");
    r.run(conversation(0));
    EXPECT_EQ(r.out.results(),
              std::string{"#2 1.250000 "} + audit::testing::stale_flow_finding + "\n");
    EXPECT_EQ(r.report.status(), audit_status::findings);
}

TEST(AuditReport, PrintsOneJsonObjectAFindingAndTablesAsRemarks)
{
    rig r{{.json = true, .shown_max = 0}};
    r.run(conversation(0));
    EXPECT_THAT(r.out.results(),
                ::testing::StartsWith(
                    R"({"connection":1,"client":"10.0.0.1:40000","server":"10.0.0.2:5672",)"
                    R"("time":1.250000,"direction":"client->server","frame":7,)"));
    auto const before = r.out.results();
    r.report.summary("title");
    EXPECT_EQ(r.out.results(), before);
    EXPECT_THAT(r.out.notes(), HasSubstr("FINDINGS: 1 violation, 0 suspicious; 1 connection"));
}

TEST(AuditReport, TellsWhoTheEndsAreAndWhichRulesWereBroken)
{
    rig r;
    r.run(conversation(0));
    r.report.summary("the title");
    auto const text = r.out.results();
    EXPECT_THAT(text, HasSubstr("\nthe title\n"));
    EXPECT_THAT(text, HasSubstr("client 'the client'; server 'the server'"));
    EXPECT_THAT(text, ::testing::ContainsRegex(
                          "#1 +10.0.0.1:40000 +10.0.0.2:5672 +9 +6 +3 +0 +1 +0 +0  closed\n"));
    EXPECT_THAT(text, ::testing::ContainsRegex("next-outgoing-id +2.5.6 +violation +client->server "
                                               "+1  #1 frame 7\n"));
}

TEST(AuditReport, PrintsSoManyOfOneRuleAndCountsTheOthers)
{
    rig r{{.shown_max = 2}};
    auto pieces = conversation(0);
    auto const flow = pieces[12];
    pieces.insert(pieces.begin() + 12, 4, flow);
    r.run(pieces);
    EXPECT_THAT(r.out.results(), HasSubstr(" frame 8 "));
    EXPECT_THAT(r.out.results(), Not(HasSubstr(" frame 9 ")));
    EXPECT_THAT(r.out.notes(), HasSubstr("#1 further findings of next-outgoing-id"));
    r.report.summary("");
    EXPECT_THAT(r.out.results(), HasSubstr("5 violations"));
    EXPECT_THAT(r.out.results(), HasSubstr("3 findings not printed"));
}

TEST(AuditReport, KeepsTheRowsOfConnectionsWithFindings)
{
    rig r{{.rows_max = 2}};
    for (int i = 0; i != 3; ++i) r.run(conversation(1));
    r.run(conversation(0));
    r.run(conversation(1));
    r.report.summary("");
    auto const text = r.out.results();
    EXPECT_THAT(text, HasSubstr("\n#4 "));
    EXPECT_THAT(text, Not(HasSubstr("\n#5 ")));
    EXPECT_THAT(text, HasSubstr("and 3 connections more"));
}

TEST(AuditReport, IsCleanOnlyIfSomethingWasChecked)
{
    rig nothing;
    EXPECT_EQ(nothing.report.status(), audit_status::could_not_run);
    nothing.report.summary("");
    EXPECT_THAT(nothing.out.results(), HasSubstr("NOT CHECKED: 0 violations"));

    rig clean;
    clean.run(conversation(1));
    EXPECT_EQ(clean.report.status(), audit_status::clean);
    clean.report.remark("by the way");
    EXPECT_EQ(clean.report.status(), audit_status::clean);
    clean.report.failure("a connection was refused");
    EXPECT_EQ(clean.report.status(), audit_status::could_not_run);
    clean.report.summary("");
    EXPECT_THAT(clean.out.results(), HasSubstr("by the way\na connection was refused\n"));
}

}  // namespace
}  // namespace sluice::tools
