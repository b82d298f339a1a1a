// How write_queue appends a frame that has no payload.
#pragma once

#include <sluice/engine/connection.hpp>
#include <sluice/engine/detail/put.hpp>

namespace sluice::engine {

template <class Performative>
write_result write_queue::put(Performative const& p, std::span<std::byte> out)
{
    auto const size = detail::put_frame(frame_type::amqp, session_.local_channel_, p, out);
    if (size == 0)
        return {.status = write_status::no_room};
    ++session_.connection_.counters_.frames_written;
    return {.status = write_status::wrote, .size = size};
}

}  // namespace sluice::engine
