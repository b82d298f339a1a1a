// The checker on arbitrary bytes of both directions: no crash, no hang, bounded memory, and the
// same findings however the bytes are cut.
//
// The input is an octet of options and a list of pieces: an octet of direction and kind, a channel,
// a length, then what is sent. Kinds save the fuzzer from having to invent headers and frame sizes.
#include <sluice/audit/checker.hpp>
#include <sluice/codec/codec.hpp>
#include <sluice/codec/frame.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace sluice;
using namespace sluice::audit;

struct piece {
    direction way;
    bytes octets;
    bool lost = false;  // bytes are missing before these
};

bytes with_header(bytes_view body, std::uint8_t channel)
{
    bytes out(frame_header_size);
    out.insert(out.end(), body.begin(), body.end());
    write_frame_header(out.data(), static_cast<std::uint32_t>(out.size()), frame_type::amqp,
                       channel);
    return out;
}

std::vector<piece> pieces_of(bytes_view in)
{
    std::vector<piece> pieces;
    while (in.size() >= 3) {
        auto const kind = std::to_integer<unsigned>(in[0]);
        auto const channel = static_cast<std::uint8_t>(std::to_integer<unsigned>(in[1]) & 3);
        auto const size = std::min(std::to_integer<std::size_t>(in[2]), in.size() - 3);
        auto const body = in.subspan(3, size);
        in = in.subspan(3 + size);
        auto const way = kind & 1 ? direction::from_server : direction::from_client;
        bool const lost = (kind & 0xfc) == 0xfc;
        if (kind & 2)
            pieces.push_back({way, {body.begin(), body.end()}, lost});  // as it is
        else
            pieces.push_back({way, with_header(body, channel), lost});
    }
    return pieces;
}

std::string run(std::vector<piece> const& pieces, options const& o, std::size_t cut)
{
    checker c{o};
    std::int64_t ms = 0;
    std::string all;
    for (auto const& p : pieces) {
        auto const now = std::chrono::milliseconds{ms += 50};
        if (p.lost)
            c.lost(p.way, now);
        for (bytes_view left{p.octets}; !left.empty();) {
            auto const n = std::min(cut, left.size());
            c.feed(p.way, left.first(n), now);
            left = left.subspan(n);
        }
    }
    c.advance(std::chrono::hours{1});
    c.finish();
    finding f;
    while (c.poll_finding(f)) all += f.text() + f.json();
    return all + std::to_string(c.totals().violations);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    if (size == 0)
        return 0;
    auto const pieces = pieces_of({reinterpret_cast<std::byte const*>(data) + 1, size - 1});
    options o{.mid_stream = (data[0] & 1) != 0,
              .sessions_max = 6,
              .links_max = 12,
              .unsettled_max = 256,
              .frame_bytes_max = 512};
    std::vector<piece> whole;
    if (!o.mid_stream && (data[0] & 2) == 0) {  // past the handshake, where most of the rules are
        for (auto const way : {direction::from_client, direction::from_server}) {
            auto const h = protocol_header(protocol_id::amqp);
            whole.push_back({way, {h.begin(), h.end()}});
            bytes opened;
            append(opened, open{.container_id = "c"});
            whole.push_back({way, with_header(opened, 0)});
        }
    }
    whole.insert(whole.end(), pieces.begin(), pieces.end());
    if (run(whole, o, 4096) != run(whole, o, 1))
        std::abort();
    return 0;
}
