#!/usr/bin/env python3
"""A client that states a wrong next-outgoing-id, through `sluice audit`, to a broker that ends its session for it.

    audit_wrong_client.py --sluice PROGRAM --port P

The auditor names the flow, its frame and its numbers, at or before the broker's end: with --until-violation it stops
before the client can hear of that end. A capture of the same run gives the same findings.
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'judges'))
import audit_support  # noqa: E402
import stale_flow  # noqa: E402

VIOLATION = 'amqp:session:window-violation'
# open, begin, attach and the transfers come before it
STALE_FRAME = 1 + 3 + stale_flow.TRANSFERS + 1  # the SASL frame is the first
EXACT = (stale_flow.FIRST + stale_flow.TRANSFERS) & 0xFFFFFFFF


def misbehave(port, offset):
    """Sends one flow that is off by so much, one more transfer and an exact flow. The first end of the session, or
    'closed' if the transport ended without one, or None."""
    p = stale_flow.Peer(port)
    p.open()
    p.begin(next_outgoing_id=stale_flow.FIRST)
    p.attach_sender('test.wrong-client')
    for _ in range(stale_flow.TRANSFERS):
        p.transfer()
    p.settle()
    p.session_flow(next_outgoing_id=(p.next_outgoing_id + offset) & 0xFFFFFFFF, echo=True)
    frames = p.settle()
    if not any(f.name == 'end' for f in frames) and not p.closed:
        p.transfer()
        p.session_flow(echo=True)
        frames += p.settle()
    ends = [f.error_text() for f in frames if f.name == 'end']
    closed = p.closed
    p.shut()
    return ends[0] if ends else 'closed' if closed else None


def check(name, good, *more):
    print('%s %s' % ('ok   ' if good else 'WRONG', name), *more, flush=True)
    return good


def names_the_flow(findings, offset):
    if len(findings) != 1:
        return False
    f = findings[0]
    print('    ' + f['text'])
    return (f['rule'], f['severity'], f['direction'], f['performative'], f['channel'], f['frame'], f['expected'],
            f['actual']) == ('next-outgoing-id', 'violation', 'client->server', 'flow', 0, STALE_FRAME, str(EXACT),
                             str(EXACT + offset))


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('--sluice', required=True)
    a.add_argument('--port', type=int, required=True)
    o = a.parse_args()
    good = True

    for name, offset in (('exact', 0), ('one too low', -1), ('one too high', 1)):
        capture = audit_support.Capture(o.port)
        proxy = audit_support.Proxy(o.sluice, o.port)
        end = misbehave(proxy.port, offset)
        status = proxy.stop()
        if offset == 0:
            good &= check(name, end is None and status == 0 and not proxy.findings, proxy.findings)
        else:
            good &= check(name, end is not None and VIOLATION in end and status == 1, end)
            good &= check(name + ': named', names_the_flow(proxy.findings, offset))
        good &= check(name + ': the capture', audit_support.same_findings(proxy, capture, o.sluice))

    proxy = audit_support.Proxy(o.sluice, o.port, '--until-violation')
    end = misbehave(proxy.port, -1)
    status = proxy.wait()
    good &= check('until the first violation', end == 'closed' and status == 1, 'status %d, the client saw: %s' % (status, end))
    good &= check('until the first violation: named', names_the_flow(proxy.findings, -1))
    good &= check('the summary names both ends', "product 'Apache Qpid Broker-J Core'" in proxy.summary())
    if not good:
        print(proxy.summary())
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
