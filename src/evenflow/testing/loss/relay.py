"""A relay for UDP on the loopback interface that loses packets in bursts, both ways.

A program is given the relay's address instead of the other end's. Each address that sends to the
relay gets a socket of its own towards the other end, so that answers find their way and a new
address is seen there. A packet is passed on at once or lost; nothing is queued or reordered. What
the relay cannot take or pass on (a full buffer of the system, more senders than `MOST_SENDERS`) is
lost as on any network, and counted apart.
"""

from __future__ import annotations

import random
import selectors
import socket
import threading
from typing import TYPE_CHECKING, Final

from evenflow.closing import Closing
from evenflow.testing.loss.gilbert_elliott import Losses

if TYPE_CHECKING:
    from evenflow.testing.loss.gilbert_elliott import GilbertElliott

LOOPBACK: Final = "127.0.0.1"
MOST_SENDERS: Final = 64
PACKET_BYTES: Final = 65_535
BUFFER_BYTES: Final = 4 << 20
ROUND: Final = 256
"""Packets of one socket before the others have their turn."""

Address = tuple[str, int]


class LossyRelay(Closing):
    """Passes packets on to ``target`` and answers back, except those that the model loses.

    Args:
        target: Where packets go, on the loopback interface.
        model: How many are lost, and in which bursts.
        seed: Of the losses; the same packets are lost again with the same seed.
    """

    def __init__(self, target: Address, model: GilbertElliott, *, seed: int = 1) -> None:
        self.there = Losses(model, random.Random(seed))
        """Packets to the target."""
        self.back = Losses(model, random.Random(seed + 1))
        """Answers of the target."""
        self.refused = 0
        """Packets that could not be taken or passed on, apart from the losses."""
        self._target = target
        self._selector = selectors.DefaultSelector()
        self._door = self._open((LOOPBACK, 0), None)
        self._ways: dict[Address, socket.socket] = {}
        self._wake_read, self._wake_write = socket.socketpair()
        self._selector.register(self._wake_read, selectors.EVENT_READ, self._wake_read)
        self._thread = threading.Thread(target=self._run, name="lossy-relay", daemon=True)
        self._thread.start()

    @property
    def address(self) -> Address:
        """Where programs send to."""
        host, port = self._door.getsockname()
        return host, port

    def close(self) -> None:
        """Pass nothing on any more."""
        self._wake_write.close()
        self._thread.join()
        for each in [self._door, *self._ways.values(), self._wake_read]:
            each.close()
        self._selector.close()

    def _open(self, address: Address, sender: Address | None) -> socket.socket:
        """A socket; what comes in there is an answer to ``sender``, or for the target."""
        opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        opened.settimeout(0.0)
        opened.bind(address)
        self._selector.register(opened, selectors.EVENT_READ, sender)
        return opened

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data is self._wake_read:
                    return
                source = key.fileobj
                assert isinstance(source, socket.socket)
                if source is self._door:
                    self._pass_there()
                else:
                    self._pass_back(source, key.data)

    def _pass_there(self) -> None:
        for _ in range(ROUND):
            try:
                packet, sender = self._door.recvfrom(PACKET_BYTES)
            except OSError:
                return
            way = self._ways.get(sender)
            if way is None:
                if len(self._ways) >= MOST_SENDERS:
                    self.refused += 1
                    continue
                way = self._ways[sender] = self._open((LOOPBACK, 0), sender)
            if not self.there.next_is_lost():
                self._send(way, packet, self._target)

    def _pass_back(self, way: socket.socket, sender: Address) -> None:
        for _ in range(ROUND):
            try:
                packet = way.recv(PACKET_BYTES)
            except OSError:
                return
            if not self.back.next_is_lost():
                self._send(self._door, packet, sender)

    def _send(self, way: socket.socket, packet: bytes, to: Address) -> None:
        try:
            way.sendto(packet, to)
        except OSError:  # nobody there, or a full buffer: a network says nothing either
            self.refused += 1
