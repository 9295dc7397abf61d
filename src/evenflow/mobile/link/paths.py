"""Where a client is: its address can change under a connection (RFC 9000, section 9).

A packet that only the client can have made and that comes from a new address says: I am here now.
What is sent goes there from then on. But who catches a packet can send it on from anywhere, so the
new address must *prove* itself: a ping is sent there, and only the client can acknowledge it. Until
then no more than three times what came from there is sent there; and if the proof does not come in
time, the last proven address counts again.

A packet of the address that was just left may come late; for a moment it says nothing.

qh3 can do this itself, but counts addresses for the life of a connection and takes no fourth one.
So its state machine sees one address for ever, and this is where addresses are.
"""

from __future__ import annotations

from typing import Final

Host = tuple[str, int]

PROOF_S: Final = 3.0
"""How long a new address has to prove itself."""
LATE_S: Final = 1.0
"""How long packets of an address that was left may come late."""
CREDIT: Final = 3
"""So many times what came from an unproven address may be sent there."""


class Paths:
    """The address of a client.

    Args:
        address: The one that the handshake was made with: proven by it.
    """

    __slots__ = ("_asked", "_credit", "_deadline", "_left", "_left_until", "_proven", "target")

    def __init__(self, address: Host) -> None:
        self.target = address
        """Where what is sent goes."""
        self._proven = address
        self._asked = 0
        self._credit = 0
        self._deadline = 0.0
        self._left: Host | None = None
        self._left_until = 0.0

    @property
    def proven(self) -> bool:
        """Whether the target has proved itself."""
        return self.target == self._proven

    def on_packet(self, address: Host, size: int, now: float) -> int:
        """A packet of the client came from an address.

        Returns:
            Number of a ping to send for proof; 0 for none.
        """
        if not self.proven and now >= self._deadline:
            self.target = self._proven
        if address == self.target:
            self._credit += CREDIT * size
            return 0
        late = address == self._left and now < self._left_until
        if late or (address == self._proven and not self.proven):
            return 0
        self.target = address
        self._credit = CREDIT * size
        self._deadline = now + PROOF_S
        self._asked += 1
        return self._asked

    def on_proof(self, number: int, now: float) -> bool:
        """A ping was acknowledged; return whether the client has moved by it."""
        if self.proven or number != self._asked:
            return False
        self._left, self._left_until = self._proven, now + LATE_S
        self._proven = self.target
        return True

    def may_send(self, size: int, now: float) -> bool:
        """Whether a datagram may be sent to the target; it counts as sent."""
        if self.proven:
            return True
        if now >= self._deadline:
            self.target = self._proven
            return True
        if self._credit < size:
            return False
        self._credit -= size
        return True
