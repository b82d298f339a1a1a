"""Mutants: a change that makes the library wrong, and the tests that are expected to notice.

A file `NAME.mutant` reads

    wrong: what the changed library does wrong
    seeded: yes                                     (a fault of the engine: property tests run too)
    caught by: engine Flows.WrittenTogetherCarryTheSameId
    caught by: property NextOutgoingId.*            (a program of PROGRAMS and a GoogleTest filter)
    --- src/engine/write_queue.cpp
    the text to look for, which is there exactly once; how it is broken into lines does not matter
    --- becomes
    the text in its place
    --- end

with as many of the three-part changes as it takes.
"""
import dataclasses
import hashlib
import pathlib
import re

# What a mutant may name as its catcher: the target, and where the program is in the build folder.
PROGRAMS = {
    'codec': ('sluice_codec_tests', 'tests/sluice_codec_tests'),
    'engine': ('sluice_engine_tests', 'tests/sluice_engine_tests'),
    'audit': ('sluice_audit_tests', 'tests/sluice_audit_tests'),
    'net': ('sluice_net_tests', 'tests/sluice_net_tests'),
    'client': ('sluice_client_tests', 'tests/sluice_client_tests'),
    'node': ('sluice_node_tests', 'tests/sluice_node_tests'),
    'property': ('sluice_proptests', 'proptests/sluice_proptests'),
}


class Unusable(Exception):
    """A mutant that cannot be read or no longer applies; the text says what to do."""


@dataclasses.dataclass
class Change:
    file: str
    search: str
    replacement: str

    def apply(self, text, mutant):
        """`text` with the change made."""
        pattern = r'\s+'.join(re.escape(word) for word in self.search.split())
        found = list(re.finditer(pattern, text))
        if len(found) != 1:
            raise Unusable(
                '%s: its text is %s in %s; the code moved on, so take the text from there anew:\n%s'
                % (mutant, 'not' if not found else 'there %d times' % len(found), self.file, self.search))
        at = found[0]
        return text[:at.start()] + self.replacement.strip() + text[at.end():]


@dataclasses.dataclass
class Mutant:
    name: str
    wrong: str
    seeded: bool = False
    catchers: list = dataclasses.field(default_factory=list)  # (program, filter)
    changes: list = dataclasses.field(default_factory=list)
    digest: str = ''

    def apply(self, root):
        """The changed texts, by file. Nothing is written."""
        texts = {}
        for change in self.changes:
            if change.file not in texts:
                path = pathlib.Path(root, change.file)
                if not path.is_file():
                    raise Unusable('%s: there is no file %s; name the one where the code is now'
                                   % (self.name, change.file))
                texts[change.file] = path.read_text(encoding='utf-8')
            texts[change.file] = change.apply(texts[change.file], self.name)
        return texts

    def layer(self):
        return layer_of(self.changes[0].file)


def layer_of(file):
    parts = file.split('/')
    return parts[1] if parts[0] == 'src' else parts[2] if len(parts) > 3 else 'codec'


def parse(name, text):
    head, *rest = re.split(r'^--- (.*)\n', text, flags=re.M)
    mutant = Mutant(name=name, wrong='', digest=hashlib.sha256(text.encode()).hexdigest()[:16])
    for line in filter(None, head.splitlines()):
        key, colon, value = line.partition(':')
        value = value.strip()
        if key == 'wrong':
            mutant.wrong = value
        elif key == 'seeded':
            mutant.seeded = value == 'yes'
        elif key == 'caught by':
            program, _, tests = value.partition(' ')
            if program not in PROGRAMS or not tests.strip():
                raise Unusable('%s: "%s" names no program and filter; the programs are %s'
                               % (name, line, ' '.join(PROGRAMS)))
            mutant.catchers.append((program, tests.strip()))
        else:
            raise Unusable('%s: "%s" is none of wrong, seeded, caught by' % (name, line))
    marks, bodies = rest[0::2], rest[1::2]
    if not marks or len(marks) % 3 or any(marks[i + 1:i + 3] != ['becomes', 'end'] for i in range(0, len(marks), 3)):
        raise Unusable('%s: a change is `--- FILE`, the text, `--- becomes`, the new text, `--- end`' % name)
    for i in range(0, len(marks), 3):
        mutant.changes.append(Change(marks[i].strip(), bodies[i], bodies[i + 1]))
    if not mutant.wrong or not mutant.catchers:
        raise Unusable('%s: says not what is wrong or what catches it' % name)
    return mutant


def load(folder):
    """All mutants of a folder, by name."""
    return {path.stem: parse(path.stem, path.read_text(encoding='utf-8'))
            for path in sorted(pathlib.Path(folder).glob('*.mutant'))}


def test_names(root, program):
    """The tests of a program as its sources name them: [(suite, test)]."""
    folder = 'proptests' if program == 'property' else 'tests/' + program
    found = []
    for path in sorted(pathlib.Path(root, folder).rglob('*.cpp')):
        found += re.findall(r'^(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),\s*(\w+)',
                            path.read_text(encoding='utf-8'), re.M)
    return found


def matches(tests, suite, test):
    """Whether a GoogleTest filter (patterns joined by `:`) names a test, whatever its parameters."""
    full = suite + '.' + test
    for pattern in tests.split(':'):
        regex = re.escape(pattern).replace(r'\*', '.*').replace(r'\?', '.')
        # An instance of a parametrised test is called Prefix/Suite.Test/0.
        if re.fullmatch(r'(.*/)?' + regex, full) or re.fullmatch(regex, 'X/' + full + '/0'):
            return True
    return False


def check(root, mutants):
    """What does not fit the sources any more: one line each."""
    wrong, names = [], {}
    for mutant in mutants.values():
        try:
            texts = mutant.apply(root)
        except Unusable as reason:
            wrong.append(str(reason))
            continue
        for file, text in texts.items():
            if text == pathlib.Path(root, file).read_text(encoding='utf-8'):
                wrong.append('%s: changes nothing in %s' % (mutant.name, file))
        for program, tests in mutant.catchers:
            names.setdefault(program, test_names(root, program))
            for one in tests.split(':'):
                if not any(matches(one, *name) for name in names[program]):
                    wrong.append('%s: no test of %s is called %s any more' % (mutant.name, program, one))
    return wrong
