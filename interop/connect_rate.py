#!/usr/bin/env python3
"""How fast connections with a session and two links come, at our node and at a listener of Qpid Proton, in turns.

    connect_rate.py --sluice PROGRAM --clients FOLDER [--connections N] [--rounds N] [--at-least RATIO]

Both are processes of their own and are asked by the same client. Beside the rate stands the processor time that the
server used for a connection, which other work on the machine disturbs less. With --at-least the exit status is 1 if the
node's processor time for a connection is more than the listener's, divided by RATIO.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'clients'))
import build  # noqa: E402


def processor_seconds(pid):
    with open('/proc/%d/stat' % pid) as f:
        fields = f.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('--sluice', required=True)
    a.add_argument('--clients', required=True)
    a.add_argument('--connections', type=int, default=1000)
    a.add_argument('--rounds', type=int, default=5)
    a.add_argument('--at-least', type=float)
    o = a.parse_args()
    folder = os.path.join(os.path.abspath(o.clients), 'cpp')
    build.build('cpp', folder)
    node = subprocess.Popen([o.sluice, 'node', '--listen', '127.0.0.1:0', '--json'], stdout=subprocess.PIPE, text=True)
    listener = subprocess.Popen([os.path.join(folder, 'listener')], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                text=True)
    try:
        servers = {'node': (node, json.loads(node.stdout.readline())['port']),
                   'proton': (listener, int(listener.stdout.readline().split('=')[1]))}
        rates, costs = {'node': [], 'proton': []}, {'node': [], 'proton': []}
        for _ in range(o.rounds):
            for name, (process, port) in servers.items():
                before = processor_seconds(process.pid)
                done = subprocess.run([o.sluice, 'bench', 'amqp://127.0.0.1:%d' % port, '--idle-connections',
                                       str(o.connections), '--json'], capture_output=True, text=True, timeout=300)
                if done.returncode != 0:
                    sys.exit('connect_rate.py: %s: %s' % (name, done.stderr))
                rates[name].append(json.loads(done.stdout)['summary']['connections_per_second'])
                costs[name].append((processor_seconds(process.pid) - before) / o.connections * 1e6)
    finally:
        for process in (node, listener):
            process.kill()
            process.communicate()
    print('| server | connections/s: min, median, max | processor microseconds a connection, opened and closed: median |')
    print('|---|---|---|')
    for name in servers:
        r = sorted(rates[name])
        print('| %s | %d, %d, %d | %d |' % (name, r[0], statistics.median(r), r[-1], statistics.median(costs[name])))
    ratio = statistics.median(costs['proton']) / max(statistics.median(costs['node']), 1)
    print('the listener of Proton takes %.2f times the processor time of the node' % ratio)
    return 1 if o.at_least is not None and ratio < o.at_least else 0


if __name__ == '__main__':
    sys.exit(main())
