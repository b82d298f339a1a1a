"""Writes docs/test-proofs.md from the results of the runs."""
import re

import mechanical
import mutant as mutants_of
from mutant import Unusable

INTRODUCTION = '''# Which change makes which test fail

A test proves something only if it can fail. Each row below was seen: the library was built with the change, and the
test failed. `./dev mutants --write-docs` writes this page from its last runs; a test (`house.mutants_apply`) fails when
a mutant no longer fits the sources. The mutants are in [`tests/mutants/`](../tests/mutants), one file each.
'''


def sentence(test):
    """`Flows.WrittenTogetherCarryTheSameId` as one reads it."""
    suite, _, name = test.partition('.')
    parts = [part for part in suite.split('/') if not part.isdigit()]
    suite = parts[-1] if len(parts) == 1 or not parts[-1] else parts[-1]
    words = re.findall(r'[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])', suite) + re.findall(r'[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])', name.split('/')[0])
    text = ' '.join(word.lower() for word in words)
    return text[:1].upper() + text[1:]


def cell(text):
    return text.replace('|', '\\|').replace('<', '&lt;')


def plain(test):
    """A test's name without its parameters."""
    suite, _, name = test.partition('.')
    return '%s.%s' % (suite.split('/')[1] if suite.count('/') else suite, name.split('/')[0])


def seeded_table(mutants, results):
    yield '## Seeded faults of the engine\n'
    yield 'Beside its unit tests, each meets the property tests, whose judges know the standard and not the engine.'
    yield '`./dev mutants NAME --seed S --cases N` repeats a run.\n'
    yield '| mutant | what is wrong | caught by | property, seed, cases |'
    yield '|---|---|---|---|'
    for one in mutants.values():
        if not one.seeded:
            continue
        result = results[one.name]
        units = [plain(test) for program, tests in result['caught'].items() if program != 'property' for test in tests]
        units += [plain(test) for tests in result['also'].values() for test in tests]
        units = list(dict.fromkeys(units))
        shown = ', '.join('`%s`' % test for test in units[:2]) + (' and %d more' % (len(units) - 2) if len(units) > 2 else '')
        properties = ', '.join('`%s`' % test for test in result.get('properties', [])[:2])
        yield '| `%s` | %s | %s | %s |' % (
            one.name, cell(one.wrong), shown,
            '%s, seed %d, %d cases' % (properties, result['seed'], result['cases']) if properties else '')
    yield ''


def proofs_table(mutants, results):
    """One row for each test: of the mutants that made it fail the one that made the fewest fail."""
    found = {}
    for one in mutants.values():
        result = results[one.name]
        promised = {(program, plain(test)) for program, tests in result['caught'].items() for test in tests}
        others = {(program, plain(test)) for program, tests in result['also'].items() for test in tests}
        breadth = len(promised | others)
        for key in promised | others:
            found.setdefault(key, []).append((key not in promised, breadth, one.name))
    yield '## Tests that were seen to fail\n'
    yield '| behaviour | test | the change that made it fail | mutant |'
    yield '|---|---|---|---|'
    for (program, test), candidates in sorted(found.items()):
        name = min(candidates)[2]
        yield '| %s | `%s.%s` | %s | `%s` |' % (cell(sentence(test)), program, test, cell(mutants[name].wrong), name)
    yield '\n%d tests, %d mutants.\n' % (len(found), len(mutants))


def mechanical_part(root, folder, results):
    yield '## Mechanical mutants\n'
    yield 'Of the write queue, the inbox and the credit code each comparison is flipped (`<` to `<=`, `==` to `!=`, and so on)'
    yield 'and each increment and decrement dropped, one at a time: `./dev mutants --mechanical`.\n'
    keys = mechanical.keys(root)
    found = {key: result for key, result in results.get('mechanical', {}).items() if key in keys and result['caught']}
    by_units = sum(result['program'] == 'engine' for result in found.values())
    survivors = mechanical.read_survivors(folder / 'survivors.txt')
    unexplained = sorted(keys - set(found) - set(survivors))
    if unexplained:
        raise Unusable('no result yet of mechanical mutants, or they survived: %s; run `./dev mutants --mechanical`'
                       % '; '.join(unexplained[:5]))
    yield '%d mutants: unit tests catch %d, the property tests %d more, and %d change nothing that anybody could see:\n' % (
        len(keys), by_units, len(found) - by_units, len(survivors))
    if survivors:
        yield '| file | line | change | why it changes nothing |'
        yield '|---|---|---|---|'
        for key, reason in survivors.items():
            file, line, what = re.fullmatch(r'(\S+): (.*) \[(.*)\]', key).groups()
            yield '| `%s` | `%s` | `%s` | %s |' % (file.split('/')[-1], cell(line), cell(what), cell(reason))
        yield ''


def write(root, folder, results):
    mutants = mutants_of.load(folder)
    seeded = results.get('seeded', {})
    missing = [one.name for one in mutants.values() if seeded.get(one.name, {}).get('digest') != one.digest]
    if missing:
        raise Unusable('no result yet of %s; run `./dev mutants %s` first' % (', '.join(missing), ' '.join(missing)))
    lines = [INTRODUCTION]
    lines += seeded_table(mutants, seeded)
    lines += proofs_table(mutants, seeded)
    lines += mechanical_part(root, folder, results)
    (root / 'docs' / 'test-proofs.md').write_text('\n'.join(lines).rstrip() + '\n', encoding='utf-8')
