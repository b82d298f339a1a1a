#!/usr/bin/env python3
"""Runs a client against a broker between two proofs that the broker, and our auditor, would have objected.

    negative_control.py --port P --tap PROGRAM -- CLIENT [ARGUMENT...]

A run without a session error means something only if the same broker, at the same time, ends a session whose flow is
wrong. So a raw client (judges/stale_flow.py) shows before and after CLIENT, on 127.0.0.1:P:
  exact     all flows exact: the session goes on
  stale-1   a flow that is one too low: the session is ended with window-violation
  ahead-1   a flow that is one too high is taken, and the session is ended at its next exact flow
Each goes through PROGRAM (tap.cpp), whose auditor has to see 0, 1 and 1 flows that are not exact.

The exit status is 0 only if all this holds and CLIENT ends with 0.
"""
import argparse
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'judges'))
import stale_flow  # noqa: E402

VIOLATION = 'amqp:session:window-violation'
# name: (offset of the flow, the step that it is ended at, flows that the auditor objects to)
CONTROLS = {'exact': (0, None, 0), 'stale-1': (-1, 'the flow', 1), 'ahead-1': (1, 'the next exact flow', 1)}


class Tap:
    """tap.cpp in front of the broker, for one connection."""

    def __init__(self, program, port):
        self.process = subprocess.Popen([program, '--port', str(port)], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline().split('=')[1])

    def finish(self):
        text, _ = self.process.communicate(timeout=20)
        first, *findings = text.splitlines()
        return {k: int(v) for k, v in (word.split('=') for word in first.split())}, findings


def ended(frames):
    """The end of a session among these frames, as text."""
    for f in frames:
        if f.name in ('end', 'close'):
            return '%s %s' % (f.name, f.error_text())
    return None


def misbehave(port, offset):
    """One session with one flow off by so much. Answers at which step it was ended, and how."""
    p = stale_flow.Peer(port)
    p.open()
    p.begin(next_outgoing_id=stale_flow.FIRST)
    p.attach_sender('test.control-%d' % time.time_ns())
    for _ in range(stale_flow.TRANSFERS):
        p.transfer()
    steps = (
        ('the transfers', lambda: None),
        ('the flow', lambda: p.session_flow(next_outgoing_id=(p.next_outgoing_id + offset) & 0xFFFFFFFF, echo=True)),
        ('one more transfer', p.transfer),
        ('the next exact flow', lambda: p.session_flow(echo=True)),
    )
    for name, step in steps:
        step()
        how = ended(p.settle())
        if how:
            break
    else:
        name = how = None
    p.shut()
    return name, how


def control(name, tap_program, port):
    offset, expected_step, expected_stale = CONTROLS[name]
    tap = Tap(tap_program, port)
    step, how = misbehave(tap.port, offset)
    seen, findings = tap.finish()
    good = step == expected_step and (how is None or VIOLATION in how)
    caught = seen['stale_flows'] == expected_stale and seen['flows'] == 2 - (step == 'the flow')
    print('control %-8s %s; the auditor saw %d inexact of %d flows%s' % (
        name, 'went on' if step is None else 'was ended at %s: %s' % (step, how), seen['stale_flows'], seen['flows'],
        '' if good and caught else '   WRONG: expected %s, and %d inexact' % (
            'to go on' if expected_step is None else 'an end at %s with %s' % (expected_step, VIOLATION),
            expected_stale)), flush=True)
    for line in findings:
        print('    ' + line, flush=True)
    return good and caught


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('--port', type=int, required=True)
    a.add_argument('--tap', required=True)
    a.add_argument('client', nargs='+')
    o = a.parse_args()
    before = [control(name, o.tap, o.port) for name in CONTROLS]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the client's to act upon
    status = subprocess.Popen(o.client).wait()
    after = [control(name, o.tap, o.port) for name in CONTROLS]
    good = all(before + after)
    print('controls: %s; the client ended with %d' % ('as expected' if good else 'NOT as expected', status))
    return 0 if good and status == 0 else 1


if __name__ == '__main__':
    sys.exit(main())
