// The scripted end of a connection in memory.
#include "test/memory_pipe.hpp"

#include <sluice/test/fake_peer.hpp>

#include <deque>

namespace sluice::test {

namespace detail {

class raw_end {
public:
    explicit raw_end(pipe_pair pipes) : pipes_{std::move(pipes)} {}
    ~raw_end()
    {
        pipes_.out->end_writing();
        pipes_.in->end_reading();
    }
    memory_pipe& in() const noexcept { return *pipes_.in; }
    memory_pipe& out() const noexcept { return *pipes_.out; }

private:
    pipe_pair pipes_;
};

/// Connections that have come and are not taken yet.
class raw_listener {
public:
    void put(pipe_pair p)
    {
        std::lock_guard const lock{mutex_};
        waiting_.push_back(std::move(p));
        changed_.notify_all();
    }
    std::optional<pipe_pair> take(std::chrono::milliseconds patience)
    {
        std::unique_lock lock{mutex_};
        if (!changed_.wait_for(lock, patience, [this] { return !waiting_.empty(); }))
            return std::nullopt;
        auto p = std::move(waiting_.front());
        waiting_.pop_front();
        return p;
    }
    std::uint16_t port = 0;

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<pipe_pair> waiting_;
};

}  // namespace detail

fake_peer::fake_peer(memory_network const& on, std::chrono::milliseconds patience)
    : network_{on}, patience_{patience}, listener_{std::make_shared<detail::raw_listener>()}
{
    listener_->port =
        network_.hub_->listen(0, [weak = std::weak_ptr{listener_}](detail::pipe_pair p) {
            if (auto const live = weak.lock())
                live->put(std::move(p));
        });
}

fake_peer::~fake_peer()
{
    network_.hub_->forget(listener_->port);
    shut();
}

std::uint16_t fake_peer::port() const noexcept { return listener_->port; }

std::string fake_peer::url(std::string const& query) const
{
    return "amqp://memory:" + std::to_string(port()) + query;
}

void fake_peer::accept()
{
    auto taken = listener_->take(patience_);
    if (!taken)
        throw std::runtime_error{"nobody has connected to the peer in time"};
    end_ = std::make_unique<detail::raw_end>(std::move(*taken));
    sent_ = 0;
}

void fake_peer::connect_to(std::uint16_t port)
{
    auto made = network_.hub_->connect(port);
    if (!made)
        throw std::runtime_error{"nobody listens at port " + std::to_string(port)
                                 + " of this memory_network"};
    end_ = std::make_unique<detail::raw_end>(std::move(*made));
    sent_ = 0;
}

void fake_peer::send_octets(bytes_view octets)
{
    if (!end_)
        throw std::runtime_error{"the peer has no connection: accept() or connect_to() first"};
    auto const until = std::chrono::steady_clock::now() + patience_;
    while (!octets.empty()) {
        net::error_code ec;
        octets = octets.subspan(end_->out().write_some(octets.data(), octets.size(), ec));
        if (ec && ec != boost::asio::error::would_block)
            throw std::runtime_error{"the other side has closed the connection"};
        if (std::chrono::steady_clock::now() > until)
            throw std::runtime_error{"the other side does not read"};
    }
}

void fake_peer::expect_header(protocol_id id)
{
    auto const got = read(8);
    if (!same_bytes(got, protocol_header(id)))
        throw std::runtime_error{"another protocol header came than was expected"};
}

bytes fake_peer::read(std::size_t size)
{
    if (!end_)
        throw std::runtime_error{"the peer has no connection: accept() or connect_to() first"};
    bytes out(size);
    for (std::size_t done = 0; done < size;) {
        auto const n = end_->in().read_within(out.data() + done, size - done, patience_);
        if (!n)
            throw std::runtime_error{"the other side says nothing"};
        if (*n == 0)
            throw std::runtime_error{"the other side has closed the connection"};
        done += *n;
    }
    return out;
}

peer_frame fake_peer::next()
{
    while (true) {
        auto const head = read(frame_header_size);
        peer_frame f{.header = read_frame_header(head.data()), .octets = {}};
        if (f.header.size < frame_header_size)
            throw std::runtime_error{"a frame smaller than its header came"};
        f.octets = read(f.header.size - frame_header_size);
        if (!f.octets.empty())
            return f;
    }
}

// ---- usual conversations

void fake_peer::open_connection(open const& ours)
{
    accept();
    expect_header(protocol_id::amqp);
    send_header(protocol_id::amqp);
    expect<sluice::open>();
    send(ours);
}

received_frame<begin> fake_peer::begin_session(std::uint32_t window)
{
    auto theirs = expect<begin>();
    auto const channel = theirs.frame.header.channel;
    send(begin{.remote_channel = channel,
               .next_outgoing_id = transfer_id{0},
               .incoming_window = window,
               .outgoing_window = window},
         channel);
    return theirs;
}

received_frame<attach> fake_peer::attach_link()
{
    auto theirs = skip_to<attach>();
    attach ours = theirs.value;
    ours.role = theirs->role == role::sender ? role::receiver : role::sender;
    if (ours.role == role::sender)
        ours.initial_delivery_count = sequence_number{0};
    send(ours, theirs.frame.header.channel);
    return theirs;
}

void fake_peer::grant(std::uint32_t credit, std::uint32_t next_incoming_id, handle h)
{
    send(flow{.next_incoming_id = transfer_id{next_incoming_id},
              .incoming_window = 2048,
              .next_outgoing_id = transfer_id{sent_},
              .outgoing_window = 2048,
              .handle = h,
              .delivery_count = sequence_number{0},
              .link_credit = credit});
}

void fake_peer::deliver(std::uint32_t id, bytes_view payload, bool settled, handle h)
{
    std::array<std::byte, 1> const tag{static_cast<std::byte>(id)};
    send(transfer{.handle = h,
                  .delivery_id = delivery_number{id},
                  .delivery_tag = bytes_view{tag},
                  .message_format = 0,
                  .settled = settled},
         0, payload);
    ++sent_;
}

void fake_peer::settle(std::uint32_t first, std::uint32_t last, bytes_view state)
{
    send(disposition{.role = role::receiver,
                     .first = delivery_number{first},
                     .last = delivery_number{last},
                     .settled = true,
                     .state = {state}});
}

void fake_peer::shut() { end_.reset(); }

bool fake_peer::at_end()
{
    std::byte one{};
    auto const n = end_ ? end_->in().read_within(&one, 1, patience_) : std::size_t{0};
    return n && *n == 0;
}

}  // namespace sluice::test
