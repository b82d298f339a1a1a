#!/usr/bin/env python3
"""Ctrl-C during a run beside a broker: the table still comes, and broker, processes and files are gone.

    interrupt.py REPRODUCER [BROKER]

Starts `with-broker BROKER -- REPRODUCER` (broker-j unless it is said) as `./dev demo` does, in a process group and a scratch folder of its own, sends
SIGINT to the whole group as a terminal does, and looks for what is left.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = ('sent', 'received', 'accepted', 'flows', 'deferred flows', 'stale flows', 'session errors')


def processes_with(text):
    """Command lines of live processes that name this text, there or in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open('/proc/%s/cmdline' % pid, 'rb') as f:
                line = f.read().replace(b'\0', b' ').decode(errors='replace')
            with open('/proc/%s/environ' % pid, 'rb') as f:
                environment = f.read().decode(errors='replace')
        except OSError:
            continue
        if text in line + environment and int(pid) != os.getpid():
            found.append('%s: %s' % (pid, line[:200]))
    return found


def wait_until_gone(folder, seconds):
    end = time.monotonic() + seconds
    while True:
        left = processes_with(folder) + os.listdir(folder)
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.2)


def run(reproducer, broker_name, folder):
    p = subprocess.Popen(
        [os.path.join(HERE, 'with-broker'), broker_name, '--', reproducer,
         '--url', 'amqp://guest:guest@127.0.0.1:{port}', '--seconds', '300'],
        env=dict(os.environ, TMPDIR=folder), stdout=subprocess.PIPE, text=True, start_new_session=True)
    text = ''
    live = 0
    for line in p.stdout:
        text += line
        live += 'messages/s' in line
        if live == 2:
            break
    broker = processes_with(folder)
    os.killpg(p.pid, signal.SIGINT)
    begin = time.monotonic()
    rest, _ = p.communicate(timeout=60)
    text += rest
    print(text, flush=True)
    faults = []
    if not any('java' in line or 'sluice node' in line for line in broker):
        faults.append('found no broker while it ran: this test sees nothing')
    if p.returncode != 130:
        faults.append('exit status %d instead of 130' % p.returncode)
    for row in ROWS:
        if not any(line.strip().startswith(row) for line in rest.splitlines()):
            faults.append("no row '%s' after the interrupt" % row)
    if 'WRONG' in text or 'interrupted' not in rest:
        faults.append('it did not end well')
    left = wait_until_gone(folder, 10)
    if left:
        faults.append('left behind: %s' % left)
    print('ended within %.1f s of the interrupt' % (time.monotonic() - begin))
    return faults


def main():
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory(prefix='sluice-interrupt.') as folder:
        faults = run(sys.argv[1], (sys.argv[2:] or ['broker-j'])[0], folder)
    for f in faults:
        print('WRONG: ' + f)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
