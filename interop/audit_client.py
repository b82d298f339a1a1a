#!/usr/bin/env python3
"""Somebody else's client against a broker, through `sluice audit`: nothing is held against it that is not true.

    audit_client.py --sluice PROGRAM --port P --build FOLDER LANGUAGE

Each finding has to be one of KNOWN, which docs/auditing.md lists with the frames: whoever adds one has read the
standard and the trace. A capture of the same run gives the same findings.
"""
import argparse
import collections
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, 'clients'))
import audit_support  # noqa: E402
import build  # noqa: E402

# mode, messages, octets each: small ones, low credit both ways at once, deliveries of several frames
RUNS = (('send', 500, 100), ('recv', 500, 100), ('both', 2000, 100), ('both', 40, 200000))
# (rule, direction) of what was seen and is true. Proton's receivers state delivery-count 0 in the flow that they send
# behind their attach, before the sender's attach has come.
PROTON = {('delivery-count-early', 'client->server')}
KNOWN = {'c': PROTON, 'cpp': PROTON, 'python': PROTON, 'javascript': set(), 'go': set()}


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('--sluice', required=True)
    a.add_argument('--port', type=int, required=True)
    a.add_argument('--build', required=True)
    a.add_argument('language', choices=build.LANGUAGES)
    o = a.parse_args()
    command = build.build(o.language, os.path.join(os.path.abspath(o.build), o.language))
    capture = audit_support.Capture(o.port)
    proxy = audit_support.Proxy(o.sluice, o.port)
    url = 'amqp://guest:guest@127.0.0.1:%d' % proxy.port
    good = True
    for mode, count, size in RUNS:
        done = subprocess.run(command + [url, mode, 'test.audit-%s' % o.language, str(count), str(size)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=150)
        good &= done.returncode == 0
        print('%s %s, %d messages of %d octets: %s' % (
            'ok   ' if done.returncode == 0 else 'WRONG', mode, count, size, done.stdout.strip()), flush=True)
    status = proxy.stop()
    seen = collections.Counter((f['rule'], f['direction']) for f in proxy.findings)
    for key, n in seen.items():
        first = next(f for f in proxy.findings if (f['rule'], f['direction']) == key)
        known = key in KNOWN[o.language]
        good &= known
        print('%s %d times, first: #%d %s' % ('known' if known else 'NEW  ', n, first['connection'], first['text']))
    good &= status == (1 if proxy.findings else 0)
    good &= audit_support.same_findings(proxy, capture, o.sluice)
    print(proxy.summary())
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
