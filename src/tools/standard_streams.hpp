// Standard input, output and error, as a command finds them and leaves them.
#pragma once

#include <cstdio>
#include <string>

namespace sluice::tools {

/// Opens what is closed of descriptors 0 to 2 on /dev/null, the wrong way round: else the next
/// thing that is opened, a socket for one, would get that number, and what is printed would go
/// there. Reading from the first and writing to the others still fail. To be called first of all.
void open_missing_streams() noexcept;

/// Flushes, and keeps what went wrong with standard output for output_fault().
void flush_stream(std::FILE* f) noexcept;

/// Flushes standard output. @returns a sentence if something that was printed since the start has
/// not been written; else nothing
std::string output_fault();

}  // namespace sluice::tools
