"""A slow cable, in user space: frames that arrive at one port leave at the other, later, and so many bits a second.

    ip netns exec SWITCH python relay.py PORT PORT DELAY_MS MBIT_PER_S

For kernels without netem. Frames are taken as the kernel has them, large ones whole and sums unfinished, with the few
bytes that say so (PACKET_VNET_HDR); so nothing has to be set at the hosts. It prints one line when it is ready.
"""

import select
import signal
import socket
import sys
import time
from collections import deque

ALL = 3  # ETH_P_ALL
PACKET, WITH_HEADER = 263, 15  # SOL_PACKET, PACKET_VNET_HDR
HEADER = 10  # bytes of it
LARGEST = 1 << 17


class Cable:
    """One direction: what has come in, and when it may leave."""

    def __init__(self, delay, per_byte):
        self.delay, self.per_byte = delay, per_byte  # seconds
        self.free = 0.0  # when the last byte of the frame before has been sent
        self.frames = deque()  # (when it leaves, frame), in this order

    def take(self, now, size, frame):
        """Take a frame of `size` bytes in: it is sent when the one before is, and arrives `delay` later."""
        self.free = max(now, self.free) + size * self.per_byte
        self.frames.append((self.free + self.delay, frame))

    def due(self, now):
        """Yield the frames whose time has come."""
        while self.frames and self.frames[0][0] <= now:
            yield self.frames.popleft()[1]


def opened(port):
    """Return a socket that sees every frame of a port."""
    ours = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
    ours.setsockopt(PACKET, WITH_HEADER, 1)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    ours.bind((port, ALL))
    ours.setblocking(False)
    return ours


def receive(ours, cable):
    """Take in what lies at a port; frames that leave there are seen, too, and not meant."""
    while True:
        try:
            frame, (_, _, kind, *_) = ours.recvfrom(LARGEST)
        except BlockingIOError:
            return
        if kind != socket.PACKET_OUTGOING:
            cable.take(time.monotonic(), len(frame) - HEADER, frame)


def relay(first, second, delay, per_byte):
    """Pass frames on between two ports, both ways, until the end."""
    ports = (opened(first), opened(second))
    cables = {ports[0]: (Cable(delay, per_byte), ports[1]), ports[1]: (Cable(delay, per_byte), ports[0])}
    print("ready", flush=True)
    while True:
        waiting = [cable.frames[0][0] for cable, _ in cables.values() if cable.frames]
        left = max(0.0, min(waiting) - time.monotonic()) if waiting else None
        for ours in select.select(ports, (), (), left)[0]:
            receive(ours, cables[ours][0])
        now = time.monotonic()
        for cable, other in cables.values():
            for frame in cable.due(now):
                other.send(frame)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    relay(sys.argv[1], sys.argv[2], 1e-3 * float(sys.argv[3]), 8e-6 / float(sys.argv[4]))
