#!/usr/bin/env python3
"""Messages of `sluice send` to `sluice recv` over TLS or WebSocket, and what is said where that cannot be.

    transports.py SLUICE node                       against `sluice node`, each scheme, client certificates, SIGHUP
    transports.py SLUICE broker-j PORT TLS_PORT DIR  TLS; DIR has cert.pem
    transports.py SLUICE artemis PORT                WebSocket
"""
import json
import os
import signal
import subprocess
import sys
import tempfile

MESSAGES = 2000
PATIENCE = 120
SLUICE = None


def run(*arguments, stdin=b''):
    return subprocess.run([SLUICE, *map(str, arguments)], input=stdin, capture_output=True, timeout=PATIENCE)


def carries(url, address, *options):
    """Every message there and back, in order."""
    lines = b''.join(b'%d\n' % n for n in range(MESSAGES))
    sent = run('send', url, '--address', address, *options, '-', stdin=lines)
    assert sent.returncode == 0, sent.stderr.decode()
    got = run('recv', url, '--address', address, *options, '--count', MESSAGES, '--timeout', 30)
    assert got.returncode == 0, got.stderr.decode()
    assert got.stdout == lines, 'other messages, or another order'
    print('carried %d messages over %s' % (MESSAGES, url.split('@')[-1]))


def refuses(url, *options, says):
    r = run('send', url, '--address', 'q', '--body', 'x', *options)
    text = r.stderr.decode()
    assert r.returncode == 2, (r.returncode, text)
    for part in says:
        assert part in text, '%r is not in: %s' % (part, text)
    print('refused as it should be:', text.strip().splitlines()[-1])


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


def node():
    with tempfile.TemporaryDirectory() as folder:
        ca = authority(folder, 'ca')
        other = authority(folder, 'other')
        server = issue(folder, ca, 'server')
        client = issue(folder, ca, 'ann')
        ports = {}
        schemes = ('amqps', 'ws', 'wss')
        listen = [x for s in schemes for x in ('--listen', s + '://127.0.0.1:0')]
        process = subprocess.Popen(
            [SLUICE, 'node', '--json', '--tls-cert', server, '--tls-key', server + '.key', '--tls-client-ca', ca,
             *listen], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            for s in schemes:
                event = json.loads(process.stdout.readline())
                assert event['event'] == 'listening', event
                ports[s] = event['port']
            shown = ['--tls-ca', ca, '--tls-cert', client, '--tls-key', client + '.key']
            amqps = 'amqps://localhost:%d' % ports['amqps']
            carries(amqps, 'q', *shown)
            carries('wss://127.0.0.1:%d/any' % ports['wss'], 'q', *shown)
            carries('ws://127.0.0.1:%d' % ports['ws'], 'q')
            carries(amqps, 'q', '--tls-insecure', *shown[2:])
            refuses(amqps, *shown[2:], says=['CN=ca', '--tls-ca'])
            refuses(amqps, '--tls-ca', ca, says=['requires a certificate', '--tls-cert'])
            refuses('amqp://localhost:%d' % ports['amqps'], says=['TLS'])
            # The certificate of another CA, in the same files.
            issue(folder, other, 'server')
            process.send_signal(signal.SIGHUP)
            while 'certificate again' not in process.stderr.readline():
                pass
            refuses(amqps, *shown, says=['CN=other'])
            carries(amqps, 'q', '--tls-ca', other, *shown[2:])
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)
        assert process.returncode == 0


def broker_j(port, tls_port, folder):
    credentials = 'guest:guest@localhost:'
    trusted = ['--tls-ca', os.path.join(folder, 'cert.pem')]
    carries('amqps://%s%s' % (credentials, tls_port), 'test.tls', *trusted)
    refuses('amqps://%s%s' % (credentials, tls_port), says=['self-signed', '--tls-ca'])
    refuses('amqps://%s%s' % (credentials, tls_port), *trusted, '--tls-server-name', 'elsewhere.example',
            says=["is not for 'elsewhere.example'", 'localhost, 127.0.0.1'])
    refuses('amqps://%s%s' % (credentials, port), *trusted, says=['TLS'])


def artemis(port):
    carries('ws://guest:guest@127.0.0.1:%s' % port, 'transports')
    carries('amqp+ws://guest:guest@127.0.0.1:%s/any/path' % port, 'transports')


if __name__ == '__main__':
    SLUICE = sys.argv[1]
    {'node': node, 'broker-j': broker_j, 'artemis': artemis}[sys.argv[2]](*sys.argv[3:])
