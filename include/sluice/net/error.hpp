// From the library's errors to those that Asio's completion tokens expect.
#pragma once

#include <sluice/error.hpp>
#include <sluice/export.hpp>

#include <boost/asio/error.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

namespace sluice::net {

using error_code = boost::system::error_code;

/// The same error in Boost's type; compares equal to the enumerator of `sluice::error`.
inline error_code to_boost(std::error_code code) noexcept { return code; }
inline error_code to_boost(sluice::error e) noexcept { return make_error_code(e); }

/// Throws `boost::system::system_error`, whose what() begins with `text` if that is not empty.
[[noreturn]] SLUICE_EXPORT void throw_error(std::error_code code, std::string const& text);

}  // namespace sluice::net
