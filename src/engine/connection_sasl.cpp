// The exchange of SASL frames, both roles; what a mechanism says is its owner's business. [5.3]
#include <sluice/codec/codec.hpp>
#include <sluice/engine/connection.hpp>
#include <sluice/engine/detail/fault_of.hpp>

namespace sluice::engine {

template <class Frame>
void connection::queue_sasl(Frame const& frame)
{
    auto const before = preamble_.size();
    preamble_.resize(before + frame_header_size);
    append(preamble_, frame);
    write_frame_header(preamble_.data() + before,
                       static_cast<std::uint32_t>(preamble_.size() - before), frame_type::sasl, 0);
    ++counters_.frames_written;
}
template void connection::queue_sasl(sluice::sasl_mechanisms const&);

template <class Frame>
bool connection::decode_sasl(bytes_view body, Frame& out)
{
    auto text = detail::fault_of(body, out);  // "exactly one AMQP type" [5.3.1]
    if (text.empty())
        return true;
    end_output(error::invalid_value, std::move(text), condition::decode_error);
    return false;
}

void connection::on_sasl_frame(bytes_view body)
{
    auto const descriptor = peek_descriptor(body);
    if (descriptor == 0x40 && sasl_ == sasl_step::wait_mechanisms) {
        sluice::sasl_mechanisms m;
        if (!decode_sasl(body, m))
            return;
        for (std::size_t i = 0; i < m.sasl_server_mechanisms.size(); ++i)
            sasl_mechanisms_.emplace_back(m.sasl_server_mechanisms.at(i).text);
        sasl_ = sasl_step::choose;
        return emit({.kind = event_kind::sasl_mechanisms});
    }
    if (descriptor == 0x41 && sasl_ == sasl_step::wait_init) {
        sluice::sasl_init i;
        if (!decode_sasl(body, i))
            return;
        sasl_mechanism_ = std::string{i.mechanism.text};
        auto const response = i.initial_response.value_or(bytes_view{});
        sasl_bytes_.assign(response.begin(), response.end());
        sasl_ = sasl_step::decide;
        return emit({.kind = event_kind::sasl_init});
    }
    if (descriptor == 0x42 && sasl_ == sasl_step::wait_challenge) {
        sluice::sasl_challenge c;
        if (!decode_sasl(body, c))
            return;
        sasl_bytes_.assign(c.challenge.begin(), c.challenge.end());
        sasl_ = sasl_step::respond;
        return emit({.kind = event_kind::sasl_challenge});
    }
    if (descriptor == 0x43 && sasl_ == sasl_step::wait_response) {
        sluice::sasl_response r;
        if (!decode_sasl(body, r))
            return;
        sasl_bytes_.assign(r.response.begin(), r.response.end());
        sasl_ = sasl_step::decide;
        return emit({.kind = event_kind::sasl_response});
    }
    if (descriptor == 0x44 && (sasl_ == sasl_step::wait_challenge || sasl_ == sasl_step::choose)) {
        struct sasl_outcome o;
        if (!decode_sasl(body, o))
            return;
        // Before a choice nobody has shown anything: it may be refused, and not be well.
        if (sasl_ == sasl_step::wait_challenge || o.code != sasl_code::ok)
            return on_sasl_outcome(o);
    }
    end_output(error::frame_out_of_state,
               "SASL frame with descriptor " + std::to_string(descriptor) + " out of turn [5.3.2]",
               condition::illegal_state);
}

void connection::on_sasl_outcome(struct sasl_outcome const& o)
{
    auto const data = o.additional_data.value_or(bytes_view{});
    sasl_bytes_.assign(data.begin(), data.end());
    if (o.code == sasl_code::ok) {
        sasl_ = sasl_step::done;
        layer_in_ = layer::sasl_header;  // an AMQP header comes next, and nothing else may
        queue_header(protocol_id::amqp);
        return emit({.kind = event_kind::sasl_outcome});
    }
    constexpr char const* names[] = {"ok", "auth", "sys", "sys-perm", "sys-temp"};
    auto const code = o.code == sasl_code::auth       ? error::sasl_auth_failed
                      : o.code == sasl_code::sys_temp ? error::sasl_temporary_error
                                                      : error::sasl_system_error;
    emit({.kind = event_kind::sasl_outcome, .code = make_error_code(code)});
    end_output(code,
               std::string{"SASL outcome "} + names[static_cast<std::size_t>(o.code)]
                   + " for mechanism " + sasl_mechanism_ + " [5.3.3.6]",
               condition::unauthorized_access);
}

std::error_code connection::sasl_init(std::string_view mechanism,
                                      std::optional<bytes_view> initial_response,
                                      std::string_view hostname)
{
    if (sasl_ != sasl_step::choose)
        return make_error_code(error::invalid_state);
    sluice::sasl_init i{
        .mechanism = mechanism, .initial_response = initial_response, .hostname = std::nullopt};
    if (!hostname.empty())
        i.hostname = hostname;
    sasl_mechanism_ = std::string{mechanism};
    queue_sasl(i);
    sasl_ = sasl_step::wait_challenge;
    return {};
}

std::error_code connection::sasl_response(bytes_view response)
{
    if (sasl_ != sasl_step::respond)
        return make_error_code(error::invalid_state);
    queue_sasl(sluice::sasl_response{.response = response});
    sasl_ = sasl_step::wait_challenge;
    return {};
}

void connection::sasl_offer(std::vector<std::string> mechanisms)
{
    sasl_offer_ = std::move(mechanisms);
}

std::error_code connection::sasl_challenge(bytes_view challenge)
{
    if (sasl_ != sasl_step::decide)
        return make_error_code(error::invalid_state);
    queue_sasl(sluice::sasl_challenge{.challenge = challenge});
    sasl_ = sasl_step::wait_response;
    return {};
}

std::error_code connection::sasl_outcome(sasl_code code, bytes_view additional)
{
    if (sasl_ != sasl_step::decide)
        return make_error_code(error::invalid_state);
    struct sasl_outcome o {
        .code = code, .additional_data = std::nullopt
    };
    if (!additional.empty())
        o.additional_data = additional;
    queue_sasl(o);
    sasl_ = sasl_step::done;
    if (code == sasl_code::ok) {
        layer_in_ = layer::sasl_header;
        return {};
    }
    error_ = {.condition = condition::unauthorized_access,
              .description = "SASL authentication was refused",
              .info = {}};
    state_ = connection_state::ended;
    finish(make_error_code(error::sasl_auth_failed));
    return {};
}

}  // namespace sluice::engine
