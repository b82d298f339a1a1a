// Links and sessions take turns, frame by frame: whoever may send waits for one frame of each
// other.
#include "support_steps.hpp"

namespace sluice::prop {
namespace {

/// Who could send a frame when a write began, and how many frames of others it has waited for.
class turns {
public:
    explicit turns(world& w) : world_{w}
    {
        w.books.on_transfer = [this](std::size_t side, std::string const& link) {
            if (side == 0)
                on_transfer(link);
        };
    }

    /// One write of side 0, frame by frame as far as that can be told.
    void write()
    {
        ready_.clear();
        for (auto* s : world_.ends[0]->senders) {
            auto const begun = s->queued() > s->unbegun();
            auto const open = s->session().remote_incoming_window() > 0;
            if (s->attached() && open && has_octets(*s) && (begun || s->credit() > 0))
                ready_[s->name()] = &s->session();
        }
        std::erase_if(waited_, [&](auto const& w) { return !ready_.contains(w.first); });
        std::ignore = world_.write(0, world_.options.max_frame_size, false);
    }

    std::string objection;
    bool many_waited = false;
    std::size_t longest = 0;

private:
    /// Something is queued, and it is no stream, which may give up its turn.
    bool has_octets(e::sender& s)
    {
        e::outgoing_delivery* next = nullptr;
        s.for_each_delivery([&](auto& d) {
            if (d.state() == e::outgoing_state::queued || d.state() == e::outgoing_state::begun)
                next = next ? next : &d;
        });
        return next && world_.number_is_whole(*next);
    }

    std::size_t others(e::session const* session) const
    {
        std::size_t count = 0;
        for (auto* s : world_.ends[0]->senders) count += &s->session() == session ? 1u : 0u;
        return count - 1;
    }

    void on_transfer(std::string const& link)
    {
        auto const sender = ready_.find(link);
        auto const* const session = sender == ready_.end() ? nullptr : sender->second;
        many_waited = many_waited || ready_.size() > 2;
        for (auto const& [name, of] : ready_) {
            if (name == link || of != session)
                continue;
            auto const count = ++waited_[name];
            longest = std::max(longest, count);
            if (count > others(session) && objection.empty())
                objection = "link " + name + " could send and waited for " + std::to_string(count)
                            + " frames of others";
        }
        waited_.erase(link);
        ready_.erase(link);  // whether it still can is not known before the next write
    }

    world& world_;
    std::map<std::string, e::session*> ready_;
    std::map<std::string, std::size_t> waited_;
};

TEST(Fairness, NoLinkWaitsForMoreThanAFrameOfEachOther)
{
    shares met;
    weights const w{{12, act::send},      {4, act::send_settled}, {2, act::stream},
                    {2, act::body_ready}, {3, act::flow_session}, {1, act::credit_window},
                    {8, act::write_some}, {6, act::exchange}};
    for_all(met, [&] {
        auto const links = *rc::gen::inRange(2u, 4u);
        world it{{.first_id = some_first_id(),
                  .seed = *rc::gen::arbitrary<unsigned>(),
                  .sessions = *rc::gen::inRange(1u, 3u),
                  .links_each_way = links,
                  .streams_fail = false}};
        it.open();
        turns judge{it};
        for (auto const& s : *steps_of(w)) {
            if (s.what == act::write_some)
                judge.write();
            else if (s.what == act::exchange)
                for (int i = 0; i < 6; ++i) {  // the other side grants, this one writes bit by bit
                    std::ignore = it.ends[1]->be_generous();
                    std::ignore = it.write(1, 1u << 17, true);
                    std::ignore = it.deliver(0, 1u << 20);
                    for (int k = 0; k < 4; ++k) judge.write();
                    std::ignore = it.deliver(1, 1u << 20);
                }
            else
                it.apply(s);
            if (!it.objection.empty())
                break;
        }
        it.conclude();
        met.met("has three links that could send", judge.many_waited);
        met.met("has a link that waits", judge.longest > 0);
        if (!it.objection.empty())
            RC_FAIL(it.objection);
        if (!judge.objection.empty())
            RC_FAIL(judge.objection);
    });
    met.expect_each(10);
}

TEST(Fairness, NoSessionWaitsForMoreThanAFrameOfTheOther)
{
    shares met;
    for_all(met, [&] {
        world it{{.first_id = some_first_id(),
                  .seed = *rc::gen::arbitrary<unsigned>(),
                  .sessions = 2,
                  .links_each_way = 1,
                  .streams_fail = false}};
        it.open();
        std::map<std::string, std::string> session_of;
        for (auto* s : it.ends[0]->senders)
            session_of[s->name()] = std::to_string(s->session().local_channel());
        auto const count = *rc::gen::inRange(1, 20);
        for (int i = 0; i < count; ++i) {
            it.apply({act::send, *rc::gen::inRange(0u, 1u << 20) & ~1u});
            it.apply({act::send, *rc::gen::inRange(0u, 1u << 20) & ~1u});
        }
        // Both can write: in one write, their frames alternate while both have frames left.
        std::map<std::string, std::size_t> could;
        for (auto* s : it.ends[0]->senders)
            if (s->attached() && s->credit() > 0 && s->queued() > 0)
                ++could[session_of[s->name()]];
        std::vector<std::string> order;
        it.books.on_transfer = [&](std::size_t side, std::string const& link) {
            if (side == 0)
                order.push_back(session_of[link]);
        };
        std::ignore = it.write(0, 1u << 17, true);
        met.met("has two sessions that could send", could.size() == 2);
        if (could.size() == 2) {
            // Until one has nothing more, no session has two frames in a row.
            auto const last = [&](auto const& s) {
                return std::find(order.rbegin(), order.rend(), s).base() - order.begin();
            };
            auto const both = std::min(last(could.begin()->first), last(could.rbegin()->first));
            for (std::ptrdiff_t i = 2; i < both; ++i) {
                auto const at = static_cast<std::size_t>(i);
                if (order[at] == order[at - 1] && order[at] == order[at - 2])
                    RC_FAIL("three frames of one session in a row");
            }
        }
        it.conclude();
        if (!it.objection.empty())
            RC_FAIL(it.objection);
    });
    met.expect_each(10);
}

}  // namespace
}  // namespace sluice::prop
