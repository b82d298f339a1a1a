// Two engines with a user each, a wire between them that carries octets when a step says so, and an
// auditor at either end. Everything follows from the steps and one seed.
#pragma once

#include "support/engine_pair.hpp"
#include "support_books.hpp"
#include "support_parcels.hpp"

#include <sluice/audit/checker.hpp>
#include <sluice/engine/frame_trace.hpp>

#include <iosfwd>
#include <vector>

namespace sluice::prop {

/// One thing that an end's user does, or that happens to the wire.
enum class act : std::uint8_t {
    send,
    send_settled,
    stream,
    body_ready,
    cancel,
    sender_settle,
    credit,
    credit_window,
    drain,
    flow_link,
    flow_session,
    settle,
    update,
    read_body,
    write_some,
    write_all,
    deliver_some,
    deliver_all,
    exchange,
    begin,
    end,
    attach,
    detach,
    close,
    count_
};

struct step {
    act what = act::write_some;
    unsigned n = 0;
};
std::ostream& operator<<(std::ostream& out, step const& s);

/// How octets are handed to their receiver: nothing may depend on it.
enum class cutting : std::uint8_t { as_they_come, one_by_one, at_random };

struct world_options {
    std::uint32_t first_id = 0;  // of everything that counts
    unsigned seed = 1;
    cutting cut = cutting::as_they_come;
    std::size_t write_room = 128 * 1024;  // of one call, where all is written
    std::uint32_t max_frame_size = 512;
    unsigned sessions = 1;
    unsigned links_each_way = 2;  // in each session
    bool refusals = false;        // the acceptor refuses some sessions and links
    bool streams_fail = true;
    bool keep_octets = false;  // for a replay
    std::uint32_t idle_timeout_ms = 0;
    bool faults = false;  // the network breaks: what that does to a connection is no objection
};

class world;

/// One end and its user.
class world_end {
public:
    world_end(world& w, std::size_t side);

    e::connection engine;
    std::vector<e::session*> sessions;  // not ended, and nobody has asked for it
    std::vector<e::sender*> senders;    // the same
    std::vector<e::receiver*> receivers;
    std::vector<e::sender*> leaving;    // senders that finish what they have begun
    std::vector<e::receiver*> parting;  // receivers of a session whose end waits for that
    bool closed = false;                // connection_closed was heard
    bool closing = false;

    void act_on(act what, unsigned n);
    void poll();
    /// Does what lets the other side go on: grants, reads, settles. @returns whether it has read or
    /// settled anything
    bool be_generous();

private:
    friend class world;
    void send(unsigned n, bool settled);
    void start_stream(unsigned n);
    void wake_sources();
    void cancel(unsigned n);
    void settle_first(unsigned n);
    void settle(unsigned n);
    void update(unsigned n);
    void read_body(unsigned n);
    void begin_one(unsigned n);
    void attach_one(unsigned n);
    void detach_one(unsigned n);
    void end_one(unsigned n);
    void close_one(unsigned n);
    void ask_flow(e::link* l, e::session* s, bool within_frame, bool echo);
    e::sender* pick_sender(unsigned n);
    e::receiver* pick_receiver(unsigned n);

    void on_event(e::event const& ev);
    void accept(e::event const& ev);
    void finish(e::outgoing_delivery& d, std::string how);
    void read(e::incoming_delivery& d, std::size_t count);
    void note_outcome(e::incoming_delivery& d, bytes const& state, bool whole);
    void note(e::event const& ev);
    void on_outcome(e::event const& ev);
    void settle_one(e::incoming_delivery& d, unsigned how);
    void lose(e::link& l);
    void drop(e::session& s);
    void blame(amqp_error const& why, std::string const& what);

    world& world_;
    std::size_t side_;
    bool polling_ = false;
};

class world {
public:
    explicit world(world_options options);

    /// Both ends open, with sessions and links as the options say, everything at rest.
    void open();
    void apply(step const& s);
    void run(std::vector<step> const& steps);

    /// Both ends grant and settle until nothing moves. @returns the rounds that it took
    std::size_t come_to_rest(std::size_t rounds_max);
    /// Comes to rest, closes, and judges: the auditors, every parcel, both ends.
    void conclude();

    std::string objection;  // the first thing that is wrong
    void object(std::string what);

    world_options options;
    std::array<std::unique_ptr<world_end>, 2> ends;
    wire_books books;
    std::map<std::uint32_t, parcel> parcels;
    std::map<std::uint32_t, std::unique_ptr<parcel_source>> sources;
    std::array<bytes, 2> octets;  // all that each side has written, if kept
    std::string log;              // events and frames in order, if kept
    std::string trace;            // steps and frames in order, with SLUICE_TRACE in the environment
    e::time_point now{0};

    /// The delivery is a parcel whose octets are all there, not a stream.
    bool number_is_whole(e::outgoing_delivery const& d) const
    {
        auto const at =
            parcels.find(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(d.context)));
        return at != parcels.end() && at->second.size;
    }
    bool write(std::size_t side, std::size_t room, bool all);
    bool deliver(std::size_t to, std::size_t count);
    void audit(std::size_t at, std::size_t from, bytes_view in);
    void collect_findings();
    /// Octets on their way to an end.
    std::size_t pending(std::size_t to) const { return pipes_[to].size() - taken_[to]; }
    /// The transport is gone for this end.
    void transport_ends(std::size_t side);
    /// What was promised of every parcel, and of both ends.
    void judge();
    unsigned random() { return (random_ = random_ * 1664525u + 1013904223u) >> 8; }

private:
    friend class world_end;
    bool exchange_once();

    std::array<bytes, 2> pipes_;  // towards side i
    std::array<std::size_t, 2> taken_{};
    std::array<audit::checker, 2> auditors_;
    std::array<e::frame_trace, 2> traces_{e::frame_trace{"-> "}, e::frame_trace{"<- "}};
    bool tracing_ = false;
    std::vector<std::byte> buffer_;
    unsigned random_;
    unsigned cut_random_;
    std::uint32_t next_parcel_ = 1;
    unsigned next_name_ = 1;
    std::size_t pulls_ = 0;  // of body sources
};

}  // namespace sluice::prop
