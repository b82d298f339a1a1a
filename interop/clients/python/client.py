#!/usr/bin/env python3
"""A client on Qpid Proton's Python binding: client.py URL MODE ADDRESS COUNT SIZE (see ../README.md)."""
import sys

from proton import Message
from proton.handlers import MessagingHandler
from proton.reactor import Container


class Failing(MessagingHandler):
    """Each way in which the peer, or the way to it, fails ends in fail()."""

    def on_transport_error(self, event):
        self.fail(event.transport.condition)

    def on_connection_error(self, event):
        self.fail(event.connection.remote_condition)

    def on_session_error(self, event):
        self.fail(event.session.remote_condition)

    def on_link_error(self, event):
        self.fail(event.link.remote_condition)


class Client(Failing):
    def __init__(self, url, mode, address, count, size):
        super().__init__(prefetch=10)
        self.url, self.address, self.count, self.body = url, address, count, b'x' * size
        self.sends, self.receives = mode != 'recv', mode != 'send'
        self.sent = self.accepted = self.received = 0
        self.failed = False

    def on_start(self, event):
        event.container.allow_insecure_mechs = True
        self.connection = event.container.connect(self.url, reconnect=False)
        if self.sends:
            event.container.create_sender(self.connection, self.address)
        if self.receives:
            event.container.create_receiver(self.connection, self.address)

    def on_sendable(self, event):
        while event.sender.credit and self.sent < self.count:
            event.sender.send(Message(body=self.body))
            self.sent += 1

    def on_accepted(self, event):
        self.accepted += 1
        self.finish()

    def on_message(self, event):
        self.received += 1
        self.finish()

    def fail(self, why):
        print('proton-python: %s' % why, file=sys.stderr)
        self.failed = True
        self.connection.close()

    def done(self):
        return (not self.sends or self.accepted == self.count) and (not self.receives or self.received >= self.count)

    def finish(self):
        if self.done():
            self.connection.close()


def main():
    if len(sys.argv) != 6:
        sys.exit('usage: client.py amqp://USER:PASSWORD@HOST:PORT send|recv|both ADDRESS COUNT SIZE')
    url, mode, address, count, size = sys.argv[1:]
    client = Client(url, mode, address, int(count), int(size))
    Container(client).run()
    print('sent=%d accepted=%d received=%d' % (client.sent, client.accepted, client.received))
    return 1 if client.failed or not client.done() else 0


if __name__ == '__main__':
    sys.exit(main())
