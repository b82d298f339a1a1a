// What an exception of a call says.
#include <sluice/net/error.hpp>

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

std::string said(error e, std::string const& text)
{
    try {
        throw_error(make_error_code(e), text);
    } catch (boost::system::system_error const& x) {
        EXPECT_EQ(x.code(), e);
        return x.what();
    }
}

TEST(ThrowError, SaysTheCodesTextBehindOneThatDoesNotSayWhatToDo)
{
    EXPECT_EQ(said(error::timed_out, "receive from 'q'").find("receive from 'q': no answer came"),
              0U);
    EXPECT_EQ(said(error::timed_out, "").find("no answer came"), 0U);
}

TEST(ThrowError, GivesItsAdviceOnce)
{
    auto const text = "cannot connect to h:1 (refused); check that a peer listens there";
    EXPECT_EQ(said(error::connect_failed, text), std::string{text} + " [sluice:72]");
}

}  // namespace
}  // namespace sluice::net
