// Users of a server: salted keys instead of passwords, and what each may do. From a text file.
#pragma once

#include <sluice/net/sasl_scram.hpp>

#include <array>
#include <map>

namespace sluice::net {

enum class access : std::uint8_t { read, write, manage };

/// Addresses that something may be done with.
struct access_grant {
    access what = access::read;
    std::string pattern{};  ///< an address, or with '*' at its end all that begin so
};

struct SLUICE_EXPORT sasl_user {
    std::string name{};
    std::vector<scram_keys> keys{};  ///< one for each hash; none: by certificate only
    std::vector<access_grant> grants{};

    bool may(access what, std::string_view address) const noexcept;
    /// Some address at all.
    bool may_any(access what) const noexcept;
    scram_keys const* find(scram_hash hash) const noexcept;
};

/// The line of a file that says `u`, without its end.
SLUICE_EXPORT std::string sasl_user_line(sasl_user const& u);

/// Immutable once made, so safe to share between threads.
///
/// A file has a user a line: the name, keys as
/// `scram-sha-256=ITERATIONS:SALT:STORED-KEY:SERVER-KEY` (base64), and grants as `read=ADDRESS`,
/// `write=` and `manage=`, where '*' at the end stands for any ending. What is a blank, '%', or a
/// leading '#' or '@' in a name or address is written as % and two hexadecimal digits. Empty lines
/// and those that begin with '#' say nothing. docs/security.md has more.
class SLUICE_EXPORT sasl_users {
public:
    /// @param name of where `text` comes from, for the fault
    /// @returns error::invalid_argument; `fault`, if given, names file and line, and no key.
    static result<sasl_users> parse(std::string_view text, std::string_view name,
                                    std::string* fault = nullptr);
    /// The same from a file. @returns also what the system says of reading it
    static result<sasl_users> read(std::string const& file, std::string* fault = nullptr);

    std::size_t size() const noexcept { return users_.size(); }
    /// Null if there is none.
    sasl_user const* find(std::string_view name) const noexcept;
    auto begin() const noexcept { return users_.begin(); }
    auto end() const noexcept { return users_.end(); }

    /// Whether users who have a password have keys for `hash`: then it may be offered.
    bool offers(scram_hash hash) const noexcept;
    /// The keys of that user. For one who is not there, or has none, keys that nobody knows the
    /// password of and that stay the same as long as the file does, so that asking tells nobody
    /// who is there. @param known whether they are real
    scram_keys keys_of(std::string_view name, scram_hash hash, bool& known) const;
    /// PLAIN: computes for milliseconds, whoever it is.
    bool check(std::string_view name, std::string_view password) const;

private:
    sasl_users() = default;

    std::map<std::string, sasl_user, std::less<>> users_;
    std::vector<std::uint32_t> iterations_;  // that users have
    std::array<bool, 3> offered_{};
    bytes seed_;
};

}  // namespace sluice::net
