// JSON as text, written piece by piece: what a machine reads of the commands' output.
#pragma once

#include <sluice/codec/types.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::tools {

/// Octets of the UTF-8 character at the start of `text`; 0 if it is none. @pre not empty
std::size_t utf8_character(std::string_view text) noexcept;
bool is_utf8(std::string_view text) noexcept;

/// Appends a JSON string. What is no UTF-8 becomes U+FFFD.
void append_json(std::string& to, std::string_view text);
/// The shortest number that reads back as the same; "NaN", "Infinity" and "-Infinity" as strings,
/// for JSON has no such numbers.
void append_json(std::string& to, double number);

std::string base64(bytes_view octets);

/// A JSON object on one line, its members in the order in which they are added.
///
///     json_object{}.add("sent", std::uint64_t{5}).add("to", "q").text()   // {"sent":5,"to":"q"}
class json_object {
public:
    json_object& add(std::string_view name, std::string_view text);
    json_object& add(std::string_view name, char const* text)
    {
        return add(name, std::string_view{text});
    }
    json_object& add(std::string_view name, bool yes)
    {
        return add_json(name, yes ? "true" : "false");
    }
    json_object& add(std::string_view name, std::uint64_t number)
    {
        return add_json(name, std::to_string(number));
    }
    json_object& add(std::string_view name, std::int64_t number)
    {
        return add_json(name, std::to_string(number));
    }
    json_object& add(std::string_view name, double number);
    /// A member whose value is JSON already.
    json_object& add_json(std::string_view name, std::string_view json);

    bool empty() const noexcept { return text_.size() == 1; }
    std::string text() const { return text_ + '}'; }

private:
    std::string text_ = "{";
};

}  // namespace sluice::tools
