#!/usr/bin/env python3
"""Messages of `sluice send` to `sluice recv` over TLS or WebSocket, and what is said where that cannot be.

    transports.py SLUICE node          against `sluice node`: each scheme, client certificates and users, SIGHUP, and
                                       `sluice audit` that ends TLS and speaks it
    transports.py SLUICE broker-j PORT TLS_PORT EXTERNAL_PORT DIR
    transports.py SLUICE artemis PORT TLS_PORT EXTERNAL_PORT DIR

DIR has the certificates of interop/make-certificates.
"""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

MESSAGES = 2000
PATIENCE = 120
SLUICE = None


def run(*arguments, stdin=b''):
    return subprocess.run([SLUICE, *map(str, arguments)], input=stdin, capture_output=True, timeout=PATIENCE)


def carries(url, address, *options, by=None):
    """Every message there and back, in order; the client logs in by the SASL mechanism `by`."""
    if by:
        said = run('send', url, '--address', address, *options, '--trace', '--count', 0, '--body', 'x').stderr.decode()
        assert 'sasl-init mechanism=%s ' % by in said.replace('\n', ' '), said
    lines = b''.join(b'%d\n' % n for n in range(MESSAGES))
    sent = run('send', url, '--address', address, *options, '-', stdin=lines)
    assert sent.returncode == 0, sent.stderr.decode()
    got = run('recv', url, '--address', address, *options, '--count', MESSAGES, '--timeout', 30)
    assert got.returncode == 0, got.stderr.decode()
    assert got.stdout == lines, 'other messages, or another order'
    print('carried %d messages over %s%s' % (MESSAGES, re.sub('//.*@', '//', url), ' as %s lets in' % by if by else ''))


def refuses(url, *options, says):
    address = [] if '--address' in options else ['--address', 'q']
    r = run('send', url, *address, '--body', 'x', *options)
    text = r.stderr.decode()
    assert r.returncode == 2, (r.returncode, text)
    for part in says:
        assert part in text, '%r is not in: %s' % (part, text)
    print('refused as it should be:', text.strip().splitlines()[-1])


def interrupt(process):
    """Ctrl-C, and what it has printed; it does not outlive the test."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=PATIENCE)[0]
    finally:
        process.kill()


def openssl(*arguments):
    subprocess.run(['openssl', *arguments], check=True, capture_output=True, timeout=PATIENCE)


def authority(folder, name):
    """A CA of its own; the file of its certificate."""
    file = os.path.join(folder, name + '.pem')
    openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2',
            '-subj', '/CN=' + name, '-keyout', file + '.key', '-out', file)
    return file


def issue(folder, ca, name):
    """A certificate of that CA, and its key beside it."""
    file = os.path.join(folder, name + '.pem')
    extensions = file + '.ext'
    with open(extensions, 'w') as out:
        out.write('subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=critical,CA:FALSE\n')
    openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=' + name,
            '-keyout', file + '.key', '-out', file + '.csr')
    openssl('x509', '-req', '-in', file + '.csr', '-CA', ca, '-CAkey', ca + '.key', '-CAcreateserial', '-days', '2',
            '-extfile', extensions, '-out', file)
    return file


@contextlib.contextmanager
def serving(*options):
    """A `sluice node`: the process, and its ports by scheme."""
    schemes = ('amqps', 'ws', 'wss')
    listen = [x for s in schemes for x in ('--listen', s + '://127.0.0.1:0')]
    process = subprocess.Popen([SLUICE, 'node', '--json', *listen, *options],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        ports = {}
        for s in schemes:
            event = json.loads(process.stdout.readline())
            assert event['event'] == 'listening', event
            ports[s] = event['port']
        yield process, ports
    finally:
        interrupt(process)
    assert process.returncode == 0


@contextlib.contextmanager
def auditing(*options):
    """`sluice audit` as a proxy: its port. What goes through it has to be clean."""
    process = subprocess.Popen([SLUICE, 'audit', '--listen', '127.0.0.1:0', *options],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        first = process.stderr.readline()
        match = re.match(r'auditing 127\.0\.0\.1:(\d+) -> ', first)
        assert match, first
        yield match.group(1)
    finally:
        out = interrupt(process)
    assert process.returncode == 0, out
    print('audited:', out.strip().splitlines()[-1])


def node():
    with tempfile.TemporaryDirectory() as folder:
        ca = authority(folder, 'ca')
        server = issue(folder, ca, 'server')
        shown = ['--tls-cert', server, '--tls-key', server + '.key', '--tls-client-ca', ca]
        with serving(*shown) as (process, ports):
            each_scheme(folder, ca, process, ports)
        issue(folder, ca, 'server')
        users = os.path.join(folder, 'users')
        assert run('passwd', users, 'ann', '--no-password', '--write', 'q', '--read', 'q').returncode == 0
        assert run('passwd', users, 'bob', '--stdin', stdin=b'secret\n').returncode == 0
        with serving(*shown, '--tls-client-optional', '--users', users) as (process, ports):
            logging_in(folder, ca, 'localhost:%d' % ports['amqps'])
            through_the_auditor(folder, ca, 'localhost:%d' % ports['amqps'])


def each_scheme(folder, ca, process, ports):
    other = authority(folder, 'other')
    client = issue(folder, ca, 'ann')
    shown = ['--tls-ca', ca, '--tls-cert', client, '--tls-key', client + '.key']
    amqps = 'amqps://localhost:%d' % ports['amqps']
    carries(amqps, 'q', *shown)
    carries('wss://127.0.0.1:%d/any' % ports['wss'], 'q', *shown)
    carries('ws://127.0.0.1:%d' % ports['ws'], 'q')
    carries(amqps, 'q', '--tls-insecure', *shown[2:])
    refuses(amqps, *shown[2:], says=['CN=ca', '--tls-ca'])
    refuses(amqps, '--tls-ca', ca, says=['requires a certificate', '--tls-cert'])
    refuses('amqp://localhost:%d' % ports['amqps'], says=['TLS'])
    refuses('amqp://localhost:%d' % ports['ws'], says=['HTTP', 'ws://'])
    # The certificate of another CA, in the same files.
    issue(folder, other, 'server')
    process.send_signal(signal.SIGHUP)
    assert any('certificate again' in line for line in process.stderr), 'the node ended'
    refuses(amqps, *shown, says=['CN=other'])
    carries(amqps, 'q', '--tls-ca', other, *shown[2:])


def logging_in(folder, ca, where):
    client = issue(folder, ca, 'ann')
    nobody = issue(folder, ca, 'nobody')
    trusted = ['--tls-ca', ca]
    carries('amqps://' + where, 'q', *trusted, '--tls-cert', client, '--tls-key', client + '.key', by='EXTERNAL')
    carries('amqps://bob:secret@' + where, 'q', *trusted, by='SCRAM-SHA-512')
    refuses('amqps://' + where, *trusted, '--tls-cert', client, '--tls-key', client + '.key', '--address', 'other',
            says=['unauthorized-access', "'ann' may not write to 'other'"])
    refuses('amqps://' + where, *trusted, '--tls-cert', nobody, '--tls-key', nobody + '.key',
            says=['may use EXTERNAL', 'give a user and a password'])
    refuses('amqps://' + where, *trusted, says=['give a user and a password'])
    refuses('amqps://' + where, *trusted, '--sasl-mechanism', 'EXTERNAL', says=['shows a certificate', 'cert_file'])


def through_the_auditor(folder, ca, where):
    server = os.path.join(folder, 'server.pem')
    towards = ['--forward', where, '--forward-tls', '--tls-ca', ca]
    with auditing('--listen-tls', server, '--listen-tls-key', server + '.key', *towards) as port:
        carries('amqps://bob:secret@localhost:' + port, 'q', '--tls-ca', ca)
    with auditing(*towards) as port:
        carries('amqp://bob:secret@localhost:' + port, 'q')


def certificates(folder, name):
    """Options for the certificate of that name, with the broker's to trust."""
    file = os.path.join(folder, name)
    return ['--tls-ca', os.path.join(folder, 'cert.pem'), '--tls-cert', file + '.pem', '--tls-key', file + '.key']


def checks_certificates(amqps, trusted):
    refuses(amqps, says=['self-signed', '--tls-ca'])
    refuses(amqps, *trusted, '--tls-server-name', 'elsewhere.example',
            says=["is not for 'elsewhere.example'", 'localhost, 127.0.0.1'])
    refuses(amqps.replace('guest:guest', 'guest:wrong'), *trusted, says=['refused the user or password (SASL SCRAM'])


def broker_j(port, tls_port, external_port, folder):
    trusted = certificates(folder, 'guest')[:2]
    amqps = 'amqps://guest:guest@localhost:' + tls_port
    external = 'amqps://localhost:' + external_port
    carries(amqps, 'test.tls', *trusted, by='SCRAM-SHA-256')
    carries(amqps, 'test.tls', *trusted, '--sasl-mechanism', 'PLAIN', by='PLAIN')
    carries(external, 'test.tls', *certificates(folder, 'guest'), by='EXTERNAL')
    checks_certificates(amqps, trusted)
    # It says nothing to those whose certificate it does not take, and hangs up.
    refuses(external, *trusted, says=['certificate'])
    refuses(external, *certificates(folder, 'stranger'), says=['certificate'])
    refuses('amqps://guest:guest@localhost:' + port, *trusted, says=['it speaks AMQP without TLS', 'amqp://'])


def artemis(port, tls_port, external_port, folder):
    trusted = certificates(folder, 'guest')[:2]
    amqps = 'amqps://guest:guest@localhost:' + tls_port
    external = 'amqps://localhost:' + external_port
    carries('ws://guest:guest@127.0.0.1:' + port, 'transports', by='SCRAM-SHA-512')
    carries('amqp+ws://guest:guest@127.0.0.1:%s/any/path' % port, 'transports')
    carries('wss://guest:guest@localhost:%s/any/path' % tls_port, 'transports', *trusted, by='SCRAM-SHA-512')
    carries(amqps, 'transports', *trusted, by='SCRAM-SHA-512')
    carries(amqps, 'transports', *trusted, '--sasl-mechanism', 'PLAIN', by='PLAIN')
    carries(external, 'transports', *certificates(folder, 'guest'), by='EXTERNAL')
    carries('wss://localhost:' + external_port, 'transports', *certificates(folder, 'guest'), by='EXTERNAL')
    checks_certificates(amqps, trusted)
    refuses(external, *trusted, says=["does not accept this side's certificate"])
    refuses(external, *certificates(folder, 'stranger'), says=["does not accept this side's certificate"])
    refuses('ws://guest:guest@localhost:' + tls_port, says=['does it speak WebSocket'])


if __name__ == '__main__':
    SLUICE = sys.argv[1]
    {'node': node, 'broker-j': broker_j, 'artemis': artemis}[sys.argv[2]](*sys.argv[3:])
