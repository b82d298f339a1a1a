// Any bytes as a message: an error, or a message that is encoded and decoded to the same.
#include <sluice/codec/message.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

using namespace sluice;

void check(bool ok, char const* what)
{
    if (ok)
        return;
    std::fprintf(stderr, "codec_message: %s\n", what);
    std::abort();
}

void read_all(message_view const& view)
{
    bytes joined;
    view.append_data(joined);
    check(joined.size() == view.data_size(), "data of another size than announced");
    std::size_t sections = 0;
    for (body_reader body{view}; body.next();) ++sections;
    check(sections == view.body_sections, "another number of sections than counted");
    for (std::size_t i = 0; i <= sections && i < 64; ++i) {
        (void)view.data(i);
        (void)view.sequence(i);
    }
    (void)view.value();
    map_reader map{view.application_properties};
    while (auto const entry = map.next()) (void)entry->name();
    check(!map.error(), "a map that was checked cannot be read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    auto const input = std::as_bytes(std::span{data, size});
    message_view view;
    message m;
    decode_fault fault;
    auto const code = decode(input, view, &fault);
    if (code)
        check(fault.offset <= size, "a fault beyond the input");
    else
        read_all(view);
    auto const owning_code = decode(input, m, &fault);
    if (code)
        check(owning_code == code, "two ways of decoding disagree");
    if (owning_code)
        return 0;

    auto const once = encoded(m);
    check(once.size() <= encoded_size_bound(m), "more was written than promised");
    message back;
    check(!decode(once, back), "what was encoded is not decoded");
    // A message without a body is sent with the value null; keys of annotations become symbols.
    check(encoded(back) == once, "encoded twice, it is not the same");
    check(back.application_properties == m.application_properties, "properties have changed");
    check(!to_string(back).empty(), "a message without a text");
    return 0;
}
