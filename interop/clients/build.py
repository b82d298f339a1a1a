#!/usr/bin/env python3
"""Builds one of these clients: build.py LANGUAGE FOLDER. Prints the command that runs it, a word a line.

Nothing is written beside the sources. Versions are pinned; what is missing is fetched from its registry.
"""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LANGUAGES = ('c', 'cpp', 'python', 'javascript', 'go')


def run(*command, cwd=None, **environment):
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit('build.py: %s failed with %d:\n%s' % (' '.join(command), done.returncode, done.stdout))


def copy(language, folder):
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(os.path.join(HERE, language)):
        shutil.copy(os.path.join(HERE, language, name), folder)


def newer(made, *sources):
    return os.path.exists(made) and all(os.path.getmtime(made) > os.path.getmtime(s) for s in sources)


def agent(language, folder):
    """The command of the agent in the same folder, once it is built."""
    if language == 'python':
        return build(language, folder)[:1] + ['-B', os.path.join(HERE, 'python', 'agent.py')]
    return {'cpp': [os.path.join(folder, 'agent')],
            'javascript': ['node', os.path.join(folder, 'agent.js')],
            'go': [os.path.join(folder, 'client'), 'agent']}[language]


def build(language, folder):
    """The command, as a list."""
    program = os.path.join(folder, 'client')
    os.makedirs(folder, exist_ok=True)
    if language == 'c':
        # Debian has no development name for the library of the proactor.
        run('cc', '-O1', '-Wall', '-Wextra', '-Werror', '-o', program, os.path.join(HERE, 'c', 'client.c'),
            '-l:libqpid-proton-core.so.10', '-l:libqpid-proton-proactor.so.1')
        return [program]
    if language == 'cpp':
        for name in ('client', 'agent', 'listener'):
            source, made = os.path.join(HERE, 'cpp', name + '.cpp'), os.path.join(folder, name)
            if not newer(made, source):
                run('c++', '-O1', '-std=c++17', '-Wall', '-Wextra', '-o', made, source, '-lqpid-proton-cpp')
        return [program]
    if language == 'python':
        for python in ('/usr/bin/python3', sys.executable):  # Debian's package is for Debian's Python
            if subprocess.run([python, '-c', 'import proton'], stderr=subprocess.DEVNULL).returncode == 0:
                return [python, os.path.join(HERE, 'python', 'client.py')]
        sys.exit('build.py: no Python has the module proton; install python3-qpid-proton')
    if language == 'javascript':
        copy(language, folder)
        run('npm', 'ci', '--no-audit', '--no-fund', '--no-update-notifier', cwd=folder)
        return ['node', os.path.join(folder, 'client.js')]
    if language == 'go':
        copy(language, folder)
        run('go', 'build', '-o', 'client', '.', cwd=folder, GOFLAGS='-mod=readonly')
        return [program]
    sys.exit('build.py: no client in %s; there are %s' % (language, ', '.join(LANGUAGES)))


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print('\n'.join(build(sys.argv[1], os.path.abspath(sys.argv[2]))))
