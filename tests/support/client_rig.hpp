// A client under test and the peer that the test plays; calls run in the background and are waited
// for with a limit.
#pragma once

#include "support/scripted_peer.hpp"

#include <sluice/client/client.hpp>

#include <future>
#include <memory>
#include <thread>

namespace sluice::test {

using client::error_code;

/// What a call came to: its result, or its error and text.
template <class T>
struct ended {
    std::optional<T> value;
    error_code code;
    std::string what;
};

/// A blocking call on a thread of its own.
template <class F>
auto in_background(F f)
{
    using result = decltype(f());
    using T = std::conditional_t<std::is_void_v<result>, bool, result>;
    return std::async(std::launch::async, [f = std::move(f)]() mutable {
        ended<T> out;
        try {
            if constexpr (std::is_void_v<result>) {
                f();
                out.value = true;
            } else {
                out.value = f();
            }
        } catch (boost::system::system_error const& e) {
            out.code = e.code();
            out.what = e.what();
        }
        return out;
    });
}

/// The result, unless it takes more than ten seconds: then the whole test program ends, for nothing
/// could be joined.
template <class T>
T get(std::future<T>& f)
{
    if (f.wait_for(std::chrono::seconds{10}) != std::future_status::ready) {
        std::fputs("a call has not completed within ten seconds\n", stderr);
        std::abort();
    }
    return f.get();
}
template <class T>
T get(std::future<T>&& f)
{
    return get(f);
}

inline bytes octets(std::string_view text)
{
    auto const* const data = reinterpret_cast<std::byte const*>(text.data());
    return {data, data + text.size()};
}
/// A message with one data section.
inline bytes data_message(std::string_view text)
{
    bytes out;
    message_writer{out}.data(text);
    return out;
}
inline std::string text_of(bytes_view b)
{
    return {reinterpret_cast<char const*>(b.data()), b.size()};
}

/// A violation on the wire, by whichever side, ends the connection, and with it the test.
inline client::connection_options strict()
{
    client::connection_options o;
    o.audit = client::audit_mode::fatal;
    return o;
}

/// Connection and session, up.
struct client_rig {
    scripted_peer peer;
    client::container container;
    client::connection connection;
    client::session session;

    explicit client_rig(client::session_options options = {.next_outgoing_id = transfer_id{0},
                                                           .next_delivery_id = delivery_number{0}},
                        client::connection_options connection_options = strict(),
                        sluice::open const& theirs = {.container_id = "peer"})
    {
        auto c = in_background([&] { return container.connect(peer.url(), connection_options); });
        peer.open_connection(theirs);
        connection = get(c).value.value();
        auto s = in_background([&] { return connection.begin(options); });
        peer.begin_session();
        session = get(s).value.value();
    }
    ~client_rig()
    {
        peer.shut();  // so that nothing waits for an answer
    }

    client::sender sender(std::uint32_t credit = 0, client::sender_options options = {})
    {
        auto s = in_background([&] { return session.open_sender("q", options); });
        auto const theirs = peer.attach_link();
        if (credit > 0)
            peer.grant(credit, 0, 2048, 0, theirs->handle);
        auto out = get(s);
        EXPECT_TRUE(out.value) << out.what;
        return std::move(*out.value);
    }
    client::receiver receiver(client::receiver_options options = {})
    {
        auto r = in_background([&] { return session.open_receiver("q", options); });
        peer.attach_link();
        auto out = get(r);
        EXPECT_TRUE(out.value) << out.what;
        return std::move(*out.value);
    }
};

}  // namespace sluice::test
