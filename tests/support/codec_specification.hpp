// Reads the machine-readable standard (Debian package amqp-specs): types, fields, encodings.
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace sluice::test {

/// An XML element without its content: what the standard says, it says in attributes.
struct codec_xml_element {
    std::string tag;
    std::map<std::string, std::string> attributes;

    std::string operator[](std::string const& name) const
    {
        auto const found = attributes.find(name);
        return found == attributes.end() ? std::string{} : found->second;
    }
};

/// All opening elements of the text, in order. Enough XML for these files: attributes in double
/// quotes, comments, no entities.
inline std::vector<codec_xml_element> codec_xml_elements(std::string const& text)
{
    std::vector<codec_xml_element> elements;
    for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at)) {
        if (text.compare(at, 4, "<!--") == 0) {
            at = text.find("-->", at);
            continue;
        }
        auto const end = text.find('>', at);
        codec_xml_element element;
        auto const name_end = text.find_first_of(" \t\n/>", at + 1);
        element.tag = text.substr(at + 1, name_end - at - 1);
        for (auto from = name_end; from < end;) {
            auto const equals = text.find('=', from);
            if (equals == std::string::npos || equals > end)
                break;
            auto const name_begin = text.find_last_of(" \t\n", equals) + 1;
            auto const closing = text.find('"', equals + 2);
            element.attributes[text.substr(name_begin, equals - name_begin)] =
                text.substr(equals + 2, closing - equals - 2);
            from = closing + 1;
        }
        elements.push_back(std::move(element));
        at = end;
    }
    return elements;
}

struct codec_specified_type {
    std::string name;
    std::string type_class;  // primitive, restricted, composite
    std::string source;
    std::string descriptor_name;
    std::uint64_t descriptor = 0;
    std::vector<codec_xml_element> fields;
    std::vector<codec_xml_element> encodings;
    std::map<std::string, std::string> choices;  // value by name
};

/// "0x00000000:0x00000010"
inline std::uint64_t codec_descriptor_code(std::string const& text)
{
    auto const colon = text.find(':');
    auto const high = std::stoull(text.substr(0, colon), nullptr, 16);
    return high << 32 | std::stoull(text.substr(colon + 1), nullptr, 16);
}

/// All types of the standard; empty if the package is not installed.
inline std::vector<codec_specified_type> codec_read_specification()
{
    std::vector<codec_specified_type> types;
    for (auto const* const part : {"types", "transport", "messaging", "transactions", "security"}) {
        std::ifstream file{"/usr/share/amqp/specs/1-0/" + std::string{part} + ".bare.xml"};
        std::ostringstream text;
        text << file.rdbuf();
        for (auto const& element : codec_xml_elements(text.str())) {
            if (element.tag == "type") {
                types.push_back({.name = element["name"],
                                 .type_class = element["class"],
                                 .source = element["source"],
                                 .descriptor_name = {},
                                 .descriptor = 0,
                                 .fields = {},
                                 .encodings = {},
                                 .choices = {}});
            } else if (element.tag == "descriptor") {
                types.back().descriptor_name = element["name"];
                types.back().descriptor = codec_descriptor_code(element["code"]);
            } else if (element.tag == "field") {
                types.back().fields.push_back(element);
            } else if (element.tag == "encoding") {
                types.back().encodings.push_back(element);
            } else if (element.tag == "choice") {
                types.back().choices[element["name"]] = element["value"];
            }
        }
    }
    return types;
}

}  // namespace sluice::test
