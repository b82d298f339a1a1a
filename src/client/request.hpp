// A call that waits for its answer: on the strand it can be answered, given up at its deadline, or
// cancelled.
#pragma once

#include "client/command_queue.hpp"
#include "client/deadline_queue.hpp"

#include <sluice/client/detail/reply.hpp>

namespace sluice::client::detail {

class request;

/// The way of a cancellation signal to the strand. Outlives the request it is for.
class cancel_token final : public canceller,
                           public command,
                           public std::enable_shared_from_this<cancel_token> {
public:
    explicit cancel_token(std::shared_ptr<connection_core> connection)
        : connection_{std::move(connection)}
    {
    }

    void cancel() noexcept override;
    void execute(connection_core& on) override;
    void refuse() noexcept override { kept_.reset(); }

    static void* operator new(std::size_t size) { return ::operator new(size); }
    static void* operator new(std::size_t, void* place) noexcept { return place; }
    static void operator delete(void* p, std::size_t) noexcept { ::operator delete(p); }

    request* target = nullptr;  // strand
    bool cancelled = false;     // strand

private:
    std::shared_ptr<connection_core> connection_;
    std::shared_ptr<cancel_token> kept_;  // while in the queue
    std::atomic<bool> queued_{false};
};

/// Lives on the strand from its execute() on; in at most one list of calls waiting for the same
/// thing.
class request : public command, public timed {
public:
    request* next_waiting = nullptr;
    request* previous_waiting = nullptr;

    /// The deadline has passed (error::timed_out) or the caller cancelled
    /// (error::operation_aborted).
    virtual void give_up(std::error_code why) = 0;
    void on_time() override { give_up(make_error_code(sluice::error::timed_out)); }

    /// Before the push: lets the caller's signal through.
    void accept_cancellation(reply_base& from, std::shared_ptr<connection_core> const& connection);

    /// Strand, first thing in execute(): @returns false if it was cancelled on its way here.
    bool begin() noexcept
    {
        if (token_ && token_->cancelled)
            return false;
        if (token_)
            token_->target = this;
        return true;
    }

protected:
    ~request() override
    {
        if (token_)
            token_->target = nullptr;
    }
    void unbind() noexcept
    {
        if (token_)
            token_->target = nullptr;
    }

private:
    std::shared_ptr<cancel_token> token_;
};

/// Requests in the order they came.
class request_list {
public:
    bool empty() const noexcept { return first_ == nullptr; }
    request* front() const noexcept { return first_; }
    std::size_t size() const noexcept { return size_; }

    void push_back(request& r) noexcept
    {
        r.previous_waiting = last_;
        r.next_waiting = nullptr;
        (last_ ? last_->next_waiting : first_) = &r;
        last_ = &r;
        ++size_;
    }
    void remove(request& r) noexcept
    {
        (r.previous_waiting ? r.previous_waiting->next_waiting : first_) = r.next_waiting;
        (r.next_waiting ? r.next_waiting->previous_waiting : last_) = r.previous_waiting;
        r.next_waiting = r.previous_waiting = nullptr;
        --size_;
    }
    request* pop_front() noexcept
    {
        auto* const r = first_;
        if (r)
            remove(*r);
        return r;
    }

private:
    request* first_ = nullptr;
    request* last_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace sluice::client::detail
