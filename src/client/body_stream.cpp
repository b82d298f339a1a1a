// Handles on streamed messages.
#include "client/stream_core.hpp"

#include <sluice/client/body_stream.hpp>

namespace sluice::client {

void body_stream::abort() const noexcept { core_->abort(); }
executor body_stream::get_executor() const { return core_->link()->completions()->get_executor(); }

void body_stream::start_write(bytes_view data, bool as_section,
                              detail::reply_ptr<std::size_t> r) const
{
    core_->start_write(data, as_section, std::move(r));
}

void body_stream::start_finish(detail::reply_ptr<outcome> r) const
{
    core_->start_finish(std::move(r));
}

}  // namespace sluice::client
