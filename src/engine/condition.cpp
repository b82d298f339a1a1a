// Errors that own their text.
#include <sluice/engine/condition.hpp>

namespace sluice {

std::string amqp_error::to_string() const
{
    if (description.empty())
        return condition;
    return condition + ": " + description;
}

amqp_error amqp_error::from(std::optional<error_view> const& view)
{
    if (!view)
        return {};
    return {.condition = std::string{view->condition.text},
            .description = std::string{view->description.value_or(std::string_view{})},
            .info = bytes(view->info.encoded.begin(), view->info.encoded.end())};
}

std::optional<error_view> amqp_error::view() const noexcept
{
    if (empty())
        return std::nullopt;
    error_view out{
        .condition = std::string_view{condition}, .description = std::nullopt, .info = {info}};
    if (!description.empty())
        out.description = description;
    return out;
}

}  // namespace sluice
