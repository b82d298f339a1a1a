#!/usr/bin/env python3
"""clang-tidy over folders of sources, many files at a time, which takes a tenth of the time of one by one.

    clang_tidy.py [--jobs N] FOLDER...

Each folder is read as one source. Files that define the same local name twice do not go together: they are parted, by
halves. Findings go to standard output; exit status 1 if there is one.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ['-std=c++20', '-I%s' % (ROOT / 'include'), '-I%s' % (ROOT / 'src'), '-D_GLIBCXX_ASSERTIONS',
         '-DSLUICE_VERSION="0"']


def write_unit(files):
    """A source that includes these, below the project, so that its .clang-tidy is found."""
    folder = ROOT / 'build' / 'tidy'
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile('w', dir=folder, suffix='.cpp', delete=False) as unit:
        for file in files:
            unit.write('// NOLINTNEXTLINE(bugprone-suspicious-include)\n#include "%s"\n' % file)
    return unit.name


def findings(files):
    """What is wrong in these files, as text; None if they cannot be read as one source."""
    unit = files[0] if len(files) == 1 else write_unit(files)
    try:
        if len(files) > 1 and subprocess.run(['clang++-16', '-fsyntax-only', *FLAGS, unit],
                                             capture_output=True).returncode != 0:
            return None
        done = subprocess.run(['clang-tidy-16', '--quiet', str(unit), '--', *FLAGS], capture_output=True, text=True)
        return done.stdout + (done.stderr if done.returncode != 0 else '')
    finally:
        if len(files) > 1:
            os.unlink(unit)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('--jobs', type=int, default=os.cpu_count())
    a.add_argument('folders', nargs='+', type=pathlib.Path)
    o = a.parse_args()
    found, looked_at = False, 0
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        ahead = {}

        def begin(files):
            ahead[pool.submit(findings, files)] = files

        for folder in o.folders:
            files = sorted(folder.resolve().rglob('*.cpp'))
            looked_at += len(files)
            if files:
                begin(files)
        while ahead:
            done = next(concurrent.futures.as_completed(ahead))
            files = ahead.pop(done)
            if done.result() is None:
                begin(files[:len(files) // 2])
                begin(files[len(files) // 2:])
            elif done.result():
                found = True
                print(done.result(), flush=True)
    print('%d files looked at' % looked_at)
    return 1 if found or looked_at == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
