#!/usr/bin/env python3
"""The agent of interop pairings on Qpid Proton's Python binding (see ../README.md)."""
import sys

from client import Failing
from proton import Delivery, Link, Message
from proton.reactor import Container, LinkOption

SND = {'unsettled': Link.SND_UNSETTLED, 'settled': Link.SND_SETTLED, 'mixed': Link.SND_MIXED}
RCV = {'first': Link.RCV_FIRST, 'second': Link.RCV_SECOND}


def say(text):
    print(text, flush=True)


class Modes(LinkOption):
    def __init__(self, options):
        self.snd, self.rcv = SND[options['snd']], RCV[options['rcv']]

    def apply(self, link):
        link.snd_settle_mode, link.rcv_settle_mode = self.snd, self.rcv


class Agent(Failing):
    def __init__(self, url, mode, address, options):
        super().__init__(prefetch=0, auto_accept=False, auto_settle=False)
        self.url, self.mode, self.address, self.options = url, mode, address, options
        self.count = int(options['count'])
        self.sent = self.done = self.received = self.came_settled = 0
        self.outcomes = {}
        self.waiting, self.under_way = [], {}
        self.failed = self.closing = False

    def on_start(self, event):
        self.container = event.container
        self.container.allow_insecure_mechs = True
        self.connection = self.container.connect(self.url, reconnect=False, heartbeat=int(self.options['idle']) / 1000)
        if self.mode == 'echo':
            self.sender = self.container.create_sender(self.connection, self.options['to'])
            self.receiver = self.container.create_receiver(self.connection, self.address)
        elif self.mode == 'send':
            self.sender = self.container.create_sender(self.connection, self.address, options=Modes(self.options))
        else:
            self.receiver = self.container.create_receiver(self.connection, self.address, options=Modes(self.options))

    def on_link_opened(self, event):
        if event.receiver:
            event.receiver.flow(int(self.options['credit']))
            if self.mode == 'drain':
                event.receiver.drain(0)

    # ---- sending

    def on_sendable(self, event):
        if self.mode == 'send':
            while event.sender.credit and self.sent < self.count:
                body = 'x' * int(self.options['size']) if int(self.options['size']) else str(self.sent)
                delivery = event.sender.send(Message(body=body))
                self.sent += 1
                if self.options['snd'] == 'settled':
                    delivery.settle()
                    self.outcome('settled')
        else:
            self.pass_on()

    def on_delivery(self, event):
        d = event.delivery
        if d.link.is_sender and d.updated and d.remote_state and not hasattr(d, 'seen'):
            state = {Delivery.ACCEPTED: 'accepted', Delivery.REJECTED: 'rejected', Delivery.RELEASED: 'released',
                     Delivery.MODIFIED: 'modified'}.get(d.remote_state)
            if state is None:
                return
            if self.mode == 'echo':
                incoming = self.under_way.pop(d.tag)
                incoming.update(Delivery.ACCEPTED if state == 'accepted' else Delivery.REJECTED)
                incoming.settle()
                self.receiver.flow(1)
                d.settle()
                return self.pass_on()
            if d.settled or self.options['rcv'] == 'second':
                d.settle()
                self.outcome(state)

    def outcome(self, name):
        self.outcomes[name] = self.outcomes.get(name, 0) + 1
        self.done += 1
        if self.done % 100 == 0:
            say('progress %d' % self.done)
        if self.done == self.count:
            self.finish()

    # ---- receiving

    def on_message(self, event):
        d = event.delivery
        if self.mode == 'echo':
            self.waiting.append((d, event.message))
            return self.pass_on()
        self.received += 1
        self.came_settled += d.settled
        action = self.options['action']
        if self.mode == 'drain':
            d.update(Delivery.ACCEPTED)
            d.settle()
        elif action == 'hold':
            if self.received == self.count:
                say('ready')
        else:
            if d.settled:
                d.settle()
            else:
                if action == 'modify':
                    d.local.failed = True
                d.update({'accept': Delivery.ACCEPTED, 'release': Delivery.RELEASED, 'reject': Delivery.REJECTED,
                          'modify': Delivery.MODIFIED}[action])
                if self.options['rcv'] == 'first':
                    d.settle()
                elif not d.settled:
                    return  # until the sender has settled
            self.taken(event)

    def on_settled(self, event):
        d = event.delivery
        if d.link.is_receiver and self.mode == 'recv' and self.options['rcv'] == 'second' and d.local_state:
            d.settle()
            self.taken(event)

    def taken(self, event):
        self.done += 1
        if self.done == self.count:
            self.finish()
        elif self.received + event.receiver.credit < self.count:
            event.receiver.flow(1)

    def on_link_flow(self, event):
        if self.mode == 'drain' and event.receiver and event.receiver.credit == 0 and not event.receiver.draining():
            self.finish()

    def pass_on(self):
        while self.waiting and self.sender.credit:
            d, message = self.waiting.pop(0)
            self.under_way[self.sender.send(message).tag] = d

    # ---- the end

    def finish(self):
        if not self.closing:
            self.closing = True
            self.connection.close()

    def fail(self, why):
        if not self.closing:
            print('proton-python: %s' % why, file=sys.stderr)
            self.failed = self.closing = True
            self.connection.close()
            self.container.stop()

    def on_disconnected(self, event):
        self.fail('disconnected')


def main():
    url, mode, address = sys.argv[1:4]
    options = dict(to='', count='1', size='0', credit='100', snd='mixed', rcv='first', action='accept', idle='0')
    options.update(a.split('=', 1) for a in sys.argv[4:])
    agent = Agent(url, mode, address, options)
    Container(agent).run()
    say('received=%d settled=%d' % (agent.received, agent.came_settled))
    say('outcomes %s' % ' '.join('%s=%d' % o for o in sorted(agent.outcomes.items())))
    return 1 if agent.failed else 0


if __name__ == '__main__':
    sys.exit(main())
