// Requests: sent, answered, given up.
#include "client/requester_core.hpp"
#include "client/session_core.hpp"

#include <sluice/net/never.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>

namespace sluice::client {

void requester::start_request(message m, milliseconds timeout, detail::reply_ptr<message> r) const
{
    core_->start(std::move(m), timeout, std::move(r));
}
std::string requester::reply_address() const { return core_->reply_address(); }
requester_counters requester::counters() const noexcept { return core_->counters(); }
void requester::close() const { core_->start_close(); }
executor requester::get_executor() const { return core_->get_executor(); }

namespace detail {
namespace {

namespace asio = boost::asio;

/// Ids that differ in type differ, and equal ones have the same octets.
std::string key_of(value const& id)
{
    std::string out(encoded_size_bound(id), '\0');
    auto* const begin = reinterpret_cast<std::byte*>(out.data());
    out.resize(static_cast<std::size_t>(encode(id, begin) - begin));
    return out;
}

/// Its link may be gone by now: then the peer has it again, and nobody is left to be told. Thrown
/// here, it would end the thread that runs handlers.
template <class F>
void quietly(F f)
{
    try {
        f();
    } catch (boost::system::system_error const&) {
    }
}

std::error_code code_of(outcome const& o)
{
    switch (o.kind()) {
    case outcome_kind::rejected: return make_error_code(error::rejected);
    case outcome_kind::released: return make_error_code(error::released);
    case outcome_kind::modified: return make_error_code(error::modified);
    default: return {};
    }
}

requester_core::clock::time_point time_after(milliseconds wait)
{
    using clock = requester_core::clock;
    return wait >= net::never ? clock::time_point::max() : clock::now() + wait;
}

}  // namespace

requester_core::requester_core(session on, receiver from, sender to, requester_options options)
    : on_{std::move(on)},
      from_{std::move(from)},
      to_{std::move(to)},
      options_{std::move(options)},
      timeout_{options_.timeout.count() == 0 ? on_.core_->timeout() : options_.timeout},
      own_{asio::make_strand(on_.get_executor().get_inner_executor())}
{
}

requester_core::~requester_core() { fail_all(make_error_code(error::operation_aborted), nullptr); }

// ---- any thread

class requester_core::cancel_call final : public canceller {
public:
    explicit cancel_call(std::weak_ptr<requester_core> of) : of_{std::move(of)} {}
    /// On the strand, before anything that was posted when it was cancelled.
    void set_key(std::string key) { *key_ = std::move(key); }
    void cancel() noexcept override
    {
        auto const core = of_.lock();
        if (!core)
            return;
        asio::post(core->own_, [of = of_, key = key_] {
            if (auto const live = of.lock())
                live->give_up(*key, make_error_code(error::operation_aborted), nullptr);
        });
    }

private:
    std::weak_ptr<requester_core> of_;
    std::shared_ptr<std::string> const key_ = std::make_shared<std::string>();
};

void requester_core::start_listening()
{
    asio::dispatch(own_, [self = shared_from_this()] { self->listen(); });
}

void requester_core::start(message m, milliseconds timeout, reply_ptr<message> r)
{
    // Here, on the caller's thread: it may cancel as soon as this has returned.
    std::shared_ptr<cancel_call> cancelling;
    if (r->cancellable())
        r->connect(cancelling = std::make_shared<cancel_call>(weak_from_this()));
    asio::dispatch(own_, [self = shared_from_this(), m = std::move(m), timeout, r = std::move(r),
                          cancelling = std::move(cancelling)]() mutable {
        self->add(std::move(m), timeout, std::move(r), cancelling.get());
    });
}

void requester_core::start_close()
{
    asio::dispatch(own_, [self = shared_from_this()] {
        self->ended_ = make_failure(make_error_code(error::closed_locally),
                                    "the requester was closed by this side");
        self->fail_all(self->ended_->code, self->ended_);
        self->from_.async_close([](error_code) {});
        self->to_.async_close([](error_code) {});
    });
}

std::string requester_core::reply_address() const
{
    return options_.reply_to.empty() ? from_.address() : options_.reply_to;
}

requester_counters requester_core::counters() const noexcept
{
    constexpr auto relaxed = std::memory_order_relaxed;
    return {.requests = requests_.load(relaxed),
            .replies = replies_.load(relaxed),
            .late = late_.load(relaxed),
            .unrelated = unrelated_.load(relaxed),
            .waiting = waiting_.load(relaxed)};
}

// ---- own strand

void requester_core::add(message m, milliseconds timeout, reply_ptr<message> r,
                         cancel_call* cancelling)
{
    if (m.properties.message_id.is_null())
        m.properties.message_id = from_.name() + '-' + std::to_string(next_id_++);
    m.properties.reply_to = reply_address();
    auto key = key_of(m.properties.message_id);
    if (ended_)
        return answer(std::move(r), ended_->code, ended_);
    if (auto const code = refusal(key)) {
        auto text = code == error::queue_full
                        ? std::to_string(options_.waiting_max)
                              + " requests (waiting_max) have no reply yet; wait for some"
                        : std::string{"a request with this message-id waits for its reply"};
        return answer(std::move(r), code, make_failure(code, std::move(text)));
    }
    if (timeout.count() == 0)
        timeout = timeout_;
    auto const deadline = time_after(timeout);
    if (cancelling)
        cancelling->set_key(key);
    auto const made = calls_.emplace(key, call{deadline, std::move(r)}).first;
    deadlines_.emplace(deadline, &made->first);
    requests_.fetch_add(1, std::memory_order_relaxed);
    waiting_.store(calls_.size(), std::memory_order_relaxed);
    if (deadline < listens_until_) {
        rearming_ = true;
        wake_->emit(asio::cancellation_type::terminal);
    }
    send(key, std::move(m));
}

std::error_code requester_core::refusal(std::string const& key) const
{
    if (calls_.contains(key))
        return make_error_code(error::invalid_argument);
    if (calls_.size() >= options_.waiting_max)
        return make_error_code(error::queue_full);
    return {};
}

void requester_core::send(std::string const& key, message m)
{
    to_.async_send(m, asio::bind_executor(
                          own_, [weak = weak_from_this(), key](error_code code, outcome const& o) {
                              if (auto const self = weak.lock())
                                  self->on_sent(key, code, o);
                          }));
}

/// The reply may be here before the outcome; then there is nothing left to say.
void requester_core::on_sent(std::string const& key, error_code code, outcome const& o)
{
    if (code)
        return give_up(key, code, to_.error());
    if (auto const refused = code_of(o))
        give_up(
            key, refused,
            make_failure(refused, "the request was not taken, but " + o.to_string(), o.error()));
}

/// One receive waits at any time, until the next deadline: so that the library's own clock is the
/// only one.
void requester_core::listen()
{
    auto const wait = until_next();
    listens_until_ = time_after(wait);
    from_.async_receive(
        wait, asio::bind_executor(own_, asio::bind_cancellation_slot(
                                            wake_->slot(), [weak = weak_from_this(), kept = wake_](
                                                               error_code code, delivery d) {
                                                if (auto const self = weak.lock())
                                                    self->on_received(code, d);
                                            })));
}

void requester_core::on_received(error_code code, delivery const& d)
{
    if (!code) {
        take(d);
    } else if (code == make_error_code(error::timed_out)) {
        expire();
    } else if (code == make_error_code(error::operation_aborted) && rearming_) {
        rearming_ = false;
    } else {
        if (!ended_) {
            auto const why = from_.error();
            ended_ = make_failure(code, why ? "no more replies: " + why->text : "no more replies",
                                  why ? why->error : amqp_error{});
        }
        return fail_all(ended_->code, ended_);
    }
    listen();
}

void requester_core::take(delivery const& d)
{
    message m;
    if (auto const malformed = decode(d.body(), m)) {
        unrelated_.fetch_add(1, std::memory_order_relaxed);
        return quietly([&] { d.reject({.condition = condition::decode_error}); });
    }
    quietly([&] { d.accept(); });
    auto const& id = m.properties.correlation_id;
    auto const found = calls_.find(key_of(id));
    if (id.is_null() || found == calls_.end()) {
        auto const text = id.text().value_or(std::string_view{});
        auto& count = text.starts_with(from_.name() + '-') ? late_ : unrelated_;
        count.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    auto reply = remove(found);
    replies_.fetch_add(1, std::memory_order_relaxed);
    answer(std::move(reply), {}, nullptr, std::move(m));
}

void requester_core::expire()
{
    auto const now = clock::now();
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        auto reply = remove(calls_.find(*deadlines_.begin()->second));
        auto const code = make_error_code(error::timed_out);
        answer(std::move(reply), code,
               make_failure(code, "no reply from '" + to_.address()
                                      + "' in time; does a responder serve it? A late reply is "
                                        "dropped"));
    }
}

reply_ptr<message> requester_core::remove(calls::iterator which)
{
    auto reply = std::move(which->second.reply);
    deadlines_.erase({which->second.deadline, &which->first});
    calls_.erase(which);
    waiting_.store(calls_.size(), std::memory_order_relaxed);
    return reply;
}

/// Until the first deadline; without one, as long as the usual request may take, so that the next
/// one finds a receive that ends early enough.
milliseconds requester_core::until_next() const
{
    auto first = time_after(timeout_);
    if (!deadlines_.empty())
        first = std::min(first, deadlines_.begin()->first);
    if (first == clock::time_point::max())
        return no_timeout;
    auto const left = std::chrono::ceil<milliseconds>(first - clock::now());
    return std::max(left, milliseconds{1});
}

void requester_core::give_up(std::string const& key, std::error_code why, failure_ptr text)
{
    auto const found = calls_.find(key);
    if (found == calls_.end())
        return;
    auto reply = remove(found);
    answer(std::move(reply), why, std::move(text));
}

void requester_core::fail_all(std::error_code why, failure_ptr const& text)
{
    auto left = std::exchange(calls_, {});
    deadlines_.clear();
    waiting_.store(0, std::memory_order_relaxed);
    for (auto& [key, c] : left) answer(std::move(c.reply), why, text);
}

void requester_core::answer(reply_ptr<message> r, std::error_code code, failure_ptr why,
                            message m) const
{
    auto const& core = on_.core_;
    core->connection()->answer(*core->completions(), std::move(r), code, std::move(why),
                               std::move(m));
}

}  // namespace detail
}  // namespace sluice::client
