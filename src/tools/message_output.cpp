// Bodies as text, messages as JSON lines.
#include "tools/message_output.hpp"

#include "tools/message_json.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace sluice::tools {

std::string body_for_people(message const& m)
{
    if (auto text = m.body_text())
        return *std::move(text);
    if (auto octets = m.body_bytes())
        return to_string(value{*std::move(octets)});
    if (auto const* const v = m.body_value())
        return to_string(*v);
    if (auto const* const sequence = std::get_if<sequence_body>(&m.body)) {
        std::string out;
        for (auto const& list : sequence->sections) {
            if (!out.empty())
                out += ' ';
            out += to_string(value{list});
        }
        return out;
    }
    return {};
}

void message_output::add(client::delivery const& d)
{
    if (format_ == format::none)
        return;
    auto const m = d.message();
    if (format_ == format::text)
        return add_line(body_for_people(m));
    json_object o;
    o.add("delivery_tag", base64(d.tag()));
    if (d.settled())
        o.add("settled", true);
    if (d.message_format() != 0)
        o.add("message_format", std::uint64_t{d.message_format()});
    add_line(to_json(m, std::move(o)));
}

void message_output::flush()
{
    write_all(descriptor_, std::as_bytes(std::span{buffer_}), "standard output");
    buffer_.clear();
}

void write_all(int descriptor, bytes_view octets, std::string const& name)
{
    while (!octets.empty()) {
        auto const n = ::write(descriptor, octets.data(), octets.size());
        if (n < 0 && errno != EINTR)
            throw std::system_error{errno, std::generic_category(), "cannot write " + name};
        if (n > 0)
            octets = octets.subspan(static_cast<std::size_t>(n));
    }
}

}  // namespace sluice::tools
