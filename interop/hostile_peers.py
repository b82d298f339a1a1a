#!/usr/bin/env python3
"""What `sluice node` takes in memory for peers that do not behave, and whether it serves others meanwhile.

    hostile_peers.py SLUICE [--connections N]

Each case has a node of its own. Printed: the resident memory before, with the peers there, and whether a message of
somebody else went through within five seconds meanwhile. Exit status 1 if one did not.
"""
import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'judges'))
from stale_flow import Peer, uint  # noqa: E402

HELD = 200000  # messages of 100 octets that wait in the queue of the receivers


class Node:
    def __init__(self, sluice, *options):
        self.sluice = sluice
        self.process = subprocess.Popen([sluice, 'node', '--listen', '127.0.0.1:0', '--json', '--connections-max',
                                         '20000', *options], stdout=subprocess.PIPE, text=True)
        self.port = json.loads(self.process.stdout.readline())['port']

    def resident(self):
        with open('/proc/%d/status' % self.process.pid) as f:
            return int(next(line for line in f if line.startswith('VmRSS')).split()[1]) / 1024

    def url(self, queue):
        return 'amqp://127.0.0.1:%d/%s' % (self.port, queue)

    def run(self, *arguments):
        return subprocess.run([self.sluice, *arguments], capture_output=True, text=True, timeout=120)

    def fill(self):
        self.run('send', self.url('q'), '--count', str(HELD), '--size', '100')

    def serves_others(self):
        began = time.monotonic()
        self.run('send', self.url('other'), '--body', 'x')
        got = self.run('recv', self.url('other'), '--count', '1', '--timeout', '5').stdout
        return got == 'x\n' and time.monotonic() - began < 5

    def stop(self):
        self.process.kill()
        self.process.communicate()


def receiver(node, credit, reads):
    peer = Peer(node.port)
    peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    peer.open()
    peer.begin(incoming_window=2**31 - 1)
    peer.attach_receiver('q', handle=0)
    peer.session_flow(incoming_window=2**31 - 1, handle=uint(0), link_credit=uint(credit))
    if reads:  # one who reads, and answers nothing
        end = time.monotonic() + 5
        while time.monotonic() < end and peer.read(1):
            peer.buffer = b''
    return peer


def slow(node):
    """Reads a kilobyte a second."""
    peer = receiver(node, 1000000, False)
    for _ in range(5):
        peer.sock.recv(1024)
        time.sleep(1)
    return [peer]


def ignores_credit(node):
    peer = Peer(node.port)
    peer.open()
    peer.begin()
    peer.attach_sender('q')
    for _ in range(20000):
        if peer.closed:
            break
        peer.transfer(body=b'x' * 1000)
    return [peer]


def silent(node, count):
    return [socket.create_connection(('127.0.0.1', node.port)) for _ in range(count)]


def drip(node):
    """A protocol header, an octet a second, and nothing after it."""
    s = socket.create_connection(('127.0.0.1', node.port))
    for octet in b'AMQP\x00\x01\x00\x00':
        try:
            s.sendall(bytes([octet]))
        except OSError:
            break
        time.sleep(1)
    return [s]


def half_open(node):
    """Connected, attached, and never heard of again."""
    peers = []
    for i in range(100):
        peer = Peer(node.port)
        peer.open()
        peer.begin()
        peer.attach_receiver('q', handle=0)
        peers.append(peer)
    return peers


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('sluice')
    a.add_argument('--connections', type=int, default=10000)
    o = a.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    cases = (('a receiver that does not read, credit 1,000,000', True, lambda n: [receiver(n, 1000000, False)]),
             ('a receiver that reads 1 KiB/s', True, slow),
             ('a receiver with credit 2^31 that answers nothing', True, lambda n: [receiver(n, 2**31 - 1, True)]),
             ('a sender that ignores credit, 20,000 of 1,000 octets', False, ignores_credit),
             ('100 connections that are half open', False, half_open),
             ('a connection that sends an octet a second', False, drip),
             ('%d connects that say nothing' % o.connections, False, lambda n: silent(n, o.connections)))
    print('| peers | MiB before | MiB with them | others are served |\n|---|---|---|---|')
    good = True
    for what, filled, come in cases:
        node = Node(o.sluice)
        try:
            if filled:
                node.fill()
            before = node.resident()
            peers = come(node)
            served = node.serves_others()
            good &= served
            print('| %s | %.1f | %.1f | %s |' % (what, before, node.resident(), 'yes' if served else 'NO'), flush=True)
            for p in peers:
                (p.sock if isinstance(p, Peer) else p).close()
        finally:
            node.stop()
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
