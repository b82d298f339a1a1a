#!/usr/bin/env python3
"""Line coverage by layer, from what a build with --coverage left behind; needs gcov and nothing else.

    coverage.py BUILD_FOLDER [--least PERCENT] LAYER...

Counts a line of src/LAYER or include/sluice/LAYER as covered if any object file ran it. The headers directly in
include/sluice belong to codec. Exit status 1 if a layer is below PERCENT.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def layer_of(path):
    parts = path.parts
    if parts[0] == 'src' and len(parts) > 2:
        return parts[1]
    if parts[:2] == ('include', 'sluice'):
        return parts[2] if len(parts) > 3 else 'codec'
    return None


def notes_of(build, layers):
    """What the compiler wrote beside each object file, whether it ever ran or not.

    Not that of other layers' objects, which see no more than the headers.
    """
    others = {path.name for path in (ROOT / 'src').iterdir()} - set(layers)
    for notes in sorted(build.rglob('*.gcno')):
        targets = re.findall(r'/sluice_(\w+)\.dir/', notes.as_posix())
        if not others & set(targets):
            yield notes


def documents(notes):
    out = subprocess.run(['gcov', '--json-format', '--stdout', notes.name], cwd=notes.parent,
                         capture_output=True, check=True).stdout
    return [json.loads(document) for document in out.splitlines()]


def lines_run(build, layers):
    """{file: {line: was it run?}} of the files of these layers."""
    run = collections.defaultdict(dict)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for data in itertools.chain.from_iterable(pool.map(documents, notes_of(build, layers))):
            for file in data['files']:
                path = pathlib.Path(data['current_working_directory'], file['file']).resolve()
                if not path.is_file() or not path.is_relative_to(ROOT):  # a source that is gone leaves its notes
                    continue
                if layer_of(path.relative_to(ROOT)) not in layers:
                    continue
                known = run[path.relative_to(ROOT)]
                for line in file['lines']:
                    number = line['line_number']
                    known[number] = known.get(number, False) or line['count'] > 0
    return run


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('build', type=pathlib.Path)
    a.add_argument('--least', type=float, default=0)
    a.add_argument('layers', nargs='+')
    o = a.parse_args()
    run = lines_run(o.build, o.layers)
    failed = False
    for layer in o.layers:
        files = {path: lines for path, lines in run.items() if layer_of(path) == layer}
        total = sum(len(lines) for lines in files.values())
        covered = sum(sum(lines.values()) for lines in files.values())
        if total == 0:
            print('%s: no line of it was built with coverage' % layer)
            failed = True
            continue
        for path, lines in sorted(files.items()):
            missed = [number for number, was_run in sorted(lines.items()) if not was_run]
            if missed:
                shown = ' '.join(map(str, missed[:20])) + (' ...' if len(missed) > 20 else '')
                print('  %5.1f %%  %s: not run: %s' % (100 * (1 - len(missed) / len(lines)), path, shown))
        percent = 100 * covered / total
        low = percent < o.least
        failed |= low
        print('%s: %.1f %% of %d lines%s' % (layer, percent, total,
                                             ', less than %g %%' % o.least if low else ''))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
