// A node, and channels on it.
#pragma once

#include <sluice/channel/select.hpp>
#include <sluice/client/client.hpp>
#include <sluice/node/node.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/describe.hpp>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>

namespace sluice::channels {

struct job {
    int id = 0;
    std::string name{};
    std::optional<double> weight{};
    std::vector<int> parts{};
    friend bool operator==(job const&, job const&) = default;
};
BOOST_DESCRIBE_STRUCT(job, (), (id, name, weight, parts))

struct channel_rig {
    node::node node;
    std::uint16_t const port = node.listen("127.0.0.1", 0).value();
    client::container container{"channels"};

    std::string url() const { return "amqp://127.0.0.1:" + std::to_string(port); }
    client::connection connect(client::connection_options o = {})
    {
        return container.connect(url(), std::move(o));
    }
};

/// The error that a call throws; none if it does not.
template <class F>
client::error_code error_of(F f)
{
    try {
        f();
    } catch (boost::system::system_error const& e) {
        return e.code();
    }
    return {};
}
template <class F>
std::string what_of(F f)
{
    try {
        f();
    } catch (std::exception const& e) {
        return e.what();
    }
    return {};
}

inline std::string text_of(bytes const& b) { return codec<std::string>::decode(b); }

/// As many as that variable of the environment says.
inline int wanted(char const* variable, int usual)
{
    auto const* const text = std::getenv(variable);
    return text ? std::atoi(text) : usual;
}

/// Asks until it is so.
template <class T, class F>
channel_state wait_until(sluice::channel<T> const& c, F is_so)
{
    for (;;) {
        auto const s = c.state();
        if (is_so(s))
            return s;
        std::this_thread::yield();
    }
}

}  // namespace sluice::channels
