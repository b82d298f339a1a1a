"""A TCP relay that can stop passing octets on, or break its connections off, in the middle of a delivery."""
import random
import socket
import struct
import threading


def fresh(what):
    """An address that nobody else has."""
    return 'test.pairing.%s.%016x' % (what, random.SystemRandom().getrandbits(64))


class Relay:
    """127.0.0.1:port -> 127.0.0.1:to; after forward_max octets from the client no more are read from it."""

    def __init__(self, to, forward_max=None):
        self.to, self.forward_max, self.forwarded = to, forward_max, 0
        self.sockets, self.frozen, self.full = [], threading.Event(), threading.Event()
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(('127.0.0.1', self.to))
            self.sockets += [client, server]
            threading.Thread(target=self.copy, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.copy, args=(server, client, False), daemon=True).start()

    def copy(self, source, to, counts):
        try:
            while True:
                octets = source.recv(65536)
                if not octets:
                    return to.shutdown(socket.SHUT_WR)
                if self.frozen.is_set():
                    continue  # swallowed: neither side hears of the other any more
                to.sendall(octets)
                if counts:
                    self.forwarded += len(octets)
                    if self.forward_max is not None and self.forwarded >= self.forward_max:
                        self.full.set()
                        return None  # nothing more is read
        except OSError:
            return None

    def freeze(self):
        self.frozen.set()

    def wait_until_full(self):
        if not self.full.wait(60):
            raise OSError('only %d octets came' % self.forwarded)

    def cut(self):
        """Resets every connection."""
        for s in self.sockets:
            try:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                s.shutdown(socket.SHUT_RD)  # wakes the thread that reads, so that the close is one
                s.close()
            except OSError:
                pass

    def close(self):
        self.listener.close()
        self.cut()
