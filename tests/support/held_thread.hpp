// A container's I/O thread, kept busy by a test, so that the test says what comes together.
#pragma once

#include <sluice/client/client.hpp>

#include <future>
#include <memory>

namespace sluice::test {

/// Stands in line on the I/O thread from the beginning; holds it, once it is its turn, until it may
/// go on.
class held_thread {
public:
    explicit held_thread(client::container& c)
    {
        client::connection_options busy;
        busy.connector = [reached = reached_, wait = go_on_.get_future().share()](auto&&, auto&&,
                                                                                  auto&&, auto&&) {
            reached->set_value();
            wait.wait();
            return nullptr;
        };
        c.async_connect("amqp://127.0.0.1", busy,
                        [](client::error_code, client::connection const&) {});
    }
    void wait_until_held() { reached_->get_future().wait(); }
    void go_on() { go_on_.set_value(); }

private:
    std::shared_ptr<std::promise<void>> reached_ = std::make_shared<std::promise<void>>();
    std::promise<void> go_on_;
};

/// What `f` asks for is all taken at once.
template <class F>
void all_at_once(client::container& c, F f)
{
    held_thread held{c};
    held.wait_until_held();
    f();
    held.go_on();
}

/// The peer's octets, which `sends` sends, are read first, and what `asks` asks for is there by
/// then.
template <class F, class G>
void all_at_once_behind(client::container& c, F sends, G asks)
{
    held_thread first{c};
    first.wait_until_held();
    sends();
    held_thread second{c};
    first.go_on();  // the octets are seen to be there, and their reader stands in line
    second.wait_until_held();
    asks();
    second.go_on();
}

}  // namespace sluice::test
