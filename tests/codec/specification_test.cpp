// The lists of fields against the machine-readable standard (Debian package amqp-specs).
#include "support/codec_hex.hpp"
#include "support/codec_specification.hpp"

#include <sluice/codec/codec.hpp>
#include <sluice/codec/fields.hpp>

#include <gtest/gtest.h>

#include <set>

namespace sluice::test {
namespace {

struct described_field {
    std::string name;
    std::string type;
    std::string primitive;  // what the C++ type of the member stands for
    bool mandatory;
    bool multiple;
    bool optional_in_cpp;
    std::string default_text;
    std::string default_value;  // what the member is initialised with
};

struct described_type {
    std::string symbolic_name;
    std::uint64_t descriptor;
    std::vector<described_field> fields;
};

template <class M>
struct unwrapped {
    using type = M;
    static constexpr bool optional = false;
};
template <class M>
struct unwrapped<std::optional<M>> {
    using type = M;
    static constexpr bool optional = true;
};

template <class M>
std::string primitive_name()
{
    if constexpr (std::is_same_v<M, bool> || std::is_same_v<M, role>)
        return "boolean";
    else if constexpr (std::is_same_v<M, std::uint16_t>)
        return "ushort";
    else if constexpr (std::is_same_v<M, std::uint64_t>)
        return "ulong";
    else if constexpr (std::is_same_v<M, timestamp>)
        return "timestamp";
    else if constexpr (std::is_same_v<M, std::string_view>)
        return "string";
    else if constexpr (std::is_same_v<M, symbol> || std::is_same_v<M, symbols>)
        return "symbol";
    else if constexpr (std::is_same_v<M, bytes_view>)
        return "binary";
    else if constexpr (std::is_same_v<M, raw_value>)
        return "*";
    else if constexpr (std::is_same_v<M, error_view>)
        return "error";
    else if constexpr (sizeof(M) == 1)
        return "ubyte";
    else
        return "uint";
}

template <class M>
std::string default_of(M const& v)
{
    if constexpr (std::is_same_v<M, bool>)
        return v ? "true" : "false";
    else if constexpr (std::is_enum_v<M>)
        return std::to_string(static_cast<std::underlying_type_t<M>>(v));
    else if constexpr (std::is_integral_v<M>)
        return std::to_string(v);
    else if constexpr (std::is_same_v<M, symbol>)
        return std::string{v.text};
    else if constexpr (std::is_same_v<M, handle>)
        return std::to_string(v.value);
    else
        return {};
}

template <class T, class M>
described_field describe(field<T, M> const& f)
{
    using bare = typename unwrapped<M>::type;
    return {std::string{f.name},
            std::string{f.type},
            primitive_name<bare>(),
            f.mandatory,
            f.multiple,
            unwrapped<M>::optional,
            std::string{f.default_text},
            default_of(T{}.*(f.member))};
}

template <class T>
described_type describe_type()
{
    using traits = composite_traits<T>;
    described_type d{std::string{traits::name}, traits::descriptor, {}};
    std::apply([&d](auto const&... f) { (d.fields.push_back(describe(f)), ...); }, traits::fields);
    EXPECT_EQ(d.symbolic_name, "amqp:" + std::string{traits::short_name} + ":list");
    return d;
}

template <class... T>
std::map<std::string, described_type> describe_types()
{
    std::map<std::string, described_type> types;
    (types.emplace(composite_traits<T>::short_name, describe_type<T>()), ...);
    return types;
}

std::map<std::string, described_type> all_of_ours()
{
    return describe_types<open, begin, attach, flow, transfer, disposition, detach, end, close,
                          error_view, received, accepted, rejected, released, modified, source,
                          target, delete_on_close, delete_on_no_links, delete_on_no_messages,
                          delete_on_no_links_or_messages, coordinator, declare, discharge, declared,
                          transactional_state, sasl_mechanisms, sasl_init, sasl_challenge,
                          sasl_response, sasl_outcome, header, properties>();
}

class Specification : public testing::Test {
protected:
    void SetUp() override
    {
        ASSERT_FALSE(types.empty()) << "install the package amqp-specs";
        for (auto const& t : types) by_name[t.name] = &t;
    }

    /// The primitive (or composite, or *) that a restricted type is made of.
    std::string source_of(std::string type) const
    {
        while (by_name.count(type) && by_name.at(type)->type_class == "restricted")
            type = by_name.at(type)->source;
        return type;
    }

    std::vector<codec_specified_type> types = codec_read_specification();
    std::map<std::string, codec_specified_type const*> by_name;
};

TEST_F(Specification, EveryCompositeOfTheStandardIsDescribedAndNoOther)
{
    auto const ours = all_of_ours();
    std::set<std::string> theirs;
    for (auto const& t : types) {
        if (t.type_class != "composite")
            continue;
        theirs.insert(t.name);
        ASSERT_TRUE(ours.count(t.name)) << t.name;
        EXPECT_EQ(ours.at(t.name).symbolic_name, t.descriptor_name);
        EXPECT_EQ(ours.at(t.name).descriptor, t.descriptor) << t.name;
    }
    EXPECT_EQ(theirs.size(), ours.size());
    EXPECT_EQ(theirs.size(), 33u) << "the standard's files were not read whole";
}

TEST_F(Specification, FieldsHaveTheStandardsNamesOrderTypesAndFlags)
{
    for (auto const& [name, ours] : all_of_ours()) {
        auto const& theirs = by_name.at(name)->fields;
        ASSERT_EQ(ours.fields.size(), theirs.size()) << name;
        for (std::size_t i = 0; i != theirs.size(); ++i) {
            auto const& f = ours.fields[i];
            auto const where = name + "." + f.name;
            EXPECT_EQ(f.name, theirs[i]["name"]) << where;
            EXPECT_EQ(f.type, theirs[i]["type"]) << where;
            EXPECT_EQ(f.mandatory, theirs[i]["mandatory"] == "true") << where;
            EXPECT_EQ(f.multiple, theirs[i]["multiple"] == "true") << where;
            EXPECT_EQ(f.default_text, theirs[i]["default"]) << where;
        }
    }
}

TEST_F(Specification, MembersHaveATypeThatStandsForTheFieldsType)
{
    // Of any type in the standard, of one in practice: the only one that provides what is required.
    std::map<std::string, std::string> const narrowed{{"txn-id", "binary"}};
    for (auto const& [name, ours] : all_of_ours()) {
        for (auto const& f : ours.fields) {
            auto expected = source_of(f.type);
            if (expected == "map")
                expected = "*";  // both are raw
            if (auto const n = narrowed.find(f.name); n != narrowed.end())
                expected = n->second;
            EXPECT_EQ(f.primitive, expected) << name << "." << f.name;
        }
    }
}

TEST_F(Specification, MembersAreInitialisedWithTheStandardsDefaults)
{
    std::size_t checked = 0;
    for (auto const& [name, ours] : all_of_ours()) {
        for (auto const& f : ours.fields) {
            if (f.default_text.empty())
                continue;
            auto expected = f.default_text;
            auto const& choices = by_name.count(f.type) ? by_name.at(f.type)->choices
                                                        : std::map<std::string, std::string>{};
            if (auto const c = choices.find(expected); c != choices.end())
                expected = c->second;
            EXPECT_EQ(f.default_value, expected) << name << "." << f.name;
            EXPECT_FALSE(f.optional_in_cpp) << name << "." << f.name;
            ++checked;
        }
    }
    EXPECT_GE(checked, 20u);
}

TEST_F(Specification, EverySymbolicDescriptorIsKnownByItsNumber)
{
    std::size_t checked = 0;
    for (auto const& t : types) {
        if (t.descriptor_name.empty())
            continue;
        bytes wire{std::byte{0}};
        append(wire, symbol{std::string_view{t.descriptor_name}});
        EXPECT_EQ(peek_descriptor(wire), t.descriptor) << t.descriptor_name;
        ++checked;
    }
    EXPECT_EQ(checked, 40u);
}

TEST_F(Specification, EveryFormatCodeIsKnownAndNoOther)
{
    std::map<unsigned, std::pair<std::string, codec_xml_element>> encodings;
    for (auto const& t : types)
        for (auto const& e : t.encodings)
            encodings[static_cast<unsigned>(std::stoul(e["code"], nullptr, 16))] = {t.name, e};
    EXPECT_EQ(encodings.size(), 39u);

    for (unsigned c = 1; c != 256; ++c) {
        auto const found = encodings.find(c);
        auto const code = static_cast<std::uint8_t>(c);
        if (found == encodings.end()) {
            EXPECT_EQ(detail::type_name(code), "") << c;
            continue;
        }
        auto const& [type, encoding] = found->second;
        EXPECT_EQ(detail::type_name(code), type) << c;
        // A value of zeros has the width that the standard gives.
        auto const width = std::stoul(encoding["width"]);
        auto const category = encoding["category"];
        bytes wire{std::byte{code}};
        if (category == "fixed" || category == "variable") {
            wire.resize(1 + width);
        } else {
            wire.resize(1 + 2 * width);
            wire[width] = static_cast<std::byte>(width);  // the count's octets
            if (category == "array") {
                wire.push_back(std::byte{detail::code::null});
                wire[width] = static_cast<std::byte>(width + 1);
            }
        }
        bytes_view in{wire};
        EXPECT_FALSE(skip_value(in)) << encoding["code"];
        EXPECT_TRUE(in.empty()) << encoding["code"];
        bytes_view cut{wire.data(), wire.size() - 1};
        EXPECT_TRUE(skip_value(cut)) << encoding["code"];
    }
}

}  // namespace
}  // namespace sluice::test
