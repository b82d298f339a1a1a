// What is encoded is decoded to the same, in every legal encoding; anything else is an error or a
// value, never a crash. The oracle is equality of fields and of values, which knows no encoding.
#include "codec_generators.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace sluice::prop {
namespace {

// Owned by the test, and of its exact size, so that a sanitizer sees any reading beyond.
struct exact {
    explicit exact(bytes_view from) : octets{std::make_unique<std::byte[]>(from.size())}
    {
        std::copy(from.begin(), from.end(), octets.get());
        view = {octets.get(), from.size()};
    }
    std::unique_ptr<std::byte[]> octets;
    bytes_view view;
};

RC_GTEST_PROP(CodecValue, IsDecodedToWhatWasEncoded, ())
{
    auto const v = codec_value(4);
    bytes wire(encoded_size_bound(v));
    wire.resize(static_cast<std::size_t>(encode(v, wire.data()) - wire.data()));
    exact const input{wire};
    auto in = input.view;
    value back;
    RC_ASSERT(!decode(in, back));
    RC_ASSERT(in.empty());
    RC_ASSERT(back == v);
    RC_ASSERT(encoded(back) == wire);
    RC_ASSERT(!to_string(back).empty());
    RC_CLASSIFY(wire.size() > 255, "longer than the short forms");
    RC_CLASSIFY(v.type() >= value_type::list, "holds other values");
}

RC_GTEST_PROP(CodecValue, IsTheSameInEveryLegalEncoding, ())
{
    auto const v = codec_value(4);
    auto const canonical = encoded(v);
    auto const wide = codec_widener::widen(canonical);
    exact const input{wide};
    auto in = input.view;
    value back;
    RC_ASSERT(!decode(in, back));
    RC_ASSERT(in.empty());
    RC_ASSERT(back == v);
    RC_ASSERT(encoded(back) == canonical);
    RC_ASSERT(canonical.size() <= wide.size());
    RC_CLASSIFY(wide != canonical, "another encoding");
}

template <class T>
void round_trip()
{
    codec_storage keep;
    auto const v = codec_composite<T>(keep);
    bytes wire(encoded_size_bound(v));
    wire.resize(static_cast<std::size_t>(encode(v, wire.data()) - wire.data()));
    exact const input{wire};
    auto in = input.view;
    T back;
    decode_fault fault;
    RC_ASSERT(!decode(in, back, &fault));
    RC_ASSERT(in.empty());
    RC_ASSERT(codec_same_fields(v, back));

    // Fields of any type keep the encoding that they came in, so only the rest is compared.
    exact const wide{codec_widener::widen(wire)};
    in = wide.view;
    T of_wide;
    RC_ASSERT(!decode(in, of_wide, &fault));
    RC_ASSERT(in.empty());
    bytes_view once{wire};
    auto const again = codec_widener::widen(encoded(of_wide));
    value a;
    value b;
    bytes_view from_wide{again};
    RC_ASSERT(!decode(once, a));
    RC_ASSERT(!decode(from_wide, b));
    RC_ASSERT(a == b || encoded(of_wide).size() != wire.size());

    auto const broken = codec_mutated(wire);
    exact const garbage{broken};
    in = garbage.view;
    T out;
    if (decode(in, out, &fault)) {
        RC_ASSERT(in.size() == broken.size());
        RC_ASSERT(!fault.message().empty());
        RC_ASSERT(fault.offset <= broken.size());
    } else {
        auto const stable = encoded(out);
        bytes_view second{stable};
        T out_again;
        RC_ASSERT(!decode(second, out_again));
        RC_ASSERT(codec_same_fields(out, out_again));
    }
}

template <class... T>
void round_trip_one_of()
{
    auto const which = codec_pick<std::size_t>(0, sizeof...(T));
    std::size_t i = 0;
    ((i++ == which ? round_trip<T>() : void()), ...);
}

RC_GTEST_PROP(CodecComposite, IsDecodedToWhatWasEncoded, ())
{
    round_trip_one_of<open, begin, attach, flow, transfer, disposition, detach, end, close,
                      error_view, sasl_mechanisms, sasl_init, sasl_challenge, sasl_response,
                      sasl_outcome, source, target, coordinator, declare, discharge, header,
                      properties>();
}

// The performatives of the hot path, each with all cases.
RC_GTEST_PROP(CodecComposite, TransfersAreDecodedToWhatWasEncoded, ()) { round_trip<transfer>(); }
RC_GTEST_PROP(CodecComposite, FlowsAreDecodedToWhatWasEncoded, ()) { round_trip<flow>(); }
RC_GTEST_PROP(CodecComposite, DispositionsAreDecodedToWhatWasEncoded, ())
{
    round_trip<disposition>();
}

RC_GTEST_PROP(CodecMessage, IsDecodedToWhatWasEncoded, ())
{
    auto const m = codec_message();
    bytes wire(encoded_size_bound(m));
    wire.resize(static_cast<std::size_t>(encode(m, wire.data()) - wire.data()));
    exact const input{wire};
    message back;
    RC_ASSERT(!decode(input.view, back));
    RC_ASSERT(back == m);
    RC_ASSERT(encoded(back) == wire);
    message_view view;
    RC_ASSERT(!decode(input.view, view));
    RC_ASSERT(view.body == m.kind());
    if (view.body == body_kind::data) {
        bytes joined;
        view.append_data(joined);
        RC_ASSERT(joined == m.body_bytes());
        RC_ASSERT(joined.size() == view.data_size());
    }
    RC_CLASSIFY(view.body_sections > 1, "several body sections");
}

RC_GTEST_PROP(CodecMessage, AnyChangeGivesAnErrorOrAMessage, ())
{
    auto const broken = codec_mutated(encoded(codec_message()));
    exact const input{broken};
    message m;
    message_view view;
    decode_fault fault;
    auto const code = decode(input.view, view, &fault);
    if (code)
        RC_ASSERT(fault.offset <= broken.size());
    auto const owning_code = decode(input.view, m, &fault);
    if (code)
        RC_ASSERT(owning_code == code);
    if (owning_code) {
        RC_ASSERT(!fault.message().empty());
    } else if (m.kind() != body_kind::none) {
        message again;
        RC_ASSERT(!decode(encoded(m), again));
        RC_ASSERT(again == m);
    }
    RC_CLASSIFY(!owning_code, "still a message");
}

RC_GTEST_PROP(CodecValue, AnyChangeGivesAnErrorOrAValue, ())
{
    auto const broken = codec_mutated(encoded(codec_value(4)));
    exact const input{broken};
    auto in = input.view;
    auto skipped = input.view;
    value v;
    auto const code = decode(in, v);
    auto const skip_code = skip_value(skipped);
    if (skip_code)
        RC_ASSERT(code == skip_code);
    if (code) {
        RC_ASSERT(in.size() == broken.size());
    } else {
        RC_ASSERT(in.size() == skipped.size());
        auto const wire = encoded(v);
        bytes_view second{wire};
        value again;
        RC_ASSERT(!decode(second, again));
        RC_ASSERT(again == v);
    }
    RC_CLASSIFY(!code, "still a value");
}

RC_GTEST_PROP(CodecValue, AnyBytesGiveAnErrorOrAValue, (std::vector<std::uint8_t> const& octets))
{
    exact const input{std::as_bytes(std::span{octets})};
    auto in = input.view;
    value v;
    (void)decode(in, v);
    message m;
    (void)decode(input.view, m);
    delivery_state state;
    (void)decode(raw_value{input.view}, state);
    (void)to_string(raw_value{input.view});
    map_reader map{raw_value{input.view}};
    while (map.next()) {}
    list_reader list{raw_value{input.view}};
    while (list.next()) {}
    (void)as_described(raw_value{input.view});
}

}  // namespace
}  // namespace sluice::prop
