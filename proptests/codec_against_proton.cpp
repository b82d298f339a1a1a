// Proton-C and we decode each other's output to the same value, for any value.
#ifdef SLUICE_HAVE_PROTON

#include "codec_generators.hpp"
#include "support/codec_proton.hpp"

#include <gtest/gtest.h>
#include <proton/message.h>
#include <rapidcheck/gtest.h>

namespace sluice::prop {
namespace {

/// Proton-C 0.37 loses whatever follows a described value whose content is described itself: in
/// [@a @b 1, 2] the 2. Such values have their inner descriptor taken off, at any depth.
value without_nested_descriptors(value v)
{
    if (auto* const d = v.get_if<described_value>()) {
        while (auto* const inner = d->content.get_if<described_value>())
            d->content = value{std::move(inner->content)};
        d->content = without_nested_descriptors(std::move(d->content));
    } else if (auto* const list = v.get_if<value_list>()) {
        for (auto& item : *list) item = without_nested_descriptors(std::move(item));
    } else if (auto* const map = v.get_if<value_map>()) {
        value_map changed;
        for (auto const& [key, content] : *map)
            changed.add(key, without_nested_descriptors(content));
        *map = std::move(changed);
    } else if (auto* const array = v.get_if<value_array>()) {
        for (auto& item : array->items) item = without_nested_descriptors(std::move(item));
    }
    return v;
}

value value_for_proton() { return without_nested_descriptors(codec_value(4)); }

RC_GTEST_PROP(CodecAgainstProton, DecodesOurValueToTheSame, ())
{
    auto const v = value_for_proton();
    auto const theirs = test::codec_proton_decode(encoded(v));
    RC_ASSERT(theirs.has_value());
    RC_ASSERT(*theirs == v);
}

RC_GTEST_PROP(CodecAgainstProton, EncodesAValueThatWeDecodeToTheSame, ())
{
    auto const v = value_for_proton();
    auto const wire = test::codec_proton_encode(v);
    RC_ASSERT(!wire.empty());
    bytes_view in{wire};
    value back;
    RC_ASSERT(!decode(in, back));
    RC_ASSERT(in.empty());
    RC_ASSERT(back == v);
}

RC_GTEST_PROP(CodecAgainstProton, DecodesOurWiderEncodingsToTheSame, ())
{
    auto const v = value_for_proton();
    auto const theirs = test::codec_proton_decode(codec_widener::widen(encoded(v)));
    RC_ASSERT(theirs.has_value());
    RC_ASSERT(*theirs == v);
}

template <class T>
void proton_decodes_composite()
{
    codec_storage keep;
    auto const any = encoded(codec_composite<T>(keep));
    bytes_view in{any};
    value ours;
    RC_ASSERT(!decode(in, ours));
    ours = without_nested_descriptors(std::move(ours));
    auto const wire = encoded(ours);
    auto const theirs = test::codec_proton_decode(wire);
    RC_ASSERT(theirs.has_value());
    RC_ASSERT(*theirs == ours);

    // And back: what Proton writes for the same described list is the same composite.
    auto const rewritten = test::codec_proton_encode(ours);
    bytes_view again{rewritten};
    T of_theirs;
    RC_ASSERT(!decode(again, of_theirs));
    bytes_view first{wire};
    T of_ours;
    RC_ASSERT(!decode(first, of_ours));
    bytes const canonical_theirs = encoded(of_theirs);
    bytes_view a{canonical_theirs};
    value value_of_theirs;
    RC_ASSERT(!decode(a, value_of_theirs));
    RC_ASSERT(value_of_theirs == ours);
}

RC_GTEST_PROP(CodecAgainstProton, AgreesOnPerformatives, ())
{
    switch (codec_pick(0, 8)) {
    case 0: proton_decodes_composite<open>(); break;
    case 1: proton_decodes_composite<begin>(); break;
    case 2: proton_decodes_composite<attach>(); break;
    case 3: proton_decodes_composite<flow>(); break;
    case 4: proton_decodes_composite<transfer>(); break;
    case 5: proton_decodes_composite<disposition>(); break;
    case 6: proton_decodes_composite<detach>(); break;
    default: proton_decodes_composite<source>();
    }
}

/// A pn_message cannot hold several body sections, a footer, or fields that are not set. What it
/// can hold is the same after a pass through it.
RC_GTEST_PROP(CodecAgainstProton, PassesOurMessageOnUnchanged, ())
{
    auto m = codec_message();
    m.body = value_for_proton();
    if (m.body_value()->is_null())
        m.body = value{true};         // null is no body to pn_message
    m.footer.clear();                 // pn_message drops it
    m.header.first_acquirer.reset();  // and writes these whether or not they are set
    m.header.delivery_count.reset();
    m.properties.group_sequence.reset();
    m.properties.absolute_expiry_time.reset();
    m.properties.creation_time.reset();
    m.header.durable = true;
    m.header.priority = std::uint8_t{7};
    m.header.ttl = 5;
    auto const wire = encoded(m);

    std::unique_ptr<pn_message_t, void (*)(pn_message_t*)> const theirs{pn_message(),
                                                                        pn_message_free};
    RC_ASSERT(
        pn_message_decode(theirs.get(), reinterpret_cast<char const*>(wire.data()), wire.size())
        == 0);
    bytes out(wire.size() * 2 + 256);
    auto size = out.size();
    RC_ASSERT(pn_message_encode(theirs.get(), reinterpret_cast<char*>(out.data()), &size) == 0);
    out.resize(size);
    message back;
    RC_ASSERT(!decode(out, back));
    RC_ASSERT(back.body == m.body);
    RC_ASSERT(back.application_properties == m.application_properties);
    RC_ASSERT(back.message_annotations == m.message_annotations);
    RC_ASSERT(back.delivery_annotations == m.delivery_annotations);
    RC_ASSERT(back.properties.message_id == m.properties.message_id);
    RC_ASSERT(back.properties.correlation_id == m.properties.correlation_id);
    RC_ASSERT(back.header.is_durable());
    RC_ASSERT(back.header.priority == m.header.priority);
    RC_ASSERT(back.header.ttl == m.header.ttl);
}

}  // namespace
}  // namespace sluice::prop

#endif
