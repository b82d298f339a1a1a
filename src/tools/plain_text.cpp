// Leaves the number of a code out.
#include "tools/plain_text.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <system_error>

namespace sluice::tools {
namespace {

/// "std:sluice:41", "system:24", "asio.ssl:1", and the same with " at FILE:LINE" behind.
bool is_code(std::string_view text)
{
    text = text.substr(0, text.find(" at "));
    auto const colon = text.rfind(':');
    if (colon == text.npos)
        return false;
    auto const name = text.substr(0, colon);
    auto const number = text.substr(colon + 1);
    auto const is = [](auto test) {
        return [test](char c) { return test(static_cast<unsigned char>(c)) != 0; };
    };
    return !name.empty() && std::count(name.begin(), name.end(), ':') <= 1 && !number.empty()
           && std::isalpha(static_cast<unsigned char>(name.front())) != 0
           && std::all_of(number.begin() + (number.front() == '-' ? 1 : 0), number.end(),
                          is([](int c) { return std::isdigit(c); }))
           && std::none_of(name.begin(), name.end(), is([](int c) { return std::isspace(c); }));
}

bool is_of_files(std::exception const& e)
{
    auto const is = [](std::error_code const& code) {
        return code == std::errc::too_many_files_open
               || code == std::errc::too_many_files_open_in_system;
    };
    if (auto const* const b = dynamic_cast<boost::system::system_error const*>(&e))
        return is(b->code());
    auto const* const s = dynamic_cast<std::system_error const*>(&e);
    return s && is(s->code());
}

}  // namespace

std::string plain_text(std::exception const& e)
{
    std::string text = e.what();
    if (text.ends_with(']'))
        if (auto const begin = text.rfind(" [");
            begin != text.npos
            && is_code(std::string_view{text}.substr(begin + 2, text.size() - begin - 3)))
            text.resize(begin);
    if (is_of_files(e))
        text = "too many open files: raise their limit (`ulimit -n N`), or have fewer connections ("
               + text + ")";
    return text;
}

}  // namespace sluice::tools
