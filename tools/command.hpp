// A subcommand of `sluice`: one file that defines `add_...`, and one line in main.cpp.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <functional>

namespace sluice::tools {

/// What the chosen subcommand does once the command line is read; its result is the exit status.
using action = std::function<int()>;

/// Adds a subcommand to `program`. Its callback, which the command line's parser calls if it was
/// chosen, sets `chosen`.
using add_command = void(CLI::App& program, action& chosen);

add_command add_audit;
/// A check of numbers above 0 that says so in words.
inline CLI::Validator const& above_zero()
{
    static CLI::Validator const check{[](std::string& text) {
                                          double n = 0;
                                          return CLI::detail::lexical_cast(text, n) && n > 0
                                                     ? std::string{}
                                                     : "'" + text + "' is no number above 0";
                                      },
                                      "", "above_zero"};
    return check;
}

add_command add_node;
add_command add_bench;
add_command add_channel;
add_command add_passwd;
add_command add_recv;
add_command add_send;

}  // namespace sluice::tools
