"""docs/interop.md from what the pairings have seen."""
import json
import os

HEAD = '''# Interop: who was tried with whom

Written by `interop/pairing.py table --write` from a run of the tests `interop.pairing.*`; the test `interop.pairing.table` fails
when this page is not what the run saw. `./dev interop` runs all of it on loopback; how a cell is tried stands in
`interop/pairing.py` and `interop/pairing.cpp`. All clients ran against the node with `flow_policy::strict`, all through
`sluice audit` but for those cells in which somebody is killed.

✓: all that was looked at is as one may hope for. A number: what was seen instead stands below, word for word as the test
demands it; a cell fails when anything else is seen, better or worse.
'''

CELLS = '''
## What a cell is

| cell | what has to hold |
|---|---|
| 10,000 messages | of 0 B to 64 KiB, sizes and octets by a seed; come in order and unchanged, and every send is accepted |
| one of 20 MiB | our side writes and reads it in parts; the other side in whatever way it has |
| settle modes | `snd-settle-mode` unsettled, settled, mixed, each with `rcv-settle-mode` first and second, sending and receiving |
| outcomes | accepted and rejected do not come again; released comes again as it was; modified (failed) with a delivery-count |
| credit 1 | one delivery for each credit, none without |
| drain | of a queue with three messages and of an empty one: what is there comes, then no credit is left |
| idle time-out | nothing is said for twice the time-out, and the connection lives; a side that is stopped is given up, and what it held comes back |
| killed in mid-delivery | a receiver that holds half of the messages, a sender in the middle of a message, a connection that is cut, the other side itself: nothing is lost, what was unsettled comes back, nothing hangs |
| body kinds and types | data of one and several sections, sequences of one and several, a value of each type, nested ones too |
| properties | an application property of each type, each field of the properties, annotations, footer |
'''


NAMED_MAX = 8


def load(o, peer, cell):
    try:
        with open(os.path.join(o.state, peer, cell + '.json')) as f:
            return json.load(f)
    except FileNotFoundError:
        return None


def mark(notes, peer, seen):
    """What stands in the table, and in `notes` what it refers to."""
    other = [(fact, observed) for s in seen for fact, observed, ideal in s['facts']
             if observed != ideal and ideal != 'any' and not fact.startswith('findings')]
    if not other:
        return '✓'
    notes.append((peer, grouped(other)))
    return str(len(notes))


def grouped(facts):
    """Facts that share what was seen, told once."""
    by = {}
    for fact, observed in facts:
        by.setdefault(observed, []).append(fact)
    return ['%s: %s' % ('; '.join(names) if len(names) <= NAMED_MAX else '%d of them' % len(names), observed)
            for observed, names in by.items()]


def escaped(text):
    return text.replace('|', '\\|').replace('<', '&lt;').replace('*', '\\*')


def render(o, peers, cells, cells_of, known):
    missing, notes, out = [], [], [HEAD]
    for kind, title in (('client', 'Other people\'s clients against this node'),
                        ('broker', 'This client against brokers and servers')):
        mine = [p for p in peers if (peers[p].kind == 'client') == (kind == 'client')]
        out.append('\n## %s\n\n| | %s |\n|---|%s\n' % (title, ' | '.join(
            '%s %s' % (peers[p].title, peers[p].version()) for p in mine), '---|' * len(mine)))
        for cell, what in cells.items():
            row = []
            for p in mine:
                names = [cell] + (['peer_killed'] if cell == 'killed' and 'peer_killed' in cells_of(p) else [])
                seen = [load(o, p, n) for n in names]
                missing += ['%s.%s' % (p, n) for n, s in zip(names, seen) if s is None or s['problem']]
                row.append(mark(notes, '%s, %s' % (peers[p].title, what), [s for s in seen if s]))
            out.append('| %s | %s |\n' % (what, ' | '.join(row)))
        row = []
        for p in mine:
            row.append(', '.join(known.get(p, {}).get('findings', [])) or 'none')
        out.append('| findings of the auditor against it | %s |\n' % ' | '.join(row))
    out.append('\nAgainst Sluice the auditor found nothing in any of them; a cell fails when it does.\n')
    out.append(CELLS)
    if notes:
        out.append('\n## What was seen instead\n\n')
        for i, (where, facts) in enumerate(notes, 1):
            out.append('%d. %s\n' % (i, where))
            out += ['   - %s\n' % escaped(f) for f in facts]
    return missing, ''.join(out)


def run(o, peers, cells, cells_of, known):
    missing, text = render(o, peers, cells, cells_of, known)
    if missing:
        print('not seen, or not to the end: %s; run ctest -L interop first' % ', '.join(missing))
        return 1
    if o.write:
        with open(o.docs, 'w') as f:
            f.write(text)
        return 0
    with open(o.docs) as f:
        committed = f.read()
    if committed == text:
        print('docs/interop.md is what was seen')
        return 0
    import difflib
    print(''.join(difflib.unified_diff(committed.splitlines(True), text.splitlines(True), 'docs/interop.md', 'seen')))
    print('docs/interop.md is not what was seen; if what was seen is right: '
          'python3 interop/pairing.py --state build/release/pairings --write table')
    return 1
