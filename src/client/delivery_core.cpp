// Deliveries in users' hands, and their answers on the way to the engine.
#include "client/delivery_core.hpp"

#include "client/receiver_core.hpp"

#include <sluice/codec/codec.hpp>

#include <boost/asio/error.hpp>

#include <cstring>

namespace sluice::client::detail {
namespace {

/// @returns false for what is no outcome
bool shorten(delivery_state& outcome)
{
    constexpr std::size_t condition_most = 128;
    if (auto* const r = std::get_if<rejected>(&outcome)) {
        if (r->error && r->error->condition.text.size() <= condition_most)
            r->error = error_view{.condition = r->error->condition};
        else
            r->error.reset();
        return true;
    }
    if (auto* const m = std::get_if<modified>(&outcome)) {
        m->message_annotations = {};
        return true;
    }
    return std::holds_alternative<accepted>(outcome) || std::holds_alternative<released>(outcome);
}

bytes outcome_without_details(raw_value encoded_outcome)
{
    delivery_state outcome;
    if (decode(encoded_outcome, outcome) || !shorten(outcome))
        outcome = released{};
    return encoded(outcome);
}

}  // namespace

bytes without_details(raw_value state)
{
    delivery_state decoded;
    auto* const posted =
        decode(state, decoded) ? nullptr : std::get_if<transactional_state>(&decoded);
    if (!posted)
        return outcome_without_details(state);
    auto const outcome = outcome_without_details(posted->outcome);
    posted->outcome = {outcome};
    return encoded(decoded);
}

/// Waits for the sender's settlement (mode second), or only for the answer's turn (mode first).
class delivery_core::settle_request final : public request {
public:
    settle_request(delivery_core& d, reply_ptr<> r) : delivery_{d}, reply_{std::move(r)}
    {
        d.ref();
        accept_cancellation(*reply_, d.link->connection());
    }
    ~settle_request() override = default;

    void execute(connection_core& on) override
    {
        auto& d = delivery_;
        if ((!d.incoming && !d.away) || d.settled) {
            auto const gone = !d.settled;
            return finish(gone ? make_error_code(sluice::error::stale_delivery) : std::error_code{},
                          nullptr);
        }
        d.settling_ = this;
        on.deadlines().arm(*this, d.link->timeout(), on.now());
        d.link->settle(d);
        if (!d.incoming && !d.away)
            return finish({}, nullptr);
        if (!begin())
            give_up(make_error_code(sluice::error::operation_aborted));
    }
    void refuse() noexcept override
    {
        auto const why = delivery_.link->connection()->failure();
        finish(make_error_code(sluice::error::stale_delivery), why);
    }
    void give_up(std::error_code why) override
    {
        finish(why, make_failure(
                        why, "the sender has not settled the delivery; the answer stays given"));
    }
    void finish(std::error_code code, failure_ptr why)
    {
        auto& d = delivery_;
        d.settling_ = nullptr;
        auto const l = d.link;
        if (armed())
            l->connection()->deadlines().disarm(*this);
        auto reply = std::move(reply_);
        delete this;
        d.unref();
        l->connection()->answer(*l->completions(), std::move(reply), code, std::move(why));
    }

private:
    delivery_core& delivery_;
    reply_ptr<> reply_;
};

class delivery_core::read_request final : public request {
public:
    read_request(delivery_core& d, std::span<std::byte> into, reply_ptr<std::size_t> r)
        : delivery_{d}, into_{into}, reply_{std::move(r)}
    {
        d.ref();
        accept_cancellation(*reply_, d.link->connection());
    }
    ~read_request() override = default;

    void execute(connection_core&) override
    {
        auto& d = delivery_;
        if (!begin())
            return finish(make_error_code(sluice::error::operation_aborted), nullptr, 0);
        if (d.reading_)
            return finish(
                make_error_code(sluice::error::invalid_state),
                make_failure(make_error_code(sluice::error::invalid_state), "one read at a time"),
                0);
        d.reading_ = this;
        d.serve_reader();
    }
    void refuse() noexcept override
    {
        auto const why = delivery_.link->connection()->failure();
        finish(why ? why->code : make_error_code(sluice::error::stale_delivery), why, 0);
    }
    void give_up(std::error_code why) override
    {
        delivery_.reading_ = nullptr;
        finish(why, nullptr, 0);
    }
    void finish(std::error_code code, failure_ptr why, std::size_t size)
    {
        auto& d = delivery_;
        auto const l = d.link;
        auto reply = std::move(reply_);
        delete this;
        d.unref();
        l->connection()->answer(*l->completions(), std::move(reply), code, std::move(why),
                                std::size_t{size});
    }

    std::span<std::byte> into() const noexcept { return into_; }

private:
    delivery_core& delivery_;
    std::span<std::byte> into_;
    reply_ptr<std::size_t> reply_;
};

delivery_core::delivery_core(std::shared_ptr<receiver_core> l) : link{std::move(l)} {}

delivery_core::~delivery_core()
{
    if (small_)
        recycle_free(small_, small_size_);
}

void delivery_core::copy_octets(bytes_view body)
{
    if (body.empty())
        return;
    small_ = static_cast<std::byte*>(recycle_allocate(body.size()));
    small_size_ = body.size();
    std::memcpy(small_, body.data(), body.size());
}

/// The last handle is gone: without an answer the delivery goes back to the peer.
void delivery_core::unref() noexcept
{
    if (count_.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;
    if (!settled && !answered.exchange(true, std::memory_order_acq_rel)) {
        answer_kind = outcome_kind::released;
        count_.store(1, std::memory_order_relaxed);
        auto const keep = link;
        if (!keep->ended() && !stale.load(std::memory_order_acquire)
            && keep->connection()->push_answer(*this))
            return;
        count_.store(0, std::memory_order_relaxed);
    }
    drop_part();
}

void delivery_core::drop_part() noexcept
{
    if (parts_.fetch_sub(1, std::memory_order_acq_rel) == 1)
        delete this;
}

void delivery_core::execute(connection_core&)
{
    link->settle(*this);
    unref();
}

void delivery_core::refuse() noexcept { unref(); }

std::error_code delivery_core::answer(outcome_kind kind, bytes encoded_state)
{
    if (settled)
        return {};
    if (link->ended() || stale.load(std::memory_order_acquire))
        return make_error_code(sluice::error::stale_delivery);
    if (answered.exchange(true, std::memory_order_acq_rel))
        return make_error_code(sluice::error::already_settled);
    answer_kind = kind;
    answer_state = std::move(encoded_state);
    ref();
    if (link->connection()->push_answer(*this))
        return {};
    unref();
    return make_error_code(sluice::error::stale_delivery);
}

void delivery_core::start_settle(bytes state, reply_ptr<> r)
{
    auto code = std::error_code{};
    auto& core = *link->connection();
    if (!settled) {
        if (link->ended() || stale.load(std::memory_order_acquire))
            code = make_error_code(sluice::error::stale_delivery);
        else if (answered.exchange(true, std::memory_order_acq_rel))
            code = make_error_code(sluice::error::already_settled);
    }
    if (settled || code)
        return core.answer(*link->completions(), std::move(r), code, link->failure());
    answer_kind = outcome_kind::none;
    answer_state = std::move(state);
    auto* const request = new settle_request{*this, std::move(r)};
    if (!core.push(*request))
        request->refuse();
}

void delivery_core::start_read(std::span<std::byte> into, reply_ptr<std::size_t> r)
{
    auto* const request = new read_request{*this, into, std::move(r)};
    if (!link->connection()->push(*request))
        request->refuse();
}

// ---- strand

void delivery_core::serve_reader()
{
    if (!reading_)
        return;
    auto* const r = reading_;
    if (!incoming) {
        reading_ = nullptr;
        auto const why = link->failure();
        auto const code = read_end_ ? read_end_
                          : why     ? why->code
                                    : make_error_code(sluice::error::stale_delivery);
        return r->finish(code, why, 0);
    }
    auto const body = incoming->body();
    if (body.empty()) {
        if (!incoming->complete())
            return;
        reading_ = nullptr;
        return r->finish(std::error_code{boost::system::error_code{boost::asio::error::eof}},
                         nullptr, 0);
    }
    auto const n = std::min(body.size(), r->into().size());
    std::memcpy(r->into().data(), body.data(), n);
    link->engine()->consume(*incoming, n);
    link->counted().add(tally::got_octets, n);
    reading_ = nullptr;
    r->finish({}, nullptr, n);
}

void delivery_core::on_part(std::error_code ended)
{
    if (!ended)
        return serve_reader();
    read_end_ = ended;
    settled = true;
    incoming = nullptr;
    serve_reader();
    link->remove_record(*this);  // last: nobody else may have it
}

void delivery_core::on_settled_by_peer()
{
    auto const held = std::exchange(stated, false);
    incoming = nullptr;
    if (settling_)
        settling_->finish({}, nullptr);
    if (held)
        unref();
    link->remove_record(*this);  // last: nobody else may have it
}

raw_value delivery_core::stated_outcome() const noexcept
{
    if (answer_kind == outcome_kind::accepted)
        return {encoded_accepted};
    if (answer_kind == outcome_kind::released)
        return {released_state};
    return {answer_state};
}

void delivery_core::on_stale(failure_ptr const& why)
{
    if (settling_)
        settling_->finish(make_error_code(sluice::error::stale_delivery), why);
    serve_reader();
}

}  // namespace sluice::client::detail
