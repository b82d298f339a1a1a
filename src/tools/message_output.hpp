// Where `sluice recv` puts what it receives.
#pragma once

#include <sluice/client/delivery.hpp>

#include <cstdint>
#include <string>

namespace sluice::tools {

/// All of it goes through a buffer; what is in there has not been written, so its messages are not
/// answered yet. Not thread-safe.
class message_output {
public:
    enum class format : std::uint8_t { text, json, raw, none, file };

    static constexpr std::size_t buffered_max = std::size_t{64} << 10;

    message_output(format f, int descriptor) : format_{f}, descriptor_{descriptor} {}

    /// Appends a message that has arrived whole. @pre not raw, not file
    /// @throws boost::system::system_error for a malformed message
    void add(client::delivery const& d);
    void add_line(std::string_view line) { (buffer_ += line) += '\n'; }
    bool full() const noexcept { return buffer_.size() >= buffered_max; }
    /// Writes what is buffered. @throws std::system_error
    void flush();

private:
    format format_;
    int descriptor_;
    std::string buffer_;
};

/// The body as people read it: text as it is, octets that are none in hexadecimal, other values as
/// a trace shows them.
std::string body_for_people(message const& m);

/// Writes all of it. @throws std::system_error that names `name`
void write_all(int descriptor, bytes_view octets, std::string const& name);

}  // namespace sluice::tools
