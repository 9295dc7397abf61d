"""Messages of every shape, and damage to them."""

from __future__ import annotations

import random

from evenflow.overlay.protocol.codec import BODY
from evenflow.overlay.protocol.messages import (
    Adopt,
    AskStatus,
    Envelope,
    Fetch,
    Fetched,
    Heartbeat,
    Hello,
    Join,
    Joined,
    Label,
    Member,
    Members,
    Message,
    MoveDone,
    Offer,
    Publish,
    PublisherState,
    Relieve,
    Share,
    ShelfId,
    SpotLoad,
    Sync,
    TermStart,
)
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.overlay.space.delegation import DelegateList

PLACE = Coordinate(0.25, 0.75)
SHELF = ShelfId("meters", PLACE)
LABEL = Label(3, 2, 7, DelegateList.at_home(PLACE).delegate(Coordinate(0.5, 0.5), 9), 1, 2, 3)
MESSAGE = Message(5, 6, 7, b"payload")
MEMBER = Member("b1", PLACE, "127.0.0.1:1", 4)
BODIES = [
    Join(SHELF, 2),
    Joined(2, LABEL.delegates),
    Publish(SHELF, 1, 2, (b"", b"x" * 300)),
    Fetch(SHELF, 1, 0, 10, 100),
    Fetched((MESSAGE, MESSAGE), 5),
    Sync(SHELF, 9, 8, True, 1, "b2", (TermStart(1, 2),), LABEL, (PublisherState(1, 2, 3),)),
    Adopt(SHELF, 1, 2, LABEL, (PublisherState(1, 2, 3),), 10),
    Offer(SHELF, ("b1", "b2", "b3"), 10),
    Relieve(SHELF, PLACE, Coordinate(0.5, 0.5), 10),
    MoveDone(LABEL.delegates),
    AskStatus(),
]
LINKS = [
    Hello(()),
    Hello((MEMBER,)),
    Members((MEMBER, Member("b2", Coordinate(0.1, 0.1), "", 1, alive=False))),
    Heartbeat(12),
    Share("b2", 4, 1, (SpotLoad(("b1", "b3"), 10, "meters", PLACE, 5),)),
    *(Envelope(PLACE, "b1", 3, "b2", 1, 2, False, BODY.encode(body)) for body in BODIES),
]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Damage some bytes, or cut, repeat or insert some."""
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(4):
            case 0 if at < len(changed):
                changed[at] ^= 1 << rng.randrange(8)
            case 1:
                del changed[at : at + rng.randrange(1, 9)]
            case 2:
                changed[at:at] = rng.randbytes(rng.randrange(1, 9))
            case _:
                changed[at:at] = changed[at : at + rng.randrange(1, 20)]
    return bytes(changed)
