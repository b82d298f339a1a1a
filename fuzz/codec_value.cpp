// Any bytes as a value: an error, or a value that is encoded and decoded to the same.
#include <sluice/codec/value.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

using namespace sluice;

void check(bool ok, char const* what)
{
    if (ok)
        return;
    std::fprintf(stderr, "codec_value: %s\n", what);
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    auto const input = std::as_bytes(std::span{data, size});
    auto skipped = input;
    auto const skip_code = skip_value(skipped);
    auto in = input;
    value v;
    auto const code = decode(in, v);
    if (skip_code)
        check(code == skip_code, "decoding and skipping disagree");
    (void)to_string(raw_value{input});
    if (code) {
        check(in.size() == input.size() && v.is_null(), "an error left something behind");
        return 0;
    }
    check(in.size() == skipped.size(), "decoding and skipping end in different places");
    check(type_of(raw_value{input}) == v.type(), "a type that became another");

    auto const once = encoded(v);
    check(once.size() <= encoded_size_bound(v), "more was written than promised");
    bytes_view rest{once};
    value back;
    check(!decode(rest, back), "what was encoded is not decoded");
    check(rest.empty() && back == v, "what was encoded is not the same");
    check(encoded(back) == once, "encoded twice, it is not the same");
    check(!to_string(v).empty(), "a value without a text");
    return 0;
}
