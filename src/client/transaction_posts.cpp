// A commit that is held back until the sends before it have their outcomes: what overtook them
// would leave them out.
#include "client/transaction_posts.hpp"

#include "client/connection_core.hpp"
#include "client/sender_core.hpp"

namespace sluice::client::detail {

void transaction_posts::begin() noexcept
{
    std::lock_guard const lock{mutex_};
    ++count_;
}

void transaction_posts::end(std::error_code code, failure_ptr const& why, outcome const& o)
{
    std::function<void()> then;
    {
        std::lock_guard const lock{mutex_};
        if (then_ && !failed_) {
            if (code)
                failed_ = why ? why : make_failure(code, code.message());
            else if (o.rejected() || o.released() || o.modified())
                failed_ = make_failure(make_error_code(sluice::error::rejected),
                                       "the peer " + o.to_string(), o.error());
        }
        if (--count_ == 0)
            then.swap(then_);
    }
    if (then)
        then();
}

bool transaction_posts::when_none(std::function<void()> then)
{
    std::lock_guard const lock{mutex_};
    if (count_ == 0)
        return false;
    then_ = std::move(then);
    return true;
}

bool transaction_posts::waits() const noexcept
{
    std::lock_guard const lock{mutex_};
    return static_cast<bool>(then_);
}

std::size_t transaction_posts::count() const noexcept
{
    std::lock_guard const lock{mutex_};
    return count_;
}

failure_ptr transaction_posts::failed() const
{
    std::lock_guard const lock{mutex_};
    return failed_;
}

// ---- of the controller link

class sender_core::release_command final : public command {
public:
    explicit release_command(std::shared_ptr<sender_core> of) : of_{std::move(of)} {}
    ~release_command() override = default;
    void execute(connection_core&) override
    {
        auto const of = std::move(of_);
        delete this;
        of->release_held();
    }
    void refuse() noexcept override { delete this; }  // its end has answered what it held

private:
    std::shared_ptr<sender_core> of_;
};

/// @returns false if there is nothing to wait for
bool sender_core::hold(send_request& s)
{
    auto then = [self = std::static_pointer_cast<sender_core>(shared_from_this())] {
        auto* const c = new release_command{self};
        if (!self->connection()->push(*c))
            c->refuse();
    };
    if (!s.waits_for || !s.waits_for->when_none(std::move(then)))
        return false;
    s.held = true;
    held_.push_back(s);
    core().deadlines().arm(s, s.timeout, core().now());
    return true;
}

/// Given up before the peer has heard of it.
void sender_core::forget_held(send_request& s)
{
    held_.remove(s);
    drop(s, make_error_code(sluice::error::transaction_rolled_back),
         "given up while " + std::to_string(s.waits_for->count())
             + " sends in it waited for their outcome");
}

void sender_core::release_held()
{
    for (auto* r = held_.front(); r;) {
        auto& s = static_cast<send_request&>(*r);
        r = r->next_waiting;
        if (s.waits_for->waits())  // no matter what has been begun since it was told
            continue;
        held_.remove(s);
        s.held = false;
        if (auto const why = s.waits_for->failed())
            drop(s, make_error_code(sluice::error::transaction_rolled_back),
                 "a send in it failed: " + why->text);
        else
            hand_over(s);
    }
}

}  // namespace sluice::client::detail
