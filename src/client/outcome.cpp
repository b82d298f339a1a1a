// Outcomes from the encoded states that a peer sends. [3.4]
#include <sluice/client/outcome.hpp>
#include <sluice/codec/codec.hpp>

namespace sluice::client {

struct outcome::details {
    bytes state;
    amqp_error error;
    bool delivery_failed = false;
    bool undeliverable_here = false;
};

outcome outcome::from(outcome_kind kind, bool settled, raw_value state)
{
    if (kind == outcome_kind::transactional) {  // what it will be, if the transaction is committed
        delivery_state decoded;
        auto const* const t =
            decode(state, decoded) ? nullptr : std::get_if<transactional_state>(&decoded);
        auto const inner = t ? engine::kind_of(t->outcome) : outcome_kind::none;
        if (inner != outcome_kind::none && inner != outcome_kind::transactional)
            return from(inner, settled, t->outcome);
    }
    outcome out{kind, settled};
    if (state.empty() || kind == outcome_kind::accepted || kind == outcome_kind::released)
        return out;
    auto made = std::make_shared<details>();
    made->state.assign(state.encoded.begin(), state.encoded.end());
    delivery_state decoded;
    if (!decode(raw_value{made->state}, decoded)) {
        if (auto const* const r = std::get_if<sluice::rejected>(&decoded))
            made->error = amqp_error::from(r->error);
        if (auto const* const m = std::get_if<sluice::modified>(&decoded)) {
            made->delivery_failed = m->delivery_failed.value_or(false);
            made->undeliverable_here = m->undeliverable_here.value_or(false);
        }
    }
    out.details_ = std::move(made);
    return out;
}

amqp_error const& outcome::error() const noexcept
{
    static amqp_error const nothing;
    return details_ ? details_->error : nothing;
}

bool outcome::delivery_failed() const noexcept { return details_ && details_->delivery_failed; }
bool outcome::undeliverable_here() const noexcept
{
    return details_ && details_->undeliverable_here;
}
bytes_view outcome::state() const noexcept
{
    return details_ ? bytes_view{details_->state} : bytes_view{};
}

std::string outcome::to_string() const
{
    switch (kind_) {
    case outcome_kind::none: return "settled without an outcome";
    case outcome_kind::received: return "received";
    case outcome_kind::accepted: return "accepted";
    case outcome_kind::rejected:
        return error().empty() ? "rejected" : "rejected: " + error().to_string();
    case outcome_kind::released: return "released";
    case outcome_kind::modified:
        return std::string{"modified"} + (delivery_failed() ? ", delivery failed" : "")
               + (undeliverable_here() ? ", undeliverable here" : "");
    case outcome_kind::declared: return "declared";
    case outcome_kind::transactional: return "provisional, in a transaction";
    case outcome_kind::unknown: break;
    }
    return "an outcome of another standard";
}

outcome const& outcome::or_throw() const
{
    switch (kind_) {
    case outcome_kind::rejected:
        net::throw_error(make_error_code(sluice::error::rejected), to_string());
    case outcome_kind::released:
        net::throw_error(make_error_code(sluice::error::released), to_string());
    case outcome_kind::modified:
        net::throw_error(make_error_code(sluice::error::modified), to_string());
    default: return *this;
    }
}

}  // namespace sluice::client
