#!/usr/bin/env python3
"""Adds up the test results of several presets and prints the verdict of `./dev test`.

    sum_results.py PRESET-build=STATUS PRESET-test=STATUS ...

STATUS is the exit status of that step; results are read from build/PRESET/junit.xml, as ctest writes it. A step that
failed without a failed test to show for it (a build, a ctest that could not run) counts as one failure.
The last line is exactly `N passed, N failed, N skipped`; the exit status is 1 if anything failed.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as ET


# What tells why: the project's own programs, GoogleTest, sanitizers, libFuzzer, Python.
TELLING = re.compile(r'^WRONG |is not what was seen|ERROR: |SUMMARY: |WARNING: ThreadSanitizer|: Failure$|Falsifiable'
                     r'|Error: |(?<!-)[Ee]rror: |^dev: ')


def reason(case, most=4):
    """The lines of a failed test's output that tell why, or its last ones."""
    lines = [line.strip()[:200] for line in (case.findtext('system-out') or '').splitlines() if line.strip()]
    return [line for line in lines if TELLING.search(line)][:most] or lines[-most:]


def read(path):
    """The names of the tests by what became of them, and what those that failed say."""
    found = {'passed': [], 'failed': [], 'skipped': [], 'reasons': {}}
    for case in ET.parse(path).getroot().iter('testcase'):
        status, skipped = case.get('status'), case.find('skipped')
        if status == 'run':
            found['passed'].append(case.get('name'))
        elif status == 'disabled':
            found['skipped'].append(case.get('name'))
        elif skipped is not None and (skipped.get('message') or '').startswith('SKIP_'):
            found['skipped'].append(case.get('name'))
        else:  # failed, or not run because its program or what it needs is missing
            found['failed'].append(case.get('name'))
            found['reasons'][case.get('name')] = reason(case)
    return found


def main(arguments, build=pathlib.Path('build')):
    total = {'passed': 0, 'failed': 0, 'skipped': 0}
    for argument in arguments:
        step, status = argument.rsplit('=', 1)
        preset, kind = step.rsplit('-', 1)
        if kind == 'build':
            if status != '0':
                print('FAILED  %s: build' % preset)
                total['failed'] += 1
            continue
        try:
            found = read(build / preset / 'junit.xml')
        except (OSError, ET.ParseError) as problem:
            print('FAILED  %s: no test results (%s)' % (preset, problem))
            total['failed'] += 1
            continue
        for name in found['failed']:
            print('FAILED  %s: %s' % (preset, name))
            for line in found['reasons'][name]:
                print('        %s' % line)
        for name in found['skipped']:
            print('skipped %s: %s' % (preset, name))
        if status != '0' and not found['failed']:
            print('FAILED  %s: ctest ended with %s' % (preset, status))
            total['failed'] += 1
        print('%-8s%d passed, %d failed, %d skipped'
              % (preset, len(found['passed']), len(found['failed']), len(found['skipped'])))
        for key in total:
            total[key] += len(found[key])
    print('%(passed)d passed, %(failed)d failed, %(skipped)d skipped' % total)
    return 1 if total['failed'] else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
