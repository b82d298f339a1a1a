#!/usr/bin/env python3
"""`sluice node`, `sluice send` and `sluice recv` as people use them, through pipes and signals.

    cli_everyday.py SLUICE [--messages N] [TEST...]

SLUICE is the program. N (100000) is how many messages the long run moves. TEST... are names of the tests below.
"""
import base64
import hashlib
import json
import os
import pty
import random
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

SLUICE = None
MESSAGES = 100000
PATIENCE = 60


def run(*arguments, stdin=b'', timeout=PATIENCE):
    return subprocess.run([SLUICE, *(a if isinstance(a, bytes) else str(a) for a in arguments)], input=stdin, capture_output=True, timeout=timeout)


class Node:
    """`sluice node` on a free port, stopped by its process id."""

    def __init__(self, *arguments, metrics=False):
        command = [SLUICE, 'node', '--listen', '127.0.0.1:0', '--json', *arguments]
        if metrics:
            command += ['--metrics', '127.0.0.1:0']
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.port = self.event('listening')['port']
        self.metrics_port = self.event('metrics')['port'] if metrics else None

    def event(self, name):
        line = self.process.stdout.readline()
        event = json.loads(line)
        assert event['event'] == name, line
        return event

    def url(self, address):
        return 'amqp://127.0.0.1:%d/%s' % (self.port, address)

    def stop(self, by=signal.SIGINT):
        self.process.send_signal(by)
        out, _ = self.process.communicate(timeout=PATIENCE)
        events = [json.loads(line) for line in out.splitlines()]
        return self.process.returncode, events[-1]

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        self.process.stdout.close()


class Everyday(unittest.TestCase):
    def setUp(self):
        self.node = Node(metrics=True)
        self.addCleanup(lambda: self.node.kill())
        folder = tempfile.TemporaryDirectory(prefix='sluice-cli.')
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def send(self, address, *arguments, stdin=b'', status=0):
        p = run('send', self.node.url(address), *arguments, '--json', stdin=stdin)
        self.assertEqual(p.returncode, status, p.stderr.decode())
        return json.loads(p.stdout.splitlines()[-1])['summary']

    def recv(self, address, *arguments, status=0):
        """Messages and summary."""
        p = run('recv', self.node.url(address), *arguments, '--json')
        self.assertEqual(p.returncode, status, p.stderr.decode())
        lines = [json.loads(line) for line in p.stdout.splitlines()]
        return lines[:-1], lines[-1]['summary']

    def texts(self, address, *arguments):
        p = run('recv', self.node.url(address), '--drain', *arguments)
        self.assertEqual(p.returncode, 0, p.stderr.decode())
        return p.stdout.decode().splitlines()

    def metric(self, name):
        url = 'http://127.0.0.1:%d/metrics' % self.node.metrics_port
        text = urllib.request.urlopen(url, timeout=PATIENCE).read().decode()
        return int(re.search('^%s (\\d+)$' % name, text, re.M).group(1))

    # ---- counts

    def test_every_message_of_a_long_run_is_accounted_for(self):
        begin = time.monotonic()
        sent = self.send('q', '--count', MESSAGES, '--size', 100)
        middle = time.monotonic()
        _, received = self.recv('q', '--count', MESSAGES, '--output', 'none')
        end = time.monotonic()
        self.assertEqual((sent['sent'], sent['accepted']), (MESSAGES, MESSAGES))
        self.assertEqual((received['received'], received['answered']), (MESSAGES, MESSAGES))
        self.assertEqual(self.metric('sluice_node_received_total'), MESSAGES)
        self.assertEqual(self.metric('sluice_node_accepted_total'), MESSAGES)
        self.assertEqual(self.metric('sluice_node_messages'), 0)
        print('%d messages of 100 octets: sent at %d/s, received at %d/s'
              % (MESSAGES, MESSAGES / (middle - begin), MESSAGES / (end - middle)), flush=True)

    def test_a_receiver_takes_as_many_as_it_was_asked_to_and_no_more(self):
        self.send('q', '--count', 100, '--body', 'x')
        self.recv('q', '--count', 30, '--credit', 7)
        self.recv('q', '--count', 30)
        self.assertEqual(self.metric('sluice_node_messages'), 40)
        self.assertEqual(self.metric('sluice_node_delivered_total'), 60)

    def test_drain_ends_when_the_queue_is_empty_whatever_the_credit(self):
        for credit, count in ((1, 3), (5, 10), (5, 11), (500, 0), (500, 1200)):
            if count:
                self.send('q', '--count', count, '--body', 'x')
            got, summary = self.recv('q', '--drain', '--credit', credit)
            self.assertEqual((len(got), summary['received']), (count, count), 'credit %d' % credit)

    def test_drain_ends_with_its_answer_and_not_at_the_next_look_around(self):
        # The answer comes 20 ms late; who looks around every 100 ms is silent for 80 ms more. A busy machine
        # may be slow now and then, but not each time.
        self.assertTrue(any(self.silence_of_a_drain(0.02) < 0.05 for _ in range(20)))

    def silence_of_a_drain(self, delay):
        """The longest time that `recv --drain` took to go on after octets of the node, each of which comes late."""
        listener = socket.create_server(('127.0.0.1', 0))
        p = subprocess.Popen([SLUICE, 'recv', 'amqp://127.0.0.1:%d/q' % listener.getsockname()[1], '--drain'],
                             stderr=subprocess.DEVNULL)
        listener.settimeout(PATIENCE)
        client, _ = listener.accept()
        node = socket.create_connection(('127.0.0.1', self.node.port))
        for s in (client, node):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        longest, last = 0.0, time.monotonic()
        with listener, client, node:
            while True:
                ready, _, _ = select.select([client, node], [], [], PATIENCE)
                octets = ready[0].recv(65536) if ready else b''
                if not octets:
                    break
                if ready[0] is client:
                    longest = max(longest, time.monotonic() - last)
                    node.sendall(octets)
                else:
                    time.sleep(delay)
                    client.sendall(octets)
                    last = time.monotonic()
        self.assertEqual(p.wait(PATIENCE), 0)
        return longest

    def test_settled_messages_arrive(self):
        sent = self.send('q', '--count', 1000, '--size', 10, '--settled')
        self.assertEqual((sent['settled'], sent['accepted']), (1000, 0))
        _, received = self.recv('q', '--count', 1000)
        self.assertEqual(received['received'], 1000)

    def test_a_rate_is_kept(self):
        sent = self.send('q', '--count', 50, '--rate', 100)
        self.assertGreaterEqual(sent['seconds'], 0.45)

    # ---- bodies

    def test_lines_of_standard_input_are_messages(self):
        lines = ['first', '', 'with "quotes" and \\', 'ünïcödé', 'x' * 200000, 'no end of line']
        self.send('q', '-', stdin='\n'.join(lines).encode())
        self.assertEqual(self.texts('q'), lines)

    def test_standard_input_is_not_read_unasked_and_not_left_unnoticed(self):
        p = run('send', self.node.url('q'), stdin=b'data')
        self.assertEqual(p.returncode, 2)
        self.assertEqual(self.texts('q'), [])
        self.send('q', '--body', '')
        self.send('q', '--count', 2)
        self.assertEqual(self.texts('q'), ['', '', ''])

    def test_the_messages_alone_are_json_lines(self):
        self.send('q', '-', stdin=b'one\ntwo\n')
        p = run('recv', self.node.url('q'), '--drain', '-o', 'json')
        self.assertEqual([json.loads(line)['value'] for line in p.stdout.splitlines()], ['one', 'two'])
        self.assertIn(b'received 2: 2 accepted', p.stderr)

    def test_a_line_that_is_no_text_is_sent_as_octets(self):
        self.send('q', '-', stdin=b'\xff\xfe\n')
        got, _ = self.recv('q', '--drain')
        self.assertEqual(base64.b64decode(got[0]['data']), b'\xff\xfe')

    def test_a_large_file_makes_the_round_trip_octet_by_octet(self):
        for size, how in ((20 << 20, 'file'), (20 << 20, 'pipe'), (0, 'file'), (0, 'pipe'), (1, 'file')):
            content = random.Random(size).randbytes(size)
            source, target = os.path.join(self.folder, 'in'), os.path.join(self.folder, 'out')
            with open(source, 'wb') as f:
                f.write(content)
            if how == 'file':
                sent = self.send('q', '--file', source)
            else:
                sent = self.send('q', '--file', '-', stdin=content)
            self.assertEqual((sent['accepted'], sent['octets']), (1, size))
            got, received = self.recv('q', '--output', target)
            self.assertEqual((received['received'], received['octets']), (1, size))
            with open(target, 'rb') as f:
                self.assertEqual(hashlib.sha256(f.read()).digest(), hashlib.sha256(content).digest())
            self.assertEqual(sorted(os.listdir(self.folder)), ['in', 'out'])

    def test_raw_output_is_the_bodies_and_nothing_else(self):
        self.send('q', '--body', 'abc')
        self.send('q', '--file', '-', stdin=b'\x00\xff')
        p = run('recv', self.node.url('q'), '--count', 2, '--output', 'raw')
        self.assertEqual((p.returncode, p.stdout), (0, b'abc\x00\xff'))

    def test_files_can_be_numbered(self):
        self.send('q', '-', stdin=b'one\ntwo\n')
        self.recv('q', '--count', 2, '--output', os.path.join(self.folder, 'm{}'))
        for name, content in (('m1', 'one'), ('m2', 'two')):
            with open(os.path.join(self.folder, name)) as f:
                self.assertEqual(f.read(), content)

    def test_properties_have_the_types_that_they_look_like(self):
        self.send('q', '--body', 'b', '--subject', 's', '--durable', '--ttl', 60000, '--priority', 7, '--message-id',
                  'id-{}', '--to', 't', '--reply-to', 'r', '--correlation-id', 'c', '--content-type', 'text/plain',
                  '-P', 'i=5', '-P', 'd=2.5', '-P', 'b=true', '-P', 's=red', '-P', 'q="5"', '-P', 'e=')
        got, _ = self.recv('q', '--drain')
        m = got[0]
        self.assertEqual(m['value'], 'b')
        self.assertEqual((m['header']['durable'], m['header']['priority']), (True, 7))
        self.assertLessEqual(m['header']['ttl'], 60000)
        self.assertEqual(m['properties'], {
            'message_id': 'id-1', 'to': 't', 'subject': 's', 'reply_to': 'r', 'correlation_id': 'c',
            'content_type': 'text/plain'})
        self.assertEqual(m['application_properties'], {'i': 5, 'd': 2.5, 'b': True, 's': 'red', 'q': '5', 'e': ''})

    # ---- answers

    def test_each_answer_does_what_it_says(self):
        self.send('q', '-', stdin=b'a\nb\n')
        for ack in ('release', 'none', 'modify'):
            got, _ = self.recv('q', '--count', 2, '--ack', ack)
            self.assertEqual([m['value'] for m in got], ['a', 'b'], ack)
        got, _ = self.recv('q', '--count', 2, '--browse')
        self.assertEqual([m['value'] for m in got], ['a', 'b'])
        self.assertEqual(got[0]['header']['delivery_count'], 1)
        self.recv('q', '--count', 1, '--ack', 'reject')
        self.assertEqual(self.texts('q'), ['b'])

    # ---- the exit status

    def test_the_exit_status_says_how_it_went(self):
        self.node.kill()
        self.node = Node('--queue', 'small:length_max=3', '--no-auto-create')
        summary = self.send('small', '-', stdin=b'1\n2\n3\n4\n5\n', status=1)
        self.assertEqual((summary['accepted'], summary['rejected']), (3, 2))
        self.assertIn('resource-limit-exceeded', summary['problem'])
        got, _ = self.recv('small', '--count', 5, '--timeout', 3, status=1)
        self.assertEqual(len(got), 3)
        for arguments, says in (
                (['send', self.node.url('nowhere'), '--body', 'x'], 'nowhere'),
                (['send', 'amqp://127.0.0.1:1/q', '--body', 'x'], 'cannot connect'),
                (['send', self.node.url('')], '--address'),
                (['send', 'http://h/q'], 'amqp://'),
                (['send', self.node.url('small'), '--body', 'x', '--size', '3'], 'one body only'),
                (['send', self.node.url('small'), '--size', 'many'], '64k'),
                (['send', self.node.url('small'), '-P', 'x'], 'NAME=VALUE'),
                *((['send', self.node.url('small'), '--body', 'x', option, b'\xff'], option + ' is not UTF-8')
                  for option in ('--subject', '--to', '--reply-to', '--correlation-id', '--message-id', '--group-id')),
                (['send', self.node.url('small'), '--body', 'x', '--content-type', 'ä/b'], '--content-type is not ASCII'),
                (['recv', self.node.url('small'), '--selector', b'\xff'], '--selector is not UTF-8'),
                (['channel', 'recv', 'c1', self.node.url('')], "sluice: there is no channel 'c1'; make it with --capacity N\n"),
                (['channel', 'stat', 'c1'], 'URL is required'),
                (['send', self.node.url('small'), '--file', '/nonexistent'], '/nonexistent'),
                (['send', self.node.url('small'), '--count', 'x'], '--count'),
                (['recv', self.node.url('small'), '--count', '2', '--output', 'f'], '{}'),
                (['recv', self.node.url('small'), '--json', '--output', 'text'], 'mix'),
                (['recv', self.node.url('small'), '--ack', 'maybe'], 'accept'),
                (['recv', self.node.url('small'), '--selector', "a = 'b'"], 'apache.org:selector-filter:string'),
                (['node', '--listen', '127.0.0.1:99999'], 'HOST:PORT'),
                (['node', '--listen', '127.0.0.1:%d' % self.node.port], 'in use'),
                (['node', '--listen', '127.0.0.1:0', '--queue', 'q:colour=red'], 'length_max'),
                (['send', self.node.url('small')], '--file - sends all of it'),
                (['send', self.node.url('small'), '--subject', 's'], 'lines of standard input'),
                ([], 'subcommand'), (['sned'], "unknown subcommand 'sned'; did you mean 'send'?"),
                (['frobnicate', 'x'], "'frobnicate'; there are: node, send"),
                (['channel', 'rcev', 'c', self.node.url('')], "sluice channel: unknown subcommand 'rcev'; did you mean")):
            p = run(*arguments)
            self.assertEqual(p.returncode, 2, (arguments, p.stderr))
            self.assertIn(says, p.stderr.decode(), arguments)
            self.assertNotIn('std:', p.stderr.decode())
        for name in ('node', 'send', 'recv', 'bench'):
            p = run(name, '--help')
            self.assertEqual(p.returncode, 0)
            self.assertIn('Exit status:', p.stdout.decode())

    def test_a_lost_connection_is_told_and_nothing_is_lost(self):
        p = subprocess.Popen([SLUICE, 'recv', self.node.url('q'), '--count', '10'], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, bufsize=0)
        self.send('q', '--count', 3, '--body', 'x')
        self.assertEqual([p.stdout.readline() for _ in range(3)], [b'x\n'] * 3)
        self.node.stop()
        _, err = p.communicate(timeout=PATIENCE)
        self.assertEqual(p.returncode, 1)
        self.assertIn('received 3: 3 accepted', err.decode())
        self.assertIn('amqp:connection:forced', err.decode())

    # ---- output that cannot be written, streams that are closed

    def shell(self, line, status, stdin=b''):
        p = subprocess.run(['bash', '-c', line, 'bash', SLUICE, self.node.url('q'), self.node.url('')], input=stdin,
                           capture_output=True, timeout=PATIENCE)
        self.assertEqual(p.returncode, status, (line, p.stderr))
        return p.stderr.decode()

    def test_what_could_not_be_printed_is_no_success(self):
        self.assertEqual(run('channel', 'send', 'c', self.node.url(''), '--capacity', 4, '--body', 'v').returncode, 0)
        for command, status in (('--help', 1), ('send --help', 1), ('--version', 1), ('send $1 --body x --json', 1),
                                ('recv $1 --drain -o none --json', 1), ('channel stat c $2', 1), ('audit --rules', 2)):
            for to in ('>/dev/full', '>&-'):
                err = self.shell('sluice=$1; shift; $sluice %s %s' % (command, to), status)
                self.assertIn('cannot write standard output', err, command)
        self.assertEqual(self.texts('q'), [])

    def test_closed_streams_do_not_become_sockets(self):
        for closed in ('<&-', '2>&-', '<&- 2>&-', '>&- 2>&-', '<&- >&- 2>&-'):
            self.shell('$1 send $2 --body x %s' % closed, 0)
        self.assertEqual(self.texts('q'), ['x'] * 5)
        for words in ('--file -', '-'):
            self.assertIn('cannot read', self.shell('$1 send $2 %s <&-' % words, 1))
        self.assertEqual(self.texts('q'), [])

    def test_a_file_that_does_not_say_how_long_it_is_is_read_to_its_end(self):
        self.shell('$1 send $2 --file /proc/version', 0)
        with open('/proc/version') as f:
            self.assertEqual(self.texts('q')[0], f.read().splitlines()[0])
        self.assertIn('cannot read /proc/self/mem', self.shell('$1 send $2 --file /proc/self/mem', 1))
        self.assertEqual(self.texts('q'), [])

    # ---- channels

    def test_a_value_of_a_channel_is_acknowledged_after_it_was_written(self):
        url = self.node.url('')
        for i in range(3):
            self.assertEqual(run('channel', 'send', 'c', url, '--capacity', 4, '--body', i).returncode, 0)
        for to in ('>/dev/full', '>&-'):
            for how in ('--count 2', '--now'):
                err = self.shell('$1 channel recv c $3 %s %s' % (how, to), 1)
                self.assertIn('cannot write standard output', err)
        p = run('channel', 'recv', 'c', url, '--count', 2)
        self.assertEqual((p.returncode, p.stdout), (0, b'0\n1\n'))
        p = run('channel', 'recv', 'c', url, '--now')
        self.assertEqual((p.returncode, p.stdout), (0, b'2\n'))
        self.assertEqual(run('channel', 'recv', 'c', url, '--now', '--capacity', 4).returncode, 1)

    # ---- numbers

    def test_numbers_out_of_range_are_refused_whatever_the_option(self):
        url = self.node.url('q')
        for arguments in (
                ('send', url, '--count', -1), ('send', url, '--count', '99999999999999999999'),
                ('send', url, '--count', '0x10'), ('send', url, '--count', ''), ('send', url, '--ttl', -5),
                ('send', url, '--ttl', 1 << 32), ('send', url, '--priority', 256), ('send', url, '--rate', 'nan'),
                ('send', url, '--rate', '-1'), ('send', url, '--window', -1), ('recv', url, '--timeout', 'inf'),
                ('recv', url, '--count', -1), ('recv', url, '--credit', '-1'), ('node', '--idle-timeout', 'nan'),
                ('node', '--connections-max', -1), ('node', '--stop-timeout', '-0.5'),
                ('node', '--queues-max', '99999999999999999999'), ('audit', '--seconds', 0), ('audit', '--seconds', 'nan'),
                ('audit', '--seconds', '1e300'), ('audit', '--findings', -1), ('audit', '--port', 65536),
                ('channel', 'recv', 'c', url, '--timeout', -1), ('channel', 'recv', 'c', url, '--count', -1),
                ('channel', 'send', 'c', url, '--capacity', 1 << 32), ('bench', '--embedded', '--seconds', 'nan'),
                ('passwd', 'f', 'u', '--iterations', -1)):
            p = run(*arguments)
            self.assertEqual(p.returncode, 2, (arguments, p.stderr))
            self.assertIn(str(arguments[-2]), p.stderr.decode(), arguments)
        self.send('q', '--count', '010', '--body', 'x')
        self.assertEqual(len(self.texts('q')), 10)

    def test_dead_letters_may_not_come_back(self):
        for queues in (['a:dead_letter=a'], ['a:dead_letter=b', 'b:dead_letter=c', 'c:dead_letter=a']):
            arguments = [part for q in queues for part in ('--queue', q)]
            p = run('node', '--listen', '127.0.0.1:0', *arguments)
            self.assertEqual(p.returncode, 2)
            self.assertIn("would come back to '%s'" % queues[-1][0], p.stderr.decode())
        node = Node('--queue', 'a:dead_letter=b', '--queue', 'b:dead_letter=c')
        self.addCleanup(node.kill)

    # ---- users

    def test_a_file_of_users_is_a_regular_one(self):
        pipe = os.path.join(self.folder, 'pipe')
        os.mkfifo(pipe)
        large = os.path.join(self.folder, 'large')
        with open(large, 'wb') as f:
            f.truncate(65 << 20)
        for file in (pipe, large, self.folder, '/dev/zero'):
            p = run('node', '--listen', '127.0.0.1:0', '--users', file)
            self.assertEqual(p.returncode, 2)
            self.assertIn('cannot read ' + file, p.stderr.decode())
        for file in (pipe, large, self.folder):
            p = run('passwd', file, 'me', '--stdin', stdin=b'x\n')
            self.assertEqual(p.returncode, 2)
            self.assertIn('cannot read ' + file, p.stderr.decode())
        self.assertEqual(sorted(os.listdir(self.folder)), ['large', 'pipe'])
        link = os.path.join(self.folder, 'link')
        os.symlink('users', link)
        self.assertEqual(run('passwd', link, 'me', '--stdin', stdin=b'x\n').returncode, 0)
        self.assertTrue(os.path.islink(link) and os.path.isfile(os.path.join(self.folder, 'users')))
        for name in ('x' * 256, 'a\tb', 'a\x7f'):
            self.assertEqual(run('passwd', link, name, '--stdin', stdin=b'x\n').returncode, 2)
        self.assertEqual(run('passwd', link, 'you', '--stdin', stdin=b'x' * 5000).returncode, 2)
        for junk in (b'\x00\x01\x02\n', b'\xff\xfe\n', b'x' * 256 + b'\n'):
            with open(link, 'wb') as f:
                f.write(b'me\n' + junk)
            p = run('node', '--listen', '127.0.0.1:0', '--users', link)
            self.assertEqual(p.returncode, 2)
            self.assertIn("line 2: a user's name", p.stderr.decode())

    # ---- signals

    def test_an_interrupted_sender_says_what_was_settled(self):
        for by in (signal.SIGINT, signal.SIGTERM):
            before = self.metric('sluice_node_received_total')
            p = subprocess.Popen([SLUICE, 'send', self.node.url(by.name), '--count', '1000000000', '--size', '100',
                                  '--rate', '20000', '--json'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            while self.metric('sluice_node_received_total') == before:
                time.sleep(0.02)
            p.send_signal(by)
            out, _ = p.communicate(timeout=PATIENCE)
            summary = json.loads(out)['summary']
            self.assertEqual(p.returncode, 1)
            self.assertTrue(summary['interrupted'])
            self.assertGreater(summary['accepted'], 0)
            self.assertEqual((summary['unknown'], summary['sent']), (0, summary['accepted']))
            _, got = self.recv(by.name, '--drain', '--output', 'none')
            self.assertEqual(got['received'], summary['accepted'])

    def test_a_sender_that_gets_no_credit_can_be_interrupted(self):
        self.node.kill()
        self.node = Node('--queue', 'w:length_max=10,full=withhold')
        p = subprocess.Popen([SLUICE, 'send', self.node.url('w'), '--count', '1000', '--json'],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.wait_for_browsed('w', 10)
        p.send_signal(signal.SIGINT)
        out, _ = p.communicate(timeout=PATIENCE)
        summary = json.loads(out)['summary']
        self.assertEqual(p.returncode, 1)
        self.assertEqual((summary['accepted'], summary['unknown']), (summary['sent'], 0))
        self.assertGreater(summary['not_sent'], 0)
        self.assertEqual(len(self.texts('w')), summary['accepted'])

    def wait_for_browsed(self, address, count):
        end = time.monotonic() + PATIENCE
        while len(self.texts(address, '--browse')) < count and time.monotonic() < end:
            time.sleep(0.05)

    def test_an_interrupted_receiver_loses_nothing(self):
        count = 20000
        self.send('q', '-', stdin=b''.join(b'%d\n' % i for i in range(count)))
        p = subprocess.Popen([SLUICE, 'recv', self.node.url('q')], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             bufsize=0)
        first = p.stdout.readline()  # then the pipe fills up, and it waits in the middle
        p.send_signal(signal.SIGINT)
        rest, err = p.communicate(timeout=PATIENCE)
        lines = (first + rest).decode().splitlines()
        told = int(re.search(r'received [\d,]+: ([\d,]+) accepted', err.decode()).group(1).replace(',', ''))
        self.assertIn('interrupted', err.decode())
        self.assertEqual(p.returncode, 0)  # nobody had said how many
        self.assertEqual(len(lines), told)
        self.assertLess(told, count)
        self.assertEqual(lines + self.texts('q'), [str(i) for i in range(count)])

    def test_a_reader_that_goes_away_loses_nothing(self):
        count = 20000
        self.send('q', '-', stdin=b''.join(b'%d\n' % i for i in range(count)))
        p = subprocess.Popen([SLUICE, 'recv', self.node.url('q')], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             bufsize=0)
        p.stdout.readline()
        p.stdout.close()
        err = p.stderr.read().decode()
        p.stderr.close()
        self.assertEqual(p.wait(timeout=PATIENCE), 1)
        self.assertIn('standard output', err)
        left = self.texts('q')
        told = int(re.search(r'received [\d,]+: ([\d,]+) accepted', err).group(1).replace(',', ''))
        self.assertEqual(left, [str(i) for i in range(told, count)])

    def test_an_interrupted_file_is_not_delivered_at_all(self):
        p = subprocess.Popen([SLUICE, 'send', self.node.url('q'), '--file', '-', '--json', '--trace'],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        p.stdin.write(b'x' * 1000)
        while b'transfer' not in p.stderr.readline():
            pass
        p.send_signal(signal.SIGINT)  # while it waits for more, which does not come
        self.assertEqual(p.wait(timeout=PATIENCE), 1)
        summary = json.loads(p.stdout.read())['summary']
        for f in (p.stdin, p.stdout, p.stderr):
            f.close()
        self.assertEqual((summary['not_sent'], summary['sent'], summary['interrupted']), (1, 0, True))
        self.assertEqual(self.texts('q'), [])

    def test_the_node_stops_when_asked_to(self):
        for by in (signal.SIGINT, signal.SIGTERM):
            node = Node()
            self.addCleanup(node.kill)
            status, last = node.stop(by)
            self.assertEqual((status, last['event']), (0, 'stopped'))

    # ---- on a terminal, and metrics

    def test_progress_is_drawn_on_a_terminal_only(self):
        ours, theirs = pty.openpty()
        p = subprocess.Popen([SLUICE, 'send', self.node.url('q'), '--count', '100', '--rate', '50'], stderr=theirs,
                             stdout=subprocess.DEVNULL)
        os.close(theirs)
        seen = b''
        while p.poll() is None or select.select([ours], [], [], 0)[0]:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    part = os.read(ours, 65536)
                except OSError:  # the other end is closed
                    break
                seen += part
        os.close(ours)
        self.assertEqual(p.wait(timeout=PATIENCE), 0)
        self.assertRegex(seen.decode(), r'sent \d+ of 100, \d+/s, \d.* left')
        piped = run('send', self.node.url('q'), '--count', 100, '--rate', 200)
        self.assertEqual(len(piped.stderr.splitlines()), 1)

    def test_frames_are_traced_when_asked_for(self):
        p = run('send', self.node.url('q'), '--body', 'x', '--trace')
        self.assertIn('transfer', p.stderr.decode())

    def test_metrics_are_what_prometheus_reads(self):
        text = urllib.request.urlopen('http://127.0.0.1:%d/metrics' % self.node.metrics_port, timeout=PATIENCE)
        self.assertIn('version=0.0.4', text.headers['Content-Type'])
        lines = text.read().decode().splitlines()
        self.assertEqual(len(lines) % 3, 0)
        for help_, type_, sample in zip(lines[0::3], lines[1::3], lines[2::3]):
            name = re.match(r'(\w+)(\{.*\})? \d+$', sample).group(1)
            self.assertTrue(help_.startswith('# HELP %s ' % name))
            kind = 'counter' if name.endswith('_total') else 'gauge'
            self.assertEqual(type_, '# TYPE %s %s' % (name, kind))
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen('http://127.0.0.1:%d/' % self.node.metrics_port, timeout=PATIENCE)
        self.assertEqual(refused.exception.code, 404)
        refused.exception.close()

    def test_users_are_checked(self):
        users = os.path.join(self.folder, 'users')
        self.assertEqual(run('passwd', users, 'me', '--stdin', '--write', 'q', stdin=b'se:cret\n').returncode, 0)
        self.node.kill()
        self.node = Node('--users', users)
        url = self.node.url('q')
        self.assertEqual(run('send', url, '--body', 'x').returncode, 2)
        wrong = run('send', url, '--user', 'me', '--password', 'wrong', '--body', 'x')
        self.assertEqual(wrong.returncode, 2)
        self.assertNotIn('wrong', wrong.stderr.decode())
        self.assertEqual(run('send', url, '--user', 'me', '--password', 'se:cret', '--body', 'x').returncode, 0)
        elsewhere = run('send', self.node.url('r'), '--user', 'me', '--password', 'se:cret', '--body', 'x')
        self.assertEqual(elsewhere.returncode, 2)
        self.assertIn("user 'me' may not write to 'r'", elsewhere.stderr.decode())


def main():
    global SLUICE, MESSAGES
    arguments = sys.argv[1:]
    if not arguments:
        raise SystemExit(__doc__)
    SLUICE = os.path.abspath(arguments.pop(0))
    if '--messages' in arguments:
        at = arguments.index('--messages')
        MESSAGES = int(arguments[at + 1])
        del arguments[at:at + 2]
    names = ['Everyday.' + name for name in arguments] or None
    unittest.main(argv=['cli_everyday'], defaultTest=names, verbosity=2)


if __name__ == '__main__':
    main()
