// Filters and subscriptions, encoded.
#include <sluice/client/source_filters.hpp>

namespace sluice::client {
namespace {

// The registered numbers: 0x0000468C << 32 is Apache's domain.
constexpr std::uint64_t apache = 0x0000'468C'0000'0000u;

void add(value_map& to, std::string_view name, std::uint64_t descriptor, value content)
{
    to.add(value{symbol{name}}, value{described_value{.descriptor = value{apache | descriptor},
                                                      .content = std::move(content)}});
}

}  // namespace

bool source_filters::empty() const noexcept
{
    return selector.empty() && !no_local && direct_binding.empty() && topic_binding.empty()
           && others.empty();
}

bytes source_filters::encoded() const
{
    if (empty())
        return {};
    value_map all;
    if (!selector.empty())
        add(all, "apache.org:selector-filter:string", 0x04, value{selector});
    if (no_local)
        add(all, "apache.org:no-local-filter:list", 0x03, value{value_list{}});
    if (!direct_binding.empty())
        add(all, "apache.org:legacy-amqp-direct-binding:string", 0x00, value{direct_binding});
    if (!topic_binding.empty())
        add(all, "apache.org:legacy-amqp-topic-binding:string", 0x01, value{topic_binding});
    for (auto const& [name, content] : others) all.add(name, content);
    bytes out(encoded_size_bound(all));
    out.resize(static_cast<std::size_t>(encode_annotations(all, out.data()) - out.data()));
    return out;
}

receiver_options subscribe(subscription const& s, receiver_options options)
{
    auto& source = options.source;
    source.capabilities.emplace_back("topic");
    if (s.shared)
        source.capabilities.emplace_back("shared");
    if (s.shared && s.global)
        source.capabilities.emplace_back("global");
    if (s.durable) {
        source.durable = terminus_durability::unsettled_state;
        source.expiry_policy = "never";
    }
    if (s.name.empty())
        return options;
    // "name|global-volatile1": what stands before the bar is the subscription's name.
    std::string suffix;
    if (s.shared && s.global)
        suffix = "global";
    if (s.shared && !s.durable)
        suffix += suffix.empty() ? "volatile" : "-volatile";
    if (s.shared && (s.receiver_number > 0 || !s.durable))
        suffix += std::to_string(s.receiver_number + 1);
    options.name = suffix.empty() ? s.name : s.name + '|' + suffix;
    return options;
}

}  // namespace sluice::client
