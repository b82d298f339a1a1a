// Bytes -> messages of remote channels; what is wrong is named by its field.
#include "detail/channel_fields.hpp"

#include <sluice/codec/message_view.hpp>

#include <algorithm>

namespace sluice::channel_protocol {
namespace {

using namespace channel_protocol::detail;

/// Reads one list; remembers the first thing that was wrong.
class reader {
public:
    reader(raw_value list, std::string_view what) : in_{list}, what_{what}
    {
        if (in_.error())
            fail({}, in_.error());
    }

    template <class T>
    void optional(std::string_view field, T& v)
    {
        read(field, v, false);
    }
    template <class T>
    void mandatory(std::string_view field, T& v)
    {
        read(field, v, true);
    }
    template <class Enum>
    void choice(std::string_view field, Enum& v, Enum last)
    {
        std::uint8_t number = 0;
        read(field, number, false);
        if (!failed() && number > static_cast<std::uint8_t>(last))
            fail(field, error::invalid_value);
        v = static_cast<Enum>(number);
    }
    template <class T>
    void nested(std::string_view field, T& v)
    {
        auto const element = next(field);
        if (is_null(element) || failed())
            return;
        read_inner(element, v, [&] { return std::string{field}; });
    }
    void cases(std::string_view field, std::vector<select_case>& all);
    void ranges(std::string_view field, std::vector<std::pair<std::uint64_t, std::uint64_t>>& all);

    /// The next element; absent at the end.
    raw_value next(std::string_view field)
    {
        if (failed())
            return {};
        auto const element = in_.next();
        if (!element && in_.error())
            fail(field, in_.error());
        return element.value_or(raw_value{});
    }
    void fail(std::string_view field, std::error_code code)
    {
        if (failed())
            return;
        code_ = code;
        if (!field.empty())
            (what_ += '.') += field;
    }
    void fail(std::string_view field, error e) { fail(field, make_error_code(e)); }
    void finish()
    {
        if (!failed() && in_.left() != 0)
            fail({}, error::too_many_fields);
        if (!failed() && in_.next())
            fail({}, error::size_mismatch);
        if (!failed() && in_.error())
            fail({}, in_.error());
    }
    bool failed() const noexcept { return static_cast<bool>(code_); }
    std::error_code code() const noexcept { return code_; }
    std::string const& what() const noexcept { return what_; }
    std::size_t left() const noexcept { return in_.left(); }

private:
    static bool take(raw_value from, std::string& v)
    {
        auto const text = as<std::string_view>(from);
        if (text)
            v.assign(*text);
        return text.has_value();
    }
    static bool take(raw_value from, handle_id& v)
    {
        auto const id = as<uuid>(from);
        if (id)
            v = id->octets;
        return id.has_value();
    }
    template <scalar T>
    static bool take(raw_value from, T& v)
    {
        auto const read = as<T>(from);
        if (read)
            v = *read;
        return read.has_value();
    }

    template <class T>
    void read(std::string_view field, T& v, bool must)
    {
        auto const element = next(field);
        if (failed())
            return;
        if (is_null(element)) {
            if (must)
                fail(field, error::missing_mandatory_field);
        } else if (!take(element, v)) {
            fail(field, error::wrong_type);
        }
    }

    /// @param name says where it stands, once something is wrong with it
    template <class T, class Name>
    void read_inner(raw_value element, T& v, Name const& name)
    {
        reader inner{element, {}};
        fields(inner, v);
        inner.finish();
        if (inner.failed())
            fail(name() + inner.what_, inner.code_);
    }

    list_reader in_;
    std::string what_;
    std::error_code code_;
};

void reader::cases(std::string_view field, std::vector<select_case>& all)
{
    if (left() > cases_max)
        return fail(field, error::too_many_elements);
    all.reserve(left());
    auto const name = [&] {
        return std::string{field} + '[' + std::to_string(all.size() - 1) + ']';
    };
    while (left() != 0) {
        auto const element = next(field);
        if (failed())
            return;
        auto& each = all.emplace_back();
        auto const elements = list_reader{element}.left();
        if (type_of(element) != value_type::list)
            return fail(name(), error::wrong_type);
        if (elements == send_fields) {
            read_inner(element, each.emplace<send_case>(), name);
        } else if (elements == recv_fields || elements == recv_fields - 1) {
            auto& c = each.emplace<recv_case>();
            read_inner(element, c, name);
            if (c.max == 0)
                fail(name() + ".max", error::invalid_value);
        } else {
            fail(name(), error::invalid_value);
        }
    }
}

void reader::ranges(std::string_view field,
                    std::vector<std::pair<std::uint64_t, std::uint64_t>>& all)
{
    if (left() > 2 * ranges_max)
        return fail(field, error::too_many_elements);
    if (left() % 2 != 0)
        return fail(field, error::missing_mandatory_field);
    all.reserve(left() / 2);
    while (left() != 0 && !failed()) {
        auto& [first, last] = all.emplace_back();
        read(field, first, true);
        read(field, last, true);
        if (!failed() && last < first)
            fail(field, error::invalid_value);
    }
}

/// The amqp-value of a message; fills `fault` if there is none.
raw_value value_of(bytes_view message, std::string& fault, std::error_code& code)
{
    // What we send ourselves has that one section.
    auto const list = message.subspan(std::min(section_descriptor.size(), message.size()));
    if (same_bytes(message.first(message.size() - list.size()), section_descriptor)
        && !list.empty()) {
        sluice::detail::cursor in{list.data() + 1, list.data() + list.size()};
        sluice::detail::compound header;
        if (sluice::detail::read_compound(in, sluice::detail::octet(list.data()), header)
                == error::none
            && header.end == list.data() + list.size())
            return raw_value{list};
    }
    message_view view;
    decode_fault at;
    code = sluice::decode(message, view, &at);
    if (code) {
        fault = "message: " + at.message();
        return {};
    }
    auto const value = view.value();
    if (type_of(value) == value_type::list)
        return value;
    code = make_error_code(error::wrong_type);
    fault = "message: the body has to be an amqp-value with a list";
    return {};
}

// A message of the same kind as the one before it keeps that one's memory.
template <class T>
void renew(T& m)
{
    m = T{};
}
void renew(select& m)
{
    auto cases = std::move(m.cases);
    cases.clear();
    m = select{.cases = std::move(cases)};
}
template <class T>
    requires requires(T& m) { m.ranges; }
void renew(T& m)
{
    m.ranges.clear();
}

/// Makes `out` hold the alternative with this index and reads it.
template <std::size_t I = 0, class Variant>
void read_alternative(std::size_t index, reader& in, Variant& out)
{
    if constexpr (I < std::variant_size_v<Variant>) {
        if (index != I)
            return read_alternative<I + 1>(index, in, out);
        if (out.index() != I)
            out.template emplace<I>();
        renew(std::get<I>(out));
        fields(in, std::get<I>(out));
    }
}

template <class Variant, std::size_t N>
std::error_code decode_one_of(bytes_view message, Variant& out, std::string& fault,
                              std::uint8_t first, std::array<std::string_view, N> const& names)
{
    static_assert(N == std::variant_size_v<Variant>);
    std::error_code code;
    auto const list = value_of(message, fault, code);
    if (code)
        return code;
    list_reader peek{list};
    auto const number = as<std::uint8_t>(peek.next().value_or(raw_value{}));
    auto const index = static_cast<std::size_t>(number.value_or(0)) - first;
    if (!number || index >= N) {
        fault = "message: the list has to start with the ubyte of a "
                + std::string{first == first_request ? "request" : "reply"}
                + (number ? ", not " + std::to_string(*number) : std::string{});
        return make_error_code(number ? error::invalid_value : error::wrong_type);
    }
    reader in{list, names[index]};
    (void)in.next({});
    read_alternative(index, in, out);
    in.finish();
    if (in.failed())
        fault = in.what() + ": " + in.code().message();
    return in.code();
}

}  // namespace

std::error_code decode(bytes_view message, request& out, std::string& fault)
{
    return decode_one_of(message, out, fault, first_request, request_names);
}

std::error_code decode(bytes_view message, reply& out, std::string& fault)
{
    return decode_one_of(message, out, fault, first_reply, reply_names);
}

}  // namespace sluice::channel_protocol
