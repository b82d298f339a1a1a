// Looking into a message on its way in, and writing what has changed on its way out.
#include "node/message.hpp"

#include "node/checks.hpp"

#include <sluice/codec/value.hpp>
#include <sluice/codec/writer.hpp>

namespace sluice::node::detail {
namespace {

constexpr std::size_t comparisons_max = 1'000'000;  // of keys, when annotations are combined

/// Moves `at` past the section if it is this one. @pre the message is well-formed
void pass(bytes_view octets, std::uint32_t& at, std::uint64_t code, std::string_view name)
{
    auto rest = octets.subspan(at);
    if (skip_value(rest))
        return;
    auto const end = octets.size() - rest.size();
    auto const section = as_described({octets.subspan(at, end - at)});
    if (section && section->is(code, name))
        at = static_cast<std::uint32_t>(end);
}

}  // namespace

result<message_ptr> message::make(bytes octets, std::uint32_t format, clock_time now,
                                  std::int64_t wall)
{
    message_ptr m{new message};
    m->octets_ = std::move(octets);
    m->format_ = format;
    m->arrived_ = now;
    if (format == 0)
        if (auto const failed = m->look_into(now, wall))
            return unexpected{failed};
    return m;
}

std::error_code message::look_into(clock_time now, std::int64_t wall)
{
    message_view view;
    if (auto const failed = decode(octets_, view))
        return failed;
    if (auto const failed = check_sections(view))
        return failed;
    header_ = view.header;
    delivery_count_ = header_.prior_deliveries();
    if (header_.ttl)
        expires_at_ = now + clock_time{*header_.ttl};
    if (auto const at = view.properties.absolute_expiry_time) {
        // Compared before it is subtracted: a time near the end of the type is no time to compute
        // with.
        auto const left =
            at->milliseconds <= wall ? 0 : at->milliseconds - std::max(wall, std::int64_t{0});
        constexpr std::int64_t far = 1ll << 50;
        if (left < far)
            expires_at_ = std::min(expires_at_, now + clock_time{left});
    }
    pass(octets_, header_end_, 0x70, "amqp:header:list");
    deliveries_end_ = header_end_;
    pass(octets_, deliveries_end_, 0x71, "amqp:delivery-annotations:map");
    annotations_end_ = deliveries_end_;
    pass(octets_, annotations_end_, 0x72, "amqp:message-annotations:map");
    return {};
}

void message::annotate(raw_value annotations)
{
    if (format_ != 0 || annotations.empty())
        return;
    message_view view;
    if (decode(octets_, view))
        return;
    value have;
    value more;
    bytes_view own =
        annotations_.empty() ? view.message_annotations.encoded : bytes_view{annotations_};
    bytes_view added = annotations.encoded;
    if ((!own.empty() && decode(own, have)) || decode(added, more))
        return;
    auto const* const from = more.get_if<value_map>();
    if (!from)
        return;
    auto merged = have.get_if<value_map>() ? *have.get_if<value_map>() : value_map{};
    if (from->size() * (merged.size() + from->size()) > comparisons_max)
        return;
    for (auto const& [key, content] : *from) {
        auto const* const there = merged.find_key(key);
        if (there)
            *const_cast<value*>(there) = content;
        else
            merged.add(key, content);
    }
    annotations_ = encoded(value{std::move(merged)});
    changed_ = true;
}

/// The header tells how often delivery has failed, whether somebody had the message before, and how
/// much of its time is left. [3.2.1]
bytes message::head(clock_time now) const
{
    bytes out;
    if (format_ != 0 || (!changed_ && !header_.ttl))
        return out;
    auto h = header_;
    if (changed_) {
        h.delivery_count = delivery_count_;
        h.first_acquirer = false;
    }
    if (h.ttl) {
        auto const spent = (now - arrived_).count();
        h.ttl = spent >= *h.ttl ? 0 : *h.ttl - static_cast<std::uint32_t>(spent);
    }
    append(out, h);
    auto const copy = [&](std::size_t from, std::size_t to) {
        auto const part = octets().subspan(from, to - from);
        out.insert(out.end(), part.begin(), part.end());
    };
    copy(header_end_, deliveries_end_);
    if (annotations_.empty()) {
        copy(deliveries_end_, annotations_end_);
    } else {
        constexpr std::byte described[]{std::byte{0x00}, std::byte{0x53}, std::byte{0x72}};
        out.insert(out.end(), std::begin(described), std::end(described));
        out.insert(out.end(), annotations_.begin(), annotations_.end());
    }
    return out;
}

}  // namespace sluice::node::detail
