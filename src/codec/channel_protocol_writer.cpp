// Messages of remote channels -> bytes: sizes are counted first, so that each is written at once.
#include "detail/channel_fields.hpp"

#include <sluice/codec/codec.hpp>

#include <algorithm>

namespace sluice::channel_protocol {
namespace {

using namespace channel_protocol::detail;

std::size_t size_of(bool) noexcept { return 1; }
std::size_t size_of(std::uint8_t) noexcept { return 2; }
std::size_t size_of(std::uint32_t v) noexcept { return v == 0 ? 1 : v < 256 ? 2 : 5; }
std::size_t size_of(std::uint64_t v) noexcept { return v == 0 ? 1 : v < 256 ? 2 : 9; }
std::size_t size_of(std::string_view v) noexcept { return v.size() + (v.size() < 256 ? 2 : 5); }
std::size_t size_of(bytes_view v) noexcept { return v.size() + (v.size() < 256 ? 2 : 5); }
std::size_t size_of(handle_id const&) noexcept { return 17; }

/// What the two walkers that do not read have in common.
template <class Walker>
struct putting {
    template <class T>
    void optional(std::string_view, T const& v)
    {
        self().put(v);
    }
    template <class T>
    void mandatory(std::string_view, T const& v)
    {
        self().put(v);
    }
    template <class Enum>
    void choice(std::string_view, Enum v, Enum)
    {
        self().put(static_cast<std::uint8_t>(v));
    }
    template <class T>
    void nested(std::string_view, T const& v)
    {
        self().put_list(v);
    }
    void cases(std::string_view, std::vector<select_case> const& all)
    {
        for (auto const& each : all)
            std::visit([this](auto const& c) { self().put_list(c); }, each);
    }
    void ranges(std::string_view, std::vector<std::pair<std::uint64_t, std::uint64_t>> const& all)
    {
        for (auto const& [first, last] : all) {
            self().put(first);
            self().put(last);
        }
    }

private:
    Walker& self() noexcept { return static_cast<Walker&>(*this); }
};

struct counter : putting<counter> {
    std::size_t size = 0;
    std::size_t count = 0;

    template <class T>
    void put(T const& v)
    {
        size += size_of(v);
        ++count;
    }
    template <class T>
    void put_list(T const& v)
    {
        counter inner;
        fields(inner, v);
        size += inner.list_size();
        ++count;
    }
    bool is_short() const noexcept { return size + 1 <= 255 && count <= 255; }
    std::size_t list_size() const noexcept { return count == 0 ? 1 : size + (is_short() ? 3 : 9); }
};

struct writer : putting<writer> {
    std::byte* at;

    explicit writer(std::byte* to) noexcept : at{to} {}

    template <class T>
    void put(T const& v)
    {
        if constexpr (std::same_as<T, std::string>)
            at = sluice::encode(std::string_view{v}, at);
        else
            at = sluice::encode(v, at);
    }
    void put(handle_id const& v) { at = sluice::encode(uuid{v}, at); }
    template <class T>
    void put_list(T const& v)
    {
        counter counted;
        fields(counted, v);
        put_header(counted);
        fields(*this, v);
    }
    void put_header(counter const& c)
    {
        namespace code = sluice::detail::code;
        if (c.count == 0) {
            at = sluice::detail::put(at, code::list0);
        } else if (c.is_short()) {
            at = sluice::detail::put(at, code::list8);
            at = sluice::detail::put(at, static_cast<std::uint8_t>(c.size + 1));
            at = sluice::detail::put(at, static_cast<std::uint8_t>(c.count));
        } else {
            at = sluice::detail::put(at, code::list32);
            at = sluice::detail::store(at, static_cast<std::uint32_t>(c.size + 4));
            at = sluice::detail::store(at, static_cast<std::uint32_t>(c.count));
        }
    }
};

template <class Message>
void encode_as(bytes& out, std::uint8_t name, Message const& m)
{
    counter counted;
    counted.put(name);
    fields(counted, m);
    auto const before = out.size();
    auto const after = before + section_descriptor.size() + counted.list_size();
    if (out.capacity() < after)
        out.reserve(std::max(after, 2 * out.capacity()));
    out.resize(after);
    writer w{sluice::detail::put(out.data() + before, section_descriptor.data(),
                                 section_descriptor.size())};
    w.put_header(counted);
    w.put(name);
    fields(w, m);
}

}  // namespace

void encode(bytes& out, request const& r)
{
    auto const name = static_cast<std::uint8_t>(first_request + r.index());
    std::visit([&](auto const& m) { encode_as(out, name, m); }, r);
}

void encode(bytes& out, reply const& r)
{
    auto const name = static_cast<std::uint8_t>(first_reply + r.index());
    std::visit([&](auto const& m) { encode_as(out, name, m); }, r);
}

}  // namespace sluice::channel_protocol
