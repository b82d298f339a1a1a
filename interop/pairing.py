#!/usr/bin/env python3
"""Interop pairings: this project and somebody else's client, broker or server, a cell at a time.

    pairing.py start PEER       builds the peer's program, or starts the broker, for the cells that follow
    pairing.py cell PEER CELL   looks, compares with what is expected, and keeps what was seen
    pairing.py stop PEER
    pairing.py all PEER...      all of these for some peers, or for every one, by hand
    pairing.py expect           pairing_expected.json from what was seen: read what it changes before you keep it
    pairing.py table [--write]  docs/interop.md from what was seen; without --write it is only compared

Peers are listed in PEERS, cells in CELLS. What a peer does otherwise than one may hope for stands in
pairing_expected.json, word for word: a cell fails when anything else is seen, better or worse.
"""
import argparse
import collections
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib

import audit_support
import pairing_net as net

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, 'clients'))
import build  # noqa: E402

PATIENCE = 150
THEIRS, OURS = 'findings of the auditor, theirs', 'findings of the auditor, ours'
CELLS = collections.OrderedDict((
    ('messages', '10,000 messages, 0 B to 64 KiB'),
    ('streamed', 'one of 20 MiB'),
    ('settle_modes', 'settle modes'),
    ('outcomes', 'outcomes'),
    ('credit_one', 'credit 1'),
    ('drain', 'drain'),
    ('idle', 'idle time-out'),
    ('killed', 'killed in mid-delivery'),
    ('bodies', 'body kinds and types'),
    ('properties', 'properties of every type'),
))


def debian(package):
    return subprocess.run(['dpkg-query', '-W', '-f=${Version}', package], capture_output=True,
                          text=True).stdout.split('-')[0].split('+')[0] or 'unknown'


def text_of(*path):
    with open(os.path.join(HERE, *path)) as f:
        return f.read()


Peer = collections.namedtuple('Peer', 'kind title version')
PEERS = collections.OrderedDict((
    ('proton-cpp', Peer('client', 'Qpid Proton, C++', lambda: debian('libqpid-proton-cpp12'))),
    ('proton-python', Peer('client', 'Qpid Proton, Python', lambda: debian('python3-qpid-proton'))),
    ('rhea', Peer('client', 'rhea, JavaScript',
                  lambda: json.loads(text_of('clients', 'javascript', 'package.json'))['dependencies']['rhea'])),
    ('go-amqp', Peer('client', 'Azure/go-amqp, Go',
                     lambda: re.search(r'go-amqp v(\S+)', text_of('clients', 'go', 'go.mod')).group(1))),
    ('broker-j', Peer('broker', 'Apache Qpid Broker-J', lambda: '10.1.0')),
    ('artemis', Peer('broker', 'Apache ActiveMQ Artemis',
                     lambda: re.search(r'^version=(\S+)', text_of('brokers', 'artemis', 'artemis'), re.M).group(1))),
    ('rabbitmq', Peer('broker', 'RabbitMQ', lambda: debian('rabbitmq-server'))),
    ('proton-listener', Peer('server', 'a server on Qpid Proton, C++', lambda: debian('libqpid-proton-cpp12'))),
))
LANGUAGE = {'proton-cpp': 'cpp', 'proton-python': 'python', 'rhea': 'javascript', 'go-amqp': 'go',
            'proton-listener': 'cpp'}


class Fault(Exception):
    """What kept a cell from being looked at."""


class Cell:
    """One cell of one peer: facts, and everything that was started for it."""

    def __init__(self, o, peer, name):
        self.o, self.peer, self.name, self.facts, self.ends = o, peer, name, [], []

    def fact(self, name, observed, ideal):
        self.facts.append((name, observed, ideal))

    def later(self, end):
        self.ends.append(end)

    def close(self):
        """@returns what went wrong with it."""
        faults = []
        for end in reversed(self.ends):
            try:
                end()
            except (Fault, subprocess.TimeoutExpired, OSError) as e:
                faults.append('%s: %s' % (type(e).__name__, e))
        return faults

    def url(self, port):
        """Proton's listener has nobody to check a password with."""
        return url_to(port) if PEERS[self.peer].kind != 'server' else 'amqp://127.0.0.1:%d' % port

    # ---- this project's programs

    def pairing(self, cell, url, *options, parts=None, until_ready=False):
        """Runs a cell of the C++ program; its facts become ours, those in `parts` under other names."""
        process = subprocess.Popen([self.o.program, cell, '--url', url, *map(str, options)], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.later(lambda: kill(process))
        if until_ready:
            line = process.stdout.readline()
            if line.strip() != 'ready':
                raise Fault('%s: %s%s' % (cell, line, process.communicate(timeout=PATIENCE)[1]))
            return process
        self.finish(process, parts)
        return None

    def finish(self, process, parts=None):
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Fault('no end within %d s: %s' % (PATIENCE, process.communicate()))
        for line in out.splitlines():
            if line.startswith('fact\t'):
                _, name, observed, ideal = line.split('\t')
                if parts is None or name in parts:
                    self.fact(name if parts is None else parts[name], observed, ideal)
            else:
                print('    ' + line)
        if process.returncode != 0:
            raise Fault(err.strip())

    def sluice(self, *arguments, stdin=''):
        done = subprocess.run([self.o.sluice, *map(str, arguments)], input=stdin, capture_output=True, text=True,
                              timeout=PATIENCE)
        return done

    def node(self, *options):
        process = subprocess.Popen([self.o.sluice, 'node', '--listen', '127.0.0.1:0', '--json', *options], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.later(lambda: kill(process))
        return process, json.loads(process.stdout.readline())['port']

    def found(self, whose, rules):
        """Ours may be none; theirs those that are known: which of them come is a matter of moments."""
        known = set(expected().get(self.peer, {}).get('findings', []) if whose == 'theirs' else [])
        self.fact(THEIRS if whose == 'theirs' else OURS, ', '.join(sorted(rules - known)) or 'none that is new',
                  'none that is new')

    def audited(self, port):
        """A port that leads to `port` past the auditor."""
        proxy = audit_support.Proxy(self.o.sluice, port)

        def end():
            status = proxy.stop()
            seen = {'client->server': set(), 'server->client': set()}
            for f in proxy.findings:
                seen[f['direction']].add(f['rule'])
            names = ('theirs', 'ours') if PEERS[self.peer].kind == 'client' else ('ours', 'theirs')
            for name, direction in zip(names, seen):
                self.found(name, seen[direction])
            for f in proxy.findings[:5]:
                print('    ' + f['text'])
            if status not in (0, 1):
                raise Fault('the auditor ended with %d: %s' % (status, proxy.summary()))
        self.later(end)
        return proxy.port

    def relay(self, port, **limits):
        relay = net.Relay(port, **limits)
        self.later(relay.close)
        return relay


def kill(process):
    """When it returns, the process has gone and its sockets are closed: what comes next finds the queue as that left it."""
    if process.poll() is None:
        process.kill()
    process.communicate()


def url_to(port):  # some brokers want a user
    return 'amqp://guest:guest@127.0.0.1:%d' % port


# ---- our client against brokers and servers

def server_cell(c):
    process, port, pid = None, None, None
    if PEERS[c.peer].kind == 'broker':
        state = load_state(c.o, c.peer)
        port, pid = int(state['port']), int(state['pid'])
    else:
        process = subprocess.Popen([os.path.join(c.o.clients, 'cpp', 'listener')], text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        c.later(lambda: kill(process))
        port, pid = int(process.stdout.readline().split('=')[1]), process.pid
    url = c.url(port)
    if c.name == 'killed':
        return server_killed(c, port)
    if c.name == 'peer_killed':
        waits = c.pairing('bereaved', url, until_ready=True)
        time.sleep(0.3)  # in the middle of a stream of messages
        os.kill(pid, signal.SIGKILL)
        return c.finish(waits)
    audited = c.url(c.audited(port))
    # RabbitMQ 3.10 sends one more than it was granted, now and then, if credit comes while deliveries are on their way.
    options = ['--batch', 100] if (c.peer, c.name) == ('rabbitmq', 'messages') else []
    try:
        c.pairing(c.name, audited, *options)
    except Fault as e:
        # RabbitMQ 3.10 takes a last frame without octets for an unknown one. There is one where the end of a body is
        # said after its last octet has gone out: a matter of moments.
        if (c.peer, c.name) != ('rabbitmq', 'streamed') or "Unexpected frame {'v1_0.transfer'" not in str(e):
            raise
        print('    once more: its last frame had no octets')
        c.facts.clear()
        c.pairing(c.name, audited, *options)
    if c.name == 'idle':
        relay = c.relay(port)
        waits = c.pairing('silent_peer', c.url(relay.port), until_ready=True)
        relay.freeze()
        c.finish(waits)
    return None


def server_killed(c, port):
    url = c.url(port)
    for what, through in (('a receiver that is killed', False), ('a connection that is cut', True)):
        queue = net.fresh('killed')
        relay = c.relay(port) if through else None
        c.pairing('fill', url, '--to', queue, '--count', 20, parts={})
        holds = c.pairing('hold', c.url(relay.port) if through else url, '--from', queue, '--count', 10,
                          until_ready=True)
        relay.cut() if through else kill(holds)
        c.pairing('take', url, '--from', queue, '--count', 20, parts={'come': what + ': 20 messages, 10 held; come'})
    queue = net.fresh('killed')
    sends = c.pairing('half', url, '--to', queue, '--count', 5, until_ready=True)
    kill(sends)
    c.pairing('take', url, '--from', queue, '--count', 5,
              parts={'come': 'a sender that is killed: 5 messages and half of one; come'})


# ---- other people's clients against our node

class Agent:
    """A run of somebody else's client."""

    def __init__(self, cell, port, mode, address, watched=False, **options):
        command = build.agent(LANGUAGE[cell.peer], os.path.join(cell.o.clients, LANGUAGE[cell.peer]))
        words = ['%s=%s' % i for i in options.items()]
        self.process = subprocess.Popen(command + [url_to(port), mode, address] + words, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if not watched:  # else whoever watches it ends it
            cell.later(lambda: kill(self.process))

    def line(self, begin):
        for line in self.process.stdout:
            if line.startswith(begin):
                return line.strip()
        raise Fault('the client ended: ' + self.process.communicate()[1])

    def end(self, timeout=PATIENCE):
        """Its exit status and what it printed."""
        try:
            out, err = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            return 'no end within %d s' % timeout, out + err
        return self.process.returncode, out + err

    def counts(self):
        status, text = self.end()
        if status != 0:
            said = [line for line in text.splitlines() if not line.startswith(('received=', 'outcomes', 'progress'))]
            raise Fault('the client ended with %s: %s' % (status, ' '.join(said)))
        return dict((k, int(v)) for k, v in re.findall(r'(\w+)=(\d+)', text))


def said(err):
    """What a program that has ended says of it: the line that names an error, or the last one."""
    lines = err.strip().splitlines() or ['it says nothing']
    return next((line for line in lines if 'Error' in line), lines[-1])


class Echo:
    """The client passes each message on from one queue to another; one that ends for a message is started again."""

    def __init__(self, cell, port, node_port, source, to):
        self.stopping, self.node_port = False, node_port
        self.arguments = (cell, port, 'echo', source)
        self.to = to
        self.agent = Agent(*self.arguments, watched=True, to=to)
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        cell.later(self.stop)

    def watch(self):
        while True:
            _, err = self.agent.process.communicate()
            if self.stopping:
                return
            # The message would end the next one as well: once the node has it back it is taken away, and with it one
            # before it whose acceptance was not written any more. Our client is told.
            cell = self.arguments[0]
            for ends in (('--count', '1', '--timeout', '5'), ('--drain',)):
                cell.sluice('recv', url_of(self.node_port, self.arguments[3]), *ends, '--output', 'none')
            cell.sluice('send', url_of(self.node_port, self.to), '--body', 'the client fails: ' +
                        said(err)[:90])
            self.agent = Agent(*self.arguments, watched=True, to=self.to)

    def stop(self):
        self.stopping = True
        while self.thread.is_alive():
            if self.agent.process.poll() is None:
                self.agent.process.terminate()
            self.thread.join(0.2)


def client_cell(c):
    globals()['client_' + c.name](c) if 'client_' + c.name in globals() else client_echo(c)


def client_echo(c):
    _, port = c.node()
    Echo(c, c.audited(port), port, 'there', 'back')
    c.pairing(c.name, url_to(port), '--to', 'there', '--from', 'back')


def lines(count):
    return ''.join('%d\n' % i for i in range(count))


def url_of(port, queue):
    return 'amqp://127.0.0.1:%d/%s' % (port, queue)


def client_settle_modes(c):
    _, port = c.node()
    audited = c.audited(port)
    for snd in ('unsettled', 'settled', 'mixed'):
        for rcv in ('first', 'second'):
            modes = '%s, %s' % (snd, rcv)
            try:
                counts = Agent(c, audited, 'send', 'out', count=3, snd=snd, rcv=rcv).counts()
                seen = ', '.join('%d %s' % (n, k) for k, n in counts.items() if k not in ('received', 'settled') or
                                 (k == 'settled' and n))
            except Fault as e:
                seen = 'fails: ' + str(e).splitlines()[0]
            c.fact('send ' + modes, seen, '3 settled' if snd == 'settled' else '3 accepted')
            got = c.sluice('recv', url_of(port, 'out'), '--drain').stdout.split()
            c.fact('arrive ' + modes, ' '.join(got), '0 1 2')
            c.sluice('send', url_of(port, 'in'), '-', stdin=lines(3))
            try:
                counts = Agent(c, audited, 'recv', 'in', count=3, snd=snd, rcv=rcv).counts()
                seen = '%d received' % counts['received']
            except Fault as e:
                seen = 'fails: ' + str(e).splitlines()[0]
            left = c.sluice('recv', url_of(port, 'in'), '--drain').stdout.split()
            c.fact('receive ' + modes, '%s, %d left' % (seen, len(left)), '3 received, 0 left')


def client_outcomes(c):
    _, port = c.node('--queue', 'full:length_max=1')
    audited = c.audited(port)
    ideal = {'accept': 'does not come again', 'release': 'comes again, delivery-count 0',
             'reject': 'does not come again', 'modify': 'comes again, delivery-count 1'}
    for action in ideal:
        c.sluice('send', url_of(port, action), '--body', 'm')
        Agent(c, audited, 'recv', action, count=1, credit=1, action=action).counts()
        left = [json.loads(line) for line in
                c.sluice('recv', url_of(port, action), '--drain', '--json').stdout.splitlines()[:-1]]
        count = left[0].get('header', {}).get('delivery_count', 0) if left else None
        c.fact({'accept': 'accepted', 'release': 'released', 'reject': 'rejected', 'modify': 'modified'}[action],
               'comes again, delivery-count %d' % count if left else 'does not come again', ideal[action])
    counts = Agent(c, audited, 'send', 'full', count=2).counts()
    c.fact('a full queue', '%d accepted, %d rejected' % (counts.get('accepted', 0), counts.get('rejected', 0)),
           '1 accepted, 1 rejected')


def client_credit_one(c):
    _, port = c.node()
    c.sluice('send', url_of(port, 'q'), '-', stdin=lines(200))
    counts = Agent(c, c.audited(port), 'recv', 'q', count=200, credit=1).counts()
    left = c.sluice('recv', url_of(port, 'q'), '--drain').stdout.split()
    c.fact('credit 1', '%d received, %d left' % (counts['received'], len(left)), '200 received, 0 left')


def client_drain(c):
    _, port = c.node()
    audited = c.audited(port)
    for count, what in ((3, 'drain of three'), (0, 'drain of an empty queue')):
        if count:
            c.sluice('send', url_of(port, 'q'), '-', stdin=lines(count))
        try:
            counts = Agent(c, audited, 'drain', 'q', credit=10).counts()
            seen = '%d come, then it ends' % counts['received']
        except Fault as e:
            seen = 'fails: ' + str(e).splitlines()[-1]
        c.fact(what, seen, '%d come, then it ends' % count)


def client_idle(c):
    node, port = c.node('--idle-timeout', '2')
    waits = Agent(c, c.audited(port), 'recv', 'q', count=1, idle=2000)
    time.sleep(5)
    c.sluice('send', url_of(port, 'q'), '--body', 'm')
    status, text = waits.end()
    c.fact('silence of twice the time-out', 'the connection lives' if status == 0 else text.strip(),
           'the connection lives')
    c.sluice('send', url_of(port, 'r'), '--body', 'm')
    holds = Agent(c, port, 'recv', 'r', count=1, action='hold')
    holds.line('ready')
    holds.process.send_signal(signal.SIGSTOP)
    got = c.sluice('recv', url_of(port, 'r'), '--count', '1', '--timeout', '30').stdout.split()
    holds.process.send_signal(signal.SIGCONT)
    c.fact('a client that goes silent', 'what it held comes back' if got == ['m'] else 'nothing comes back',
           'what it held comes back')
    waits = Agent(c, port, 'recv', 'empty', count=1, idle=2000)
    time.sleep(1)
    node.send_signal(signal.SIGSTOP)
    status, text = waits.end(30)
    node.send_signal(signal.SIGCONT)
    c.fact('a node that goes silent', 'is given up' if status == 1 else '%s %s' % (status, text.strip()),
           'is given up')


def client_killed(c):
    node, port = c.node()
    c.sluice('send', url_of(port, 'held'), '-', stdin=lines(20))
    holds = Agent(c, port, 'recv', 'held', count=10, credit=10, action='hold')
    holds.line('ready')
    kill(holds.process)
    c.pairing('take', url_to(port), '--from', 'held', '--count', 20,
              parts={'come': 'a receiver that is killed: 20 messages, 10 held; come'})
    sends = Agent(c, port, 'send', 'numbers', count=1000000, snd='unsettled')
    sends.line('progress 1000')
    sends.process.kill()
    told = re.findall(r'progress (\d+)', 'progress 1000\n' + sends.process.communicate()[0])[-1]
    got = c.sluice('recv', url_of(port, 'numbers'), '--drain').stdout.split()
    c.fact('a sender that is killed', 'what was accepted is there, in order'
           if got == [str(i) for i in range(len(got))] and len(got) >= int(told) else 'of %s: %d' % (told, len(got)),
           'what was accepted is there, in order')
    relay = c.relay(port, forward_max=1 << 20)
    sends = Agent(c, relay.port, 'send', 'large', count=1, size=20 << 20)
    relay.wait_until_full()
    sends.process.kill()
    relay.cut()
    got = c.sluice('recv', url_of(port, 'large'), '--drain', '--output', 'none', '--json').stdout
    c.fact('a sender that is killed in a message of 20 MiB',
           '%d come' % json.loads(got.splitlines()[-1])['summary']['received'], '0 come')
    agents = {'sends': Agent(c, port, 'send', 'more', count=1000000, snd='unsettled'),
              'waits': Agent(c, port, 'recv', 'empty', count=1)}
    agents['sends'].line('progress 100')
    node.kill()
    for what, agent in agents.items():
        status, text = agent.end(60)
        c.fact('the node is killed while the client ' + what,
               'it ends with an error' if status not in (0, None) and 'no end' not in str(status) else str(status),
               'it ends with an error')


# ---- cells, states and what is expected

def state_folder(o, peer):
    return os.path.join(o.state, peer)


def load_state(o, peer):
    with open(os.path.join(state_folder(o, peer), 'state.json')) as f:
        return json.load(f)


def cells_of(peer):
    return list(CELLS) + ([] if PEERS[peer].kind == 'client' else ['peer_killed'])


def start(o, peer):
    os.makedirs(state_folder(o, peer), exist_ok=True)
    for name in os.listdir(state_folder(o, peer)):
        if name.endswith('.json'):
            os.remove(os.path.join(state_folder(o, peer), name))
    state = {}
    if PEERS[peer].kind == 'broker':
        script = os.path.join(HERE, 'brokers', peer, peer)
        for attempt in range(3):  # somebody else may take a free port between the look and the start
            done = subprocess.run([script, 'start', '--port', '0', '--dir', broker_folder(o, peer)], text=True,
                                  capture_output=True, timeout=400)
            if done.returncode == 0:
                break
            subprocess.run([script, 'stop', '--dir', broker_folder(o, peer)], capture_output=True)
        if done.returncode != 0:
            print(done.stderr)
            return 1
        state = dict(word.split('=', 1) for word in done.stdout.strip().splitlines()[-1].split())
        # Whoever started this may be killed: then the broker ends too, and its folder goes.
        subprocess.Popen(['setsid', 'bash', '-c', 'while kill -0 %d 2>/dev/null && [ -d "$1" ]; do sleep 1; done; '
                          'if [ -d "$1" ]; then "$0" stop --dir "$1"; rm -rf "$1"; fi' % os.getppid(), script,
                          broker_folder(o, peer)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    else:
        build.build(LANGUAGE[peer], os.path.join(o.clients, LANGUAGE[peer]))
    with open(os.path.join(state_folder(o, peer), 'state.json'), 'w') as f:
        json.dump(state, f)
    return 0


def broker_folder(o, peer):
    return os.path.join(tempfile.gettempdir(), 'sluice-pairing-%s-%08x'
                        % (peer, zlib.crc32(os.path.abspath(o.state).encode())))


def stop(o, peer):
    if PEERS[peer].kind == 'broker':
        script = os.path.join(HERE, 'brokers', peer, peer)
        subprocess.run([script, 'stop', '--dir', broker_folder(o, peer)], capture_output=True)
        subprocess.run(['rm', '-rf', broker_folder(o, peer)])
    return 0


def expected():
    with open(os.path.join(HERE, 'pairing_expected.json')) as f:
        return json.load(f)


def cell(o, peer, name):
    began = time.monotonic()
    c = Cell(o, peer, name)
    problems = []
    try:
        client_cell(c) if PEERS[peer].kind == 'client' else server_cell(c)
    except (Fault, subprocess.TimeoutExpired, OSError) as e:
        problems.append('%s: %s' % (type(e).__name__, e))
    finally:  # Ctrl-C, too
        problems += c.close()
    problem = '\n'.join(problems) or None
    known = expected().get(peer, {}).get(name, {})
    wrong = 0
    for fact, observed, ideal in c.facts:
        want = known.get(fact, ideal)
        good = observed == want or want == 'any'
        wrong += not good
        print('%s %s: %s%s' % ('ok   ' if good else 'WRONG', fact, observed,
                               '' if good else '\n      expected: ' + want))
    missing = set(known) - {f[0] for f in c.facts}
    for fact in missing:
        print('WRONG %s: not looked at, though pairing_expected.json names it' % fact)
    if problem:
        print('WRONG ' + problem)
    print('%s, %s: %.1f s' % (peer, name, time.monotonic() - began))
    good = not wrong and not missing and not problem
    with open(os.path.join(state_folder(o, peer), name + '.json'), 'w') as f:
        json.dump({'good': good, 'problem': problem, 'facts': c.facts}, f, indent=1)
    return 0 if good else 1


def expect(o):
    known = expected()
    for peer in PEERS:
        for name in cells_of(peer):
            try:
                with open(os.path.join(state_folder(o, peer), name + '.json')) as f:
                    seen = json.load(f)
            except FileNotFoundError:
                continue
            facts = {fact: observed for fact, observed, ideal in seen['facts'] if observed != ideal and ideal != 'any'}
            facts.pop(OURS, None)  # there is nothing to get used to
            new = sorted(set(filter(None, facts.pop(THEIRS, '').split(', '))))
            if new:
                mine = known.setdefault(peer, {})
                mine['findings'] = sorted(set(mine.get('findings', [])) | set(new))
            known.get(peer, {}).pop(name, None)
            if facts:
                known.setdefault(peer, {})[name] = facts
    with open(os.path.join(HERE, 'pairing_expected.json'), 'w') as f:
        json.dump(known, f, indent=1, ensure_ascii=False, sort_keys=True)
        f.write('\n')
    return 0


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('--program', help='the program pairing')
    a.add_argument('--sluice', help='the sluice command')
    a.add_argument('--clients', help='where the other clients are built')
    a.add_argument('--state', required=True, help='where what was seen is kept')
    a.add_argument('--docs', default=os.path.join(HERE, '..', 'docs', 'interop.md'))
    a.add_argument('--write', action='store_true')
    a.add_argument('command', choices=('start', 'cell', 'stop', 'all', 'expect', 'table'))
    a.add_argument('words', nargs='*')
    o = a.parse_args()
    if o.command == 'start':
        return start(o, *o.words)
    if o.command == 'stop':
        return stop(o, *o.words)
    if o.command == 'cell':
        return cell(o, *o.words)
    if o.command == 'expect':
        return expect(o)
    if o.command == 'table':
        import pairing_table
        return pairing_table.run(o, PEERS, CELLS, cells_of, expected())
    failed = []
    for peer in o.words or PEERS:
        try:
            if start(o, peer) != 0:
                failed.append(peer)
                continue
            failed += ['%s.%s' % (peer, name) for name in cells_of(peer) if cell(o, peer, name) != 0]
        finally:
            stop(o, peer)
    print('failed: %s' % (', '.join(failed) or 'none'))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
