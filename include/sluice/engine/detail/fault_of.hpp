// Why a performative cannot be taken.
#pragma once

#include <sluice/codec/codec.hpp>

#include <string>

namespace sluice::engine::detail {

/// Decodes `in`, all of which has to be one performative: only a transfer has a payload. [2.3.2]
/// @returns what is wrong with it, or nothing
template <class T>
std::string fault_of(bytes_view in, T& out)
{
    decode_fault fault;
    if (decode(in, out, &fault))
        return fault.message();
    if (!in.empty())
        return std::to_string(in.size())
               + " octets after the performative, which has no payload "
                 "[2.3.2]";
    return {};
}

}  // namespace sluice::engine::detail
