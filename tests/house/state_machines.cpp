// Writes docs/state-machines.md and docs/state-machines.json from the tables that the engine runs
// on, or (--check) says whether they are what the tables say.
#include "state_machines_dispatch_text.hpp"
#include "state_machines_text.hpp"

#include <sluice/dispatch/states.hpp>
#include <sluice/engine/states.hpp>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace {

using namespace sluice::house;

std::string escaped(std::string_view text)
{
    std::string out;
    for (auto const c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c;
    }
    return out;
}

std::string quoted(std::string_view text) { return '"' + escaped(text) + '"'; }

template <class E>
std::size_t index(E e)
{
    return static_cast<std::size_t>(e);
}

/// One machine: its table, and what is said of its states and events.
template <class Table>
struct machine {
    heading about;
    Table const& table;
    std::span<named const> states;
    std::span<named const> events;

    bool is_final(std::size_t state) const
    {
        for (auto const& row : table.rows())
            if (index(row.from) == state)
                return false;
        return true;
    }

    std::string diagram() const
    {
        std::string out = "```mermaid\nstateDiagram-v2\n    [*] --> ";
        out += std::string{states[0].name} + '\n';
        for (auto const& row : table.rows()) {
            auto const& event = events[index(row.on)];
            if (event.in_diagram)
                out += "    " + std::string{states[index(row.from)].name} + " --> "
                       + std::string{states[index(row.to)].name} + " : " + std::string{event.name}
                       + '\n';
        }
        for (std::size_t i = 0; i < states.size(); ++i)
            if (is_final(i))
                out += "    " + std::string{states[i].name} + " --> [*]\n";
        return out + "```\n";
    }

    std::string markdown() const
    {
        std::string out = "## " + std::string{about.title} + "\n\n" + std::string{about.text}
                          + "\n\n" + diagram() + '\n';
        for (auto const& e : events)
            if (!e.in_diagram)
                out += "Not drawn: `" + std::string{e.name} + "`, in the states that the table "
                       + "names.\n\n";
        out += "| state | what it means |\n|---|---|\n";
        for (std::size_t i = 0; i < states.size(); ++i)
            out += "| `" + std::string{states[i].name} + "`" + (i == 0 ? " (first)" : "")
                   + (is_final(i) ? " (final)" : "") + " | " + std::string{states[i].text} + " |\n";
        out += "\n| event | what happens |\n|---|---|\n";
        for (auto const& e : events)
            out += "| `" + std::string{e.name} + "` | " + std::string{e.text} + " |\n";
        out += "\n| in state | on | then | what is sent or done | what the user sees |\n"
               "|---|---|---|---|---|\n";
        for (auto const& row : table.rows())
            out += "| `" + std::string{states[index(row.from)].name} + "` | `"
                   + std::string{events[index(row.on)].name} + "` | `"
                   + std::string{states[index(row.to)].name} + "` | " + std::string{row.action}
                   + " | " + std::string{row.user} + " |\n";
        out += "\nA pair of state and event without a row: " + std::string{about.otherwise}
               + "\n\nIndeterminate: " + std::string{about.indeterminate} + "\n\n";
        return out;
    }

    std::string json() const
    {
        auto const list = [](auto const& items, auto text) {
            std::string out = "[";
            for (auto const& item : items)
                out += (out.size() > 1 ? ",\n      " : "\n      ") + text(item);
            return out + "\n    ]";
        };
        auto const state = [&](named const& s) {
            auto const i = static_cast<std::size_t>(&s - states.data());
            return "{\"name\": " + quoted(s.name) + ", \"first\": " + (i == 0 ? "true" : "false")
                   + ", \"final\": " + (is_final(i) ? "true" : "false")
                   + ", \"meaning\": " + quoted(s.text) + "}";
        };
        auto const event = [&](named const& e) {
            return "{\"name\": " + quoted(e.name) + ", \"meaning\": " + quoted(e.text) + "}";
        };
        auto const row = [&](auto const& r) {
            return "{\"from\": " + quoted(states[index(r.from)].name)
                   + ", \"on\": " + quoted(events[index(r.on)].name)
                   + ", \"to\": " + quoted(states[index(r.to)].name)
                   + ", \"action\": " + quoted(r.action) + ", \"user\": " + quoted(r.user) + "}";
        };
        return "  {\n    \"name\": " + quoted(about.name) + ",\n    \"section\": "
               + quoted(about.section) + ",\n    \"states\": " + list(states, state)
               + ",\n    \"events\": " + list(events, event) + ",\n    \"transitions\": "
               + list(table.rows(), row) + ",\n    \"otherwise\": " + quoted(about.otherwise)
               + ",\n    \"indeterminate\": " + quoted(about.indeterminate) + "\n  }";
    }
};

template <class Table>
machine(heading, Table const&, std::span<named const>, std::span<named const>) -> machine<Table>;

template <class State, class Event, std::size_t N, std::size_t S, std::size_t E>
auto describe(heading about, sluice::state_table<State, Event, N> const& table,
              named const (&states)[S], named const (&events)[E])
{
    static_assert(S == static_cast<std::size_t>(State::count_), "each state has its text");
    static_assert(E == static_cast<std::size_t>(Event::count_), "each event has its text");
    return machine{about, table, std::span<named const>{states}, std::span<named const>{events}};
}

struct documents {
    std::string markdown;
    std::string json;
};

documents write_documents()
{
    namespace e = sluice::engine;
    documents out{.markdown = std::string{introduction}, .json = "{\"machines\": [\n"};
    auto const add = [&](auto const& m) {
        out.markdown += m.markdown();
        out.json += (out.json.ends_with('}') ? ",\n" : "") + m.json();
    };
    add(describe(about_connection, e::connection_table, connection_states, connection_events));
    add(describe(about_session, e::session_table, session_states, session_events));
    add(describe(about_link, e::link_table, link_states, link_events));
    add(describe(about_outgoing, e::outgoing_table, outgoing_states, outgoing_events));
    add(describe(about_incoming, e::incoming_table, incoming_states, incoming_events));
    namespace d = sluice::dispatch;
    add(describe(about_lifecycle, d::lifecycle_table, lifecycle_states, lifecycle_events));
    add(describe(about_service, d::service_table, service_states, service_events));
    out.markdown += rules_of_writing;
    out.json += "\n]}\n";
    return out;
}

bool same_as_file(std::string const& path, std::string const& wanted)
{
    std::ifstream file{path};
    std::ostringstream text;
    text << file.rdbuf();
    if (file && text.str() == wanted)
        return true;
    std::fprintf(stderr, "%s is not what the engine's tables say: run ./dev docs\n", path.c_str());
    return false;
}

bool write_file(std::string const& path, std::string const& text)
{
    std::ofstream file{path};
    file << text;
    if (file.flush())
        return true;
    std::fprintf(stderr, "cannot write %s\n", path.c_str());
    return false;
}

}  // namespace

int main(int argc, char** argv)
{
    auto const check = argc == 3 && std::string_view{argv[1]} == "--check";
    if (!check && argc != 2) {
        std::fprintf(stderr, "usage: state_machines [--check] FOLDER\n");
        return 2;
    }
    auto const folder = std::string{argv[argc - 1]};
    auto const [markdown, json] = write_documents();
    auto const each = check ? same_as_file : write_file;
    auto const first = each(folder + "/state-machines.md", markdown);
    auto const second = each(folder + "/state-machines.json", json);
    return first && second ? 0 : 1;
}
