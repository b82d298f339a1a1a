#!/usr/bin/env python3
"""Proves that the tests can fail: builds the library with a fault in it and expects them to notice.

    run.py [NAME...] [--cases N] [--seed S] [--write-docs]     the seeded mutants (*.mutant), or those named
    run.py --mechanical [FILE...] [--cases N] [--write-docs]   flipped comparisons, dropped increments
    run.py --check                                             do all mutants still apply? builds nothing

Works on a copy in build/mutants/. Exit status: 0 if each was caught, 1 if one survived, 2 if it could not run.
"""
import argparse
import json
import pathlib
import random
import sys
import time

sys.dont_write_bytecode = True

import docs
import mechanical
import mutant as mutants_of
from mutant import PROGRAMS, Unusable
from workshop import BuildFailed, Workshop

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RESULTS = ROOT / 'build' / 'mutants' / 'results.json'
# The properties that drive an engine; those of the codec cannot see it.
ENGINE_PROPERTIES = '*-Codec*'


def say(text):
    print(text, flush=True)


def read_results():
    return json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}


def keep_result(section, name, result):
    everything = read_results()
    everything.setdefault(section, {})[name] = result
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(everything, indent=1, sort_keys=True))


def expect_clean(shop, programs, cases, seed):
    """Without a mutant nothing may fail, or a failure would prove nothing."""
    for program in programs:
        run = shop.run(program, seed=seed, cases=cases, seconds=600)
        if run.failed or run.ended != 'well':
            raise BuildFailed('without any mutant %s of %s fails (%s); see %s/%s.log'
                              % (', '.join(run.failed[:5]), program, run.ended, shop.build_folder, program))


def try_mutant(shop, mutant, cases, seed):
    """What the tests say to one mutant, as a dictionary for the results."""
    programs = list(dict.fromkeys(program for program, _ in mutant.catchers))
    if mutant.seeded and 'property' not in programs:
        programs.append('property')
    shop.change(mutant.apply(shop.tree))
    try:
        shop.build(programs)
        result = {'digest': mutant.digest, 'caught': {}, 'missed': [], 'also': {}, 'ended': {}}
        for program, tests in mutant.catchers:
            if program == 'property' and mutant.seeded:
                tests = ENGINE_PROPERTIES
            run = shop.run(program, tests, seed, cases)
            result['ended'][program] = run.ended
            if program == 'property':
                result.update(properties=run.failed, seed=seed, cases=cases)
            # Each pattern is a promise of its own.
            for pattern in dict(mutant.catchers)[program].split(':'):
                hits = [one for one in run.failed if mutants_of.matches(pattern, *split_name(one))]
                if hits:
                    result['caught'].setdefault(program, []).extend(hits)
                elif run.ended == 'well':
                    result['missed'].append('%s %s' % (program, pattern))
                else:  # the program ended before it came to this one
                    alone = shop.run(program, pattern, seed, cases)
                    if alone.failed:
                        result['caught'].setdefault(program, []).extend(alone.failed)
                    else:
                        result['missed'].append('%s %s' % (program, pattern))
        if mutant.seeded and 'properties' not in result:
            run = shop.run('property', ENGINE_PROPERTIES, seed, cases)
            result.update(properties=run.failed, seed=seed, cases=cases)
        layer = mutant.layer()
        if layer in programs and layer in ('codec', 'engine'):  # what else notices; the others take long
            run = shop.run(layer)
            result['also'][layer] = [one for one in run.failed if one not in result['caught'].get(layer, [])]
        for program in result['caught']:
            result['caught'][program] = sorted(set(result['caught'][program]))
        return result
    finally:
        shop.restore()


def split_name(full):
    suite, _, test = full.partition('.')
    return suite.split('/')[-1] if suite.count('/') else suite, test.split('/')[0]


def run_seeded(names, cases, seed, jobs):
    all_mutants = mutants_of.load(HERE)
    for name in names:
        if name not in all_mutants:
            raise Unusable('no mutant is called %s; there are: %s' % (name, ' '.join(all_mutants)))
    chosen = [all_mutants[name] for name in names or all_mutants]
    wrong = mutants_of.check(ROOT, {one.name: one for one in chosen})
    if wrong:
        raise Unusable('\n'.join(wrong))
    programs = sorted({program for one in chosen for program, _ in one.catchers}
                      | ({'property'} if any(one.seeded for one in chosen) else set()))
    shop = Workshop(ROOT, ROOT / 'build' / 'mutants' / 'tree', jobs)
    say('building the copy, and testing it without a mutant')
    shop.prepare()
    shop.build(programs)
    expect_clean(shop, programs, min(cases, 100), seed)

    survivors = []
    for number, one in enumerate(chosen, 1):
        begin = time.monotonic()
        try:
            result = try_mutant(shop, one, cases, seed)
        except BuildFailed as reason:
            say('%s: %s' % (one.name, reason))
            survivors.append(one.name)
            continue
        keep_result('seeded', one.name, result)
        first = next((found[0] for found in result['caught'].values() if found), 'nothing')
        others = sum(len(found) for found in result['caught'].values()) + sum(map(len, result['also'].values())) - 1
        text = 'SURVIVED: not noticed by ' + ', '.join(result['missed']) if result['missed'] else \
            'caught by %s%s' % (first, ' and %d more' % others if others > 0 else '')
        if one.seeded:
            text += '; ' + ('property %s, seed %d' % (result['properties'][0], seed) if result['properties']
                            else 'no property in %d cases' % cases)
        say('[%d/%d] %-44s %s  (%.0f s)' % (number, len(chosen), one.name, text, time.monotonic() - begin))
        if result['missed']:
            survivors.append(one.name)
    shop.build(programs)
    say('%d mutants, %d survived%s' % (len(chosen), len(survivors), ': ' + ' '.join(survivors) if survivors else ''))
    return 1 if survivors else 0


def run_mechanical(files, cases, seed, jobs):
    """All mutants of all files are in one program; a number in its environment picks one."""
    shop = Workshop(ROOT, ROOT / 'build' / 'mutants' / 'mechanical', jobs)
    say('building the copy')
    shop.prepare()
    switches = mechanical.plant(shop.tree, files or mechanical.FILES)
    shop.build(['engine'])
    say('%d mutants; testing without one first' % len(switches))
    expect_clean(shop, ['engine'], cases, seed)
    known = mechanical.read_survivors(HERE / 'survivors.txt')
    begin = time.monotonic()

    def run(one, program, tests, seconds):
        shop.environment['SLUICE_MUTANT'] = str(one.number)
        found = shop.run(program, tests, seed, cases, seconds)
        keep_result('mechanical', one.key(), {'caught': found.failed[:3], 'program': program, 'ended': found.ended})
        if found.failed and one.key() in known:
            say('%s: is caught by %s now; take it off survivors.txt' % (one.key(), found.failed[0]))
        return found.failed

    left = [one for one in switches if not run(one, 'engine', '*', 60)]
    counts = {'engine': len(switches) - len(left), 'property': 0}
    if [one for one in left if one.key() not in known]:
        say('%d left for the property tests' % len(left))
        del shop.environment['SLUICE_MUTANT']
        shop.build(['property'])
        expect_clean(shop, ['property'], cases, seed)
        after = [one for one in left if one.key() in known or not run(one, 'property', ENGINE_PROPERTIES, 120)]
        counts['property'] = len(left) - len(after)
        left = after
    unexplained = [one for one in left if one.key() not in known]
    counts['known'] = len(left) - len(unexplained)
    for one in unexplained:
        say('SURVIVED: ' + one.key())
    say('%d mutants in %.0f s: %d caught by unit tests, %d by properties, %d survive and are explained, %d survive'
        % (len(switches), time.monotonic() - begin, counts['engine'], counts['property'], counts['known'],
           len(unexplained)))
    return 1 if unexplained else 0


def run_check():
    wrong = mutants_of.check(ROOT, mutants_of.load(HERE)) + mechanical.check(ROOT, HERE / 'survivors.txt')
    for line in wrong:
        say(line)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(prog='./dev mutants', description='The tests against a library with faults.')
    parser.add_argument('names', nargs='*', help='mutants (or, with --mechanical, files); all of them if none is named')
    parser.add_argument('--mechanical', action='store_true', help='flipped comparisons and dropped increments')
    parser.add_argument('--cases', type=int, default=300, help='cases of each property (default 300)')
    parser.add_argument('--seed', type=int, help='of the properties; otherwise one is picked and shown')
    parser.add_argument('--jobs', type=int, default=2, help='compile jobs')
    parser.add_argument('--check', action='store_true', help='only whether the mutants fit the sources')
    parser.add_argument('--write-docs', action='store_true', help='write docs/test-proofs.md from the results so far')
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(1, 1 << 31)
    try:
        if options.check:
            return run_check()
        run = run_mechanical if options.mechanical else run_seeded
        status = run(options.names, options.cases, seed, options.jobs)
        if options.write_docs:
            docs.write(ROOT, HERE, read_results())
        return status
    except (Unusable, BuildFailed) as reason:
        print('mutants: %s' % reason, file=sys.stderr)
        return 2


if __name__ == '__main__':
    sys.exit(main())
