// Any bytes as a request or a reply of remote channels: a fault that says what is wrong, or a
// message that is encoded and decoded to the same.
#include <sluice/codec/channel_protocol.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

using namespace sluice;

void check(bool ok, char const* what)
{
    if (ok)
        return;
    std::fprintf(stderr, "codec_channel: %s\n", what);
    std::abort();
}

template <class Message>
void try_as(bytes_view input)
{
    Message m;
    std::string fault;
    if (channel_protocol::decode(input, m, fault)) {
        check(!fault.empty(), "an error without a text");
        return;
    }
    bytes once;
    channel_protocol::encode(once, m);
    Message back;
    check(!channel_protocol::decode(once, back, fault), "what was encoded is not decoded");
    check(back.index() == m.index(), "another kind of message");
    bytes twice;
    channel_protocol::encode(twice, back);
    check(once == twice, "encoded twice, it is not the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    auto const input = std::as_bytes(std::span{data, size});
    try_as<channel_protocol::request>(input);
    try_as<channel_protocol::reply>(input);
    return 0;
}
