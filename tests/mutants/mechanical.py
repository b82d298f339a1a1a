"""Mechanical mutants: every comparison flipped, every increment and decrement dropped, one at a time."""
import dataclasses
import pathlib
import re

# The write queue, the windows and the credit of links.
FILES = (
    'src/engine/write_queue.cpp',
    'src/engine/write_queue_frames.cpp',
    'src/engine/write_queue_transfers.cpp',
    'include/sluice/engine/detail/write_queue_put.hpp',
    'src/engine/delivery_inbox.cpp',
    'src/engine/delivery_inbox_waiting.cpp',
    'src/engine/sender.cpp',
    'src/engine/receiver.cpp',
)
FLIPPED = {'==': '!=', '!=': '==', '<': '<=', '<=': '<', '>': '>=', '>=': '>'}
COMPARISON = re.compile(r'(?<= )(==|!=|<=|>=|<|>)(?= )')
STATEMENT = re.compile(r'^(\s*(?:if \(.*\) |for \(.*\) )?)((?:\+\+|--)[\w.>\-\[\]()*]+|[\w.>\-]+ [+\-]= [^;]+);(.*)$')

# Goes into the copy. `a < b` becomes `a < lt<7> < b`, which binds as before.
SWITCH_HEADER = '''#pragma once
#include <cstdlib>
namespace sluice::mutation {
inline int const chosen = std::getenv("SLUICE_MUTANT") ? std::atoi(std::getenv("SLUICE_MUTANT")) : 0;
inline bool on(int number) { return chosen == number; }
template <int Number> struct mark {};
template <int Number> inline constexpr mark<Number> at{};
template <class T, int Number> struct half { T const& left; };
#define SLUICE_FLIP(op, flipped) \\
    template <class T, int Number> half<T, Number> operator op(T const& left, mark<Number>) { return {left}; } \\
    template <class T, int Number, class U> bool operator op(half<T, Number> h, U const& right) \\
    { return on(Number) ? static_cast<bool>(h.left flipped right) : static_cast<bool>(h.left op right); }
SLUICE_FLIP(==, !=)
SLUICE_FLIP(!=, ==)
SLUICE_FLIP(<, <=)
SLUICE_FLIP(<=, <)
SLUICE_FLIP(>, >=)
SLUICE_FLIP(>=, >)
#undef SLUICE_FLIP
}
'''


@dataclasses.dataclass
class Switch:
    number: int
    file: str
    line: str   # as it stands in the source, without its indentation
    what: str
    place: int  # which of the same kind in this line

    def key(self):
        return '%s: %s [%s%s]' % (self.file, self.line, self.what, ' #%d' % self.place if self.place > 1 else '')


def code_of(line):
    """A line without its comment and with its literals blanked, as long as before."""
    line = re.sub(r'"(\\.|[^"\\])*"', lambda m: '"' + ' ' * (len(m.group(0)) - 2) + '"', line)
    return re.sub(r'//.*', lambda m: ' ' * len(m.group(0)), line)


def switches_of(file, text, first):
    """All switches of a file, numbered from `first`, and the text with them in it."""
    found, lines, seen = [], text.split('\n'), {}
    asserting = False
    for i, line in enumerate(lines):
        code = code_of(line)
        asserting = asserting or 'assert(' in code
        skipped = asserting or code.lstrip().startswith(('#', 'template'))
        asserting = asserting and ';' not in code
        if skipped:
            continue

        def add(what):
            place = seen[line.strip(), what] = seen.get((line.strip(), what), 0) + 1
            found.append(Switch(first + len(found), file, line.strip(), what, place))
            return found[-1].number

        pieces, end = [], 0
        for match in COMPARISON.finditer(code):
            op = match.group(1)
            number = add('%s -> %s' % (op, FLIPPED[op]))
            pieces += [line[end:match.start()], '%s sluice::mutation::at<%d> %s' % (op, number, op)]
            end = match.end()
        changed = ''.join(pieces) + line[end:]
        statement = STATEMENT.match(code)
        if statement and not pieces:
            start, stop = statement.span(2)
            number = add('without ' + line[start:stop])
            changed = '%sif (!sluice::mutation::on(%d)) { %s; }%s' % (
                line[:start], number, line[start:stop], line[stop + 1:])
        lines[i] = changed
    include = '#include "%s"\n' % SWITCH_FILE
    return found, (text if not found else re.sub(r'^#include', include + '#include', '\n'.join(lines), count=1, flags=re.M))


SWITCH_FILE = 'sluice_mutation.hpp'


def plant(tree, files):
    """Puts the switches of all files into the copy `tree`."""
    tree = pathlib.Path(tree)
    (tree / 'include' / SWITCH_FILE).write_text(SWITCH_HEADER)
    switches = []
    for file in files:
        found, text = switches_of(file, (tree / file).read_text(encoding='utf-8'), len(switches) + 1)
        switches += found
        (tree / file).write_text(text, encoding='utf-8')
    return switches


def read_survivors(path):
    """{key: reason}: a line that starts a survivor, then its reason, indented."""
    known, key = {}, None
    for line in path.read_text(encoding='utf-8').splitlines() if path.is_file() else []:
        if line.startswith('#') or not line.strip():
            continue
        if line.startswith(' '):
            known[key] = (known[key] + ' ' + line.strip()).strip()
        else:
            key = line.strip()
            known[key] = ''
    return known


def keys(root):
    """Of all mutants of the sources as they are."""
    return {one.key() for file in FILES
            for one in switches_of(file, pathlib.Path(root, file).read_text(encoding='utf-8'), 1)[0]}


def check(root, path):
    """What the list of survivors says of lines that are not there any more."""
    here, wrong = keys(root), []
    for key, reason in read_survivors(path).items():
        if key not in here:
            wrong.append('survivors.txt: no mechanical mutant is "%s" any more; take it off or adapt it' % key)
        if not reason:
            wrong.append('survivors.txt: "%s" has no reason' % key)
    return wrong
