#!/usr/bin/env python3
"""Runs judges/stale_flow.py against our own node: exact flows pass; stale and leading ones end that session at once, with
both numbers in the error, and the connection stays.

    stale_flow_node.py NODE_HOST
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / 'judges'))
import stale_flow  # noqa: E402


def sections(text):
    """{case: its lines}"""
    out = {}
    for line in text.splitlines():
        if not line.startswith(' '):
            name = line
            out[name] = []
        else:
            out[name].append(line.strip())
    return out


def faults_of(name, lines):
    """What is wrong with the node's answers to one case."""
    text = '\n'.join(lines)
    if name.startswith('exact'):
        good = 'end ' not in text and 'close ' not in text and text.count('accepted') >= 3
        return [] if good else ['an exact flow was not taken']
    exact = re.search(r'exact next-outgoing-id is now (\d+)', lines[0]).group(1)
    sent = re.search(r'flow next-outgoing-id=(\d+)', lines[1]).group(1)
    out = []
    if 'end amqp:session:window-violation' not in lines[1]:
        out.append('the session was not ended at once')
    for what, number in (('exact', exact), ('wrong', sent)):
        if not re.search(r'\b%s\b' % number, lines[1].split('end ', 1)[-1]):
            out.append('the error does not name the %s id %s' % (what, number))
    if 'close ' in text or 'TCP connection closed' in text:
        out.append('more than the session has ended')
    return out


def main():
    node = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        port = node.stdout.readline().strip()
        run = subprocess.run([sys.executable, str(HERE / 'judges' / 'stale_flow.py'), '--port', port],
                             capture_output=True, text=True, timeout=300, check=True)
    finally:
        node.stdin.close()
        node.wait(30)
    print(run.stdout)
    found = sections(run.stdout)
    faults = ['%s: %s' % (name, fault) for name in found for fault in faults_of(name, found[name])]
    faults += ['%s was not run' % name for name in stale_flow.CASES if name not in found]
    print('\n'.join(faults) or 'every exact flow was taken, every other one named')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
