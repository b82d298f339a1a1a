"""A copy of the sources in which a mutant is built and tested."""
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import time

from mutant import PROGRAMS

COPIED = ('CMakeLists.txt', 'LICENSE', 'cmake', 'include', 'src', 'tests', 'proptests', 'tools')
MEMORY_MAX = 3 << 30  # a mutant may ask for memory without end
TEST_SECONDS_MAX = 60


class BuildFailed(Exception):
    pass


class Run:
    """What one test program said."""

    def __init__(self, program, failed, ended, seed=None, cases=None):
        self.program = program
        self.failed = failed  # names of tests
        self.ended = ended    # 'well', 'crash' or 'hang'
        self.seed = seed
        self.cases = cases


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Workshop:
    def __init__(self, root, folder, jobs):
        self.root = pathlib.Path(root)
        self.tree = pathlib.Path(folder)
        self.build_folder = self.tree / 'build'
        self.jobs = jobs
        self.changed = []
        # Objects are found again in other copies, and in the next run.
        self.environment = dict(os.environ, CCACHE_BASEDIR=str(self.tree), CCACHE_NOHASHDIR='1')

    def prepare(self):
        """Makes the copy like the sources are now; touches only what differs, and configures."""
        wanted = set()
        for name in COPIED:
            top = self.root / name
            if not top.exists():
                continue
            for path in [top] if top.is_file() else sorted(top.rglob('*')):
                if not path.is_file() or '__pycache__' in path.parts:
                    continue
                below = path.relative_to(self.root)
                wanted.add(below)
                copy = self.tree / below
                if not copy.is_file() or copy.read_bytes() != path.read_bytes():
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, copy)
        for name in COPIED:
            for path in [p for p in (self.tree / name).rglob('*') if p.is_file()]:
                if path.relative_to(self.tree) not in wanted:
                    path.unlink()
        # Cheap to build and fast enough to run. Without assertions, as `release` has it, so that a test
        # has to notice; what an assertion notices besides is one more chance.
        flags = ['-DCMAKE_BUILD_TYPE=', '-DCMAKE_CXX_COMPILER=g++', '-DCMAKE_CXX_FLAGS=-O1 -DNDEBUG',
                 '-DSLUICE_TESTS=ON', '-DSLUICE_PROPTESTS=ON', '-DSLUICE_TOOLS=ON']
        if shutil.which('ld.gold'):
            flags.append('-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=gold')
        self.call(['cmake', '-S', self.tree, '-B', self.build_folder, '-G', 'Ninja'] + flags, 'configuring failed')

    def call(self, command, failed):
        done = subprocess.run([str(one) for one in command], env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise BuildFailed('%s: %s\n%s' % (failed, ' '.join(map(str, command)), done.stdout[-4000:]))

    def build(self, programs):
        targets = [PROGRAMS[program][0] for program in programs]
        self.call(['cmake', '--build', self.build_folder, '-j', self.jobs, '--target'] + targets, 'it does not compile')

    def change(self, texts):
        """Puts changed texts in place of the originals; returns what was wrong, or nothing."""
        for file, text in texts.items():
            path = self.tree / file
            self.changed.append((path, path.read_text(encoding='utf-8')))
            path.write_text(text, encoding='utf-8')

    def restore(self):
        while self.changed:
            path, text = self.changed.pop()
            path.write_text(text, encoding='utf-8')

    def run(self, program, tests='*', seed=None, cases=None, seconds=TEST_SECONDS_MAX):
        binary = self.build_folder / PROGRAMS[program][1]
        report = self.build_folder / ('%s.json' % program)
        report.unlink(missing_ok=True)
        environment = dict(self.environment, GTEST_OUTPUT='json:%s' % report)
        if program == 'property':
            environment['RC_PARAMS'] = 'seed=%d max_success=%d noshrink=1' % (seed, cases)
        # A file and not a pipe, for nobody reads while it runs; one that repeats itself without end is cut off.
        log = self.build_folder / ('%s.log' % program)
        ended = 'well'
        with open(log, 'wb') as out:
            process = subprocess.Popen([str(binary), '--gtest_filter=' + tests], cwd=self.tree, env=environment,
                                       stdout=out, stderr=subprocess.DEVNULL, preexec_fn=limit)
            began = time.monotonic()
            while process.poll() is None:
                try:
                    process.wait(0.5)
                except subprocess.TimeoutExpired:
                    pass
                if process.poll() is None and (time.monotonic() - began > seconds or log.stat().st_size > 1 << 28):
                    process.kill()
                    process.wait()
                    ended = 'hang'
        failed = []
        if report.is_file():
            for suite in json.loads(report.read_text())['testsuites']:
                failed += ['%s.%s' % (suite['name'], test['name'])
                           for test in suite['testsuite'] if test.get('failures')]
        else:
            with open(log, errors='replace') as text:
                lines = text.read(1 << 26)
            failed = re.findall(r'^\[  FAILED  \] ([^ ,\n]+).* \(\d+ ms\)', lines, re.M)
            begun = re.findall(r'^\[ RUN      \] (\S+)', lines, re.M)
            failed += begun[-1:]  # the one in which it ended
            ended = ended if ended == 'hang' else 'crash'
        return Run(program, sorted(set(failed)), ended, seed, cases)
