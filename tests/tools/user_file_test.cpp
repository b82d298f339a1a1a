// The file of users as `sluice passwd` changes it.
#include "tools/user_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace sluice::tools {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct folder {
    std::string path = testing::TempDir() + "sluice-user-file-" + std::to_string(::getpid());
    folder() { std::filesystem::create_directory(path); }
    ~folder() { std::filesystem::remove_all(path); }
};

std::string content(std::string const& path)
{
    std::ifstream in{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

TEST(UserFile, ALineIsReplacedAndTheOthersStayAsTheyAre)
{
    std::string const text = "# us\n\nada read=*\n# bob is next\nbob write=* \nadam\n";
    EXPECT_EQ(with_user(text, {.name = "ada", .keys = {}, .grants = {}}),
              "# us\n\nada\n# bob is next\nbob write=* \nadam\n");
    EXPECT_EQ(with_user(text, {.name = "eve", .keys = {}, .grants = {}}), text + "eve\n");
    EXPECT_EQ(with_user("ada", {.name = "a da", .keys = {}, .grants = {}}), "ada\na%20da\n");
    EXPECT_EQ(without_user(text, "bob"), "# us\n\nada read=*\n# bob is next\nadam\n");
    EXPECT_EQ(without_user(text, "bo"), std::nullopt);
    EXPECT_EQ(without_user(text, "# us"), std::nullopt);
}

TEST(UserFile, ANewOneHasASeedAndIsReadBack)
{
    auto const text = with_user(new_user_file(), {.name = "ada",
                                                  .keys = keys_of_password("lovelace", 4'096),
                                                  .grants = {{net::access::read, "*"}}});
    EXPECT_THAT(text, HasSubstr("\n@seed "));
    EXPECT_NE(new_user_file(), new_user_file());
    auto const users = net::sasl_users::parse(text, "f");
    ASSERT_TRUE(users);
    EXPECT_TRUE(users->check("ada", "lovelace"));
    EXPECT_TRUE(users->offers(net::scram_hash::sha256));
    EXPECT_TRUE(users->offers(net::scram_hash::sha512));
}

TEST(UserFile, SaltsAreNewEachTime)
{
    EXPECT_NE(keys_of_password("a", 4'096)[0].salt, keys_of_password("a", 4'096)[0].salt);
}

TEST(UserFile, PasswordsThatCannotBeKeptAreRefusedWithoutRepeatingThem)
{
    for (auto const* const password : {"", "p\xc3\xa4ssword", "tab\t"}) {
        try {
            std::ignore = keys_of_password(password, 4'096);
            ADD_FAILURE() << "it was taken";
        } catch (std::invalid_argument const& e) {
            EXPECT_EQ(std::string{e.what()}.find("ssword is"), std::string::npos);
        }
    }
}

TEST(UserFile, IsReplacedInOneStepAndForItsOwnerOnly)
{
    folder const f;
    auto const path = f.path + "/users";
    {
        user_file file{path, true};
        EXPECT_TRUE(file.is_new());
        file.write(with_user(file.text(), {.name = "ada", .keys = {}, .grants = {}}));
    }
    EXPECT_FALSE(is_open_to_others(path));
    std::filesystem::permissions(path, std::filesystem::perms::all);
    EXPECT_TRUE(is_open_to_others(path));
    auto const link = f.path + "/link";
    std::filesystem::create_symlink(path, link);
    {
        user_file file{link, false};
        EXPECT_EQ(file.users().size(), 1u);
        std::ifstream reader{path};  // who has it open reads the old one to its end
        file.write("bob\n");
        EXPECT_THAT((std::string{std::istreambuf_iterator<char>{reader}, {}}), HasSubstr("ada"));
    }
    EXPECT_EQ(content(path), "bob\n");
    EXPECT_FALSE(is_open_to_others(path));
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator{f.path}, {}), 2)
        << "nothing is left";
}

TEST(UserFile, SaysWhatCannotBeReadOrWritten)
{
    folder const f;
    EXPECT_THROW(user_file(f.path + "/users", false), std::system_error);
    EXPECT_THROW(user_file(f.path + "/none/users", true), std::system_error);
    std::filesystem::create_directory(f.path + "/folder");
    for (int i = 0; i < 2; ++i)  // the second would wait for ever for a lock that stayed
        try {
            user_file const of_a_folder{f.path + "/folder", true};
            ADD_FAILURE() << "it was read";
        } catch (std::system_error const& e) {
            EXPECT_EQ(e.code(), std::errc::is_a_directory);
            EXPECT_THAT(e.what(), StartsWith("cannot read "));
        }
    auto const path = f.path + "/users";
    std::ofstream{path} << "ada nonsense\n";
    user_file const file{path, true};
    try {
        std::ignore = file.users();
        ADD_FAILURE() << "it was taken";
    } catch (std::invalid_argument const& e) {
        EXPECT_THAT(e.what(), StartsWith(std::filesystem::canonical(path).string() + ", line 1: "));
    }
}

TEST(UserFile, WhatIsNoRegularFileIsNeitherReadNorReplaced)
{
    folder const f;
    auto const pipe = f.path + "/pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    auto const large = f.path + "/large";
    std::ofstream{large} << "ada\n";
    std::filesystem::resize_file(large, (std::uintmax_t{64} << 20) + 1);
    for (auto const& [path, says] : {std::pair{pipe, "no regular file"}, std::pair{large, "64 MiB"},
                                     std::pair{std::string{"/dev/zero"}, "no regular file"}})
        try {
            user_file const file{path, true};
            ADD_FAILURE() << path << " was read";
        } catch (std::invalid_argument const& e) {
            EXPECT_THAT(e.what(), HasSubstr(says));
        }
    EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(UserFile, ALinkToAFileThatIsNotThereYetStaysOne)
{
    folder const f;
    std::filesystem::create_symlink("users", f.path + "/link");
    {
        user_file file{f.path + "/link", true};
        EXPECT_TRUE(file.is_new());
        file.write("ada\n");
    }
    EXPECT_TRUE(std::filesystem::is_symlink(f.path + "/link"));
    EXPECT_EQ(content(f.path + "/users"), "ada\n");
}

}  // namespace
}  // namespace sluice::tools
