// Files of settings, which are small: read whole, and never without end.
#pragma once

#include <sluice/result.hpp>

#include <cstddef>
#include <string>

namespace sluice::net::detail {

/// More is no file of users, certificates or keys.
inline constexpr std::size_t small_file_max = std::size_t{64} << 20;

/// What else than a regular file may be read: pipes are how a shell hands a secret over.
enum class file_kinds : bool { regular, pipes_too };

/// The content of `file`. A device, and what is larger than small_file_max, is refused; a pipe
/// waits for who writes it, where pipes may be.
/// @returns the system's error, std::errc::invalid_argument for what is no such file, or
/// std::errc::file_too_large; `fault` gets a sentence that names the file
result<std::string> read_small_file(std::string const& file, file_kinds kinds, std::string* fault);

}  // namespace sluice::net::detail
