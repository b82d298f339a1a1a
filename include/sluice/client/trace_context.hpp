// W3C trace context in a message's annotations, so that a trace goes on behind a queue.
#pragma once

#include <sluice/codec/message.hpp>
#include <sluice/export.hpp>

#include <array>
#include <optional>
#include <string>

namespace sluice::client {

/// Who sent a message, in terms of a trace: the `traceparent` and `tracestate` of W3C Trace
/// Context, carried as message annotations, which intermediaries keep but may change [3.2.3].
struct SLUICE_EXPORT trace_context {
    std::array<std::uint8_t, 16> trace_id{};  ///< not all zero
    std::array<std::uint8_t, 8> span_id{};    ///< of the sender's span; not all zero
    bool sampled = false;
    std::string state{};  ///< as it came: for tracing systems

    bool valid() const noexcept;
    /// "00-<trace-id>-<span-id>-01"
    std::string traceparent() const;
    /// @returns nothing if the text is not a traceparent of W3C Trace Context 1
    static std::optional<trace_context> parse(std::string_view traceparent,
                                              std::string_view tracestate = {});

    /// Writes it into the annotations, in the place of what is there.
    void inject(message& into) const;
    /// What a message carries, as annotations or, as some clients do, as application properties.
    static std::optional<trace_context> extract(message const& from);

    friend bool operator==(trace_context const&, trace_context const&) = default;
};

}  // namespace sluice::client
