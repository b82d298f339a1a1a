// SASL frames: who may send which, and when.
#include "sasl_audit.hpp"

namespace sluice::audit::detail {

template <class T>
bool sasl_audit::read(reporter& report, bytes_view body, T& out)
{
    decode_fault fault;
    auto const whole = body;
    if (decode(body, out, &fault)) {
        report.report(rule::decode_error, "a well-formed " + std::string{report.at.performative},
                      fault.message());
        return false;
    }
    if (!body.empty())
        report.report(rule::unexpected_payload, "0 octets behind it",
                      text(std::uint64_t{body.size()}) + " of "
                          + text(std::uint64_t{whole.size()}));
    return true;
}

void sasl_audit::order(reporter& report, rule r, std::string expected,
                       std::string_view actual) const
{
    if (!learned_)
        report.report(r, std::move(expected), std::string{actual});
}

void sasl_audit::on_frame(reporter& report, direction d, unit const& u)
{
    if (u.head.size > frame_size_min_max)
        report.report(rule::sasl_frame_size, "at most 512", text(u.head.size), "octets");
    switch (peek_descriptor(u.octets)) {
    case 0x40: return on_mechanisms(report, d, u.octets);
    case 0x41: return on_init(report, d, u.octets);
    case 0x42: return on_challenge(report, d, u.octets);
    case 0x43: return on_response(report, d, u.octets);
    case 0x44: return on_outcome(report, d, u.octets);
    default: break;
    }
    // Three octets and no more, for credentials may stand behind them.
    report.report(rule::decode_error, "a SASL frame's descriptor, 64 to 68",
                  hex(u.octets.first(std::min<std::size_t>(u.octets.size(), 3))));
}

void sasl_audit::on_mechanisms(reporter& report, direction d, bytes_view body)
{
    report.at.performative = "sasl-mechanisms";
    sasl_mechanisms frame;
    if (!read(report, body, frame))
        return;
    if (d == direction::from_client)
        return order(report, rule::sasl_order, "sasl-init or sasl-response from the client",
                     "sasl-mechanisms");
    if (offered_)
        order(report, rule::sasl_order, "sasl-mechanisms once", "a second one");
    if (frame.sasl_server_mechanisms.size() == 0)
        report.report(rule::sasl_mechanism, "at least one mechanism", "none");
    offered_ = true;
    if (body.size() <= frame_size_min_max)
        mechanisms_.assign(body.begin(), body.end());
}

void sasl_audit::on_init(reporter& report, direction d, bytes_view body)
{
    report.at.performative = "sasl-init";
    sasl_init frame;
    if (!read(report, body, frame))
        return;
    if (d == direction::from_server)
        return order(report, rule::sasl_order, "sasl-init from the client only", "from the server");
    if (started_)
        return order(report, rule::sasl_order, "sasl-init once", "a second one");
    started_ = true;
    if (!offered_)
        return order(report, rule::sasl_order_early, "sasl-mechanisms first", "sasl-init");
    bytes_view offer{mechanisms_};
    sasl_mechanisms offered;
    if (offer.empty() || decode(offer, offered))
        return;
    if (!offered.sasl_server_mechanisms.contains(frame.mechanism))
        report.report(rule::sasl_mechanism, "one of the mechanisms offered",
                      quoted(frame.mechanism.text));
}

void sasl_audit::on_challenge(reporter& report, direction d, bytes_view body)
{
    report.at.performative = "sasl-challenge";
    sasl_challenge frame;
    if (!read(report, body, frame))
        return;
    if (d == direction::from_client)
        return order(report, rule::sasl_order, "sasl-challenge from the server only",
                     "from the client");
    if (ended_)
        return order(report, rule::sasl_order, "nothing after sasl-outcome", "sasl-challenge");
    if (!started_)
        order(report, rule::sasl_order, "sasl-init first", "sasl-challenge");
    ++challenges_;
}

void sasl_audit::on_response(reporter& report, direction d, bytes_view body)
{
    report.at.performative = "sasl-response";
    sasl_response frame;
    if (!read(report, body, frame))
        return;
    if (d == direction::from_server)
        return order(report, rule::sasl_order, "sasl-response from the client only",
                     "from the server");
    ++responses_;
    if (responses_ > challenges_)
        order(report, rule::sasl_order, "a sasl-challenge for each sasl-response",
              text(challenges_) + " challenges, " + text(responses_) + " responses");
}

void sasl_audit::on_outcome(reporter& report, direction d, bytes_view body)
{
    report.at.performative = "sasl-outcome";
    sasl_outcome frame;
    if (!read(report, body, frame))
        return;
    if (d == direction::from_client)
        return order(report, rule::sasl_order, "sasl-outcome from the server only",
                     "from the client");
    if (ended_)
        return order(report, rule::sasl_order, "sasl-outcome once", "a second one");
    if (!started_)
        order(report, rule::sasl_order, "sasl-init first", "sasl-outcome");
    ended_ = true;
    succeeded_ = frame.code == sasl_code::ok;
}

void sasl_audit::on_amqp_header(reporter& report, direction d)
{
    report.at.performative = {};
    auto const server = d == direction::from_server;
    if (!ended_)
        return order(report, server ? rule::sasl_order : rule::sasl_order_early,
                     "sasl-outcome first", "the AMQP header");
    // The client may have sent its header before the outcome came.
    if (!succeeded_)
        order(report, server ? rule::sasl_outcome : rule::sasl_order_early,
              "the connection closed after an outcome other than ok", "the AMQP header");
}

}  // namespace sluice::audit::detail
