// Any bytes as each composite type: an error, or something that is encoded and decoded to the same.
#include <sluice/codec/codec.hpp>
#include <sluice/codec/reader.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

using namespace sluice;

void check(bool ok, char const* what)
{
    if (ok)
        return;
    std::fprintf(stderr, "codec_performative: %s\n", what);
    std::abort();
}

template <class T>
void try_as(bytes_view input)
{
    T v;
    decode_fault fault;
    auto in = input;
    if (decode(in, v, &fault)) {
        check(in.size() == input.size(), "an error moved the input");
        check(fault.offset <= input.size(), "a fault beyond the input");
        check(!fault.message().empty(), "a fault without a text");
        return;
    }
    auto const once = encoded(v);
    check(once.size() <= encoded_size_bound(v), "more was written than promised");
    bytes_view again{once};
    T back;
    check(!decode(again, back), "what was encoded is not decoded");
    check(again.empty(), "what was encoded is not decoded whole");
    check(encoded(back) == once, "encoded twice, it is not the same");
}

template <class... T>
void try_as_each(bytes_view input)
{
    (try_as<T>(input), ...);
}

void try_state(bytes_view input)
{
    delivery_state state;
    if (decode(raw_value{input}, state))
        return;
    auto const once = encoded(state);
    delivery_state back;
    check(!decode(raw_value{bytes_view{once}}, back), "a state that is not decoded again");
    check(state.index() == back.index(), "a state that became another");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    auto const input = std::as_bytes(std::span{data, size});
    (void)peek_descriptor(input);
    try_as_each<open, begin, attach, flow, transfer, disposition, detach, end, close, error_view,
                sasl_mechanisms, sasl_init, sasl_challenge, sasl_response, sasl_outcome, source,
                target, coordinator, declare, discharge, header, properties>(input);
    try_state(input);
    return 0;
}
