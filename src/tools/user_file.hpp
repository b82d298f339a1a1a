// The file of a node's users, as `sluice passwd` changes it.
#pragma once

#include <sluice/net/sasl_users.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace sluice::tools {

/// What a file without users begins with: a comment, and the seed that keeps the answers to
/// unknown users the same whatever else changes.
std::string new_user_file();
/// `text` with this user's line instead of the one that it has, or at the end; all other lines stay
/// as they are.
std::string with_user(std::string_view text, net::sasl_user const& u);
/// `text` without the line; nothing if there is none.
std::optional<std::string> without_user(std::string_view text, std::string_view name);
/// Keys of both hashes, each with a salt of its own.
/// @throws std::invalid_argument if the password is empty or not ASCII, saying what to do
std::vector<net::scram_keys> keys_of_password(std::string_view password, std::uint32_t iterations);

/// Holds a lock against others who change the file, from reading to writing.
class user_file {
public:
    /// @param may_be_new a file that is not there is an empty one
    /// @throws std::system_error that says what could not be done with which file
    user_file(std::string path, bool may_be_new);
    ~user_file();
    user_file(user_file const&) = delete;
    user_file& operator=(user_file const&) = delete;

    bool is_new() const noexcept { return is_new_; }
    std::string const& text() const noexcept { return text_; }
    /// The users of text(). @throws std::invalid_argument that names file and line
    net::sasl_users users() const;
    /// Replaces the file in one step: who reads it sees the old one or the new one. Only its owner
    /// may read it (mode 0600).
    void write(std::string_view text);

private:
    std::string path_;
    std::string folder_;
    std::string text_;
    int lock_ = -1;
    bool is_new_ = false;
};

/// Others than its owner may read the file or write it.
bool is_open_to_others(std::string const& path) noexcept;

}  // namespace sluice::tools
