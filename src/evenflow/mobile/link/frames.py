"""What a mobile node and its gateway say to one another.

======================  ============  ==========================================================
frame                   from          meaning
======================  ============  ==========================================================
:class:`Hello`          node          who I am, and what of your messages I have
:class:`Items`          node          numbered items of a topic, without gaps
:class:`Settle`         node          find out how far that other gateway has accepted my items
:class:`Received`       node          I have a mailbox's messages up to this number
:class:`Attributes`     node          what describes me has changed
:class:`Position`       node          where I am
:class:`Outcome`        node          an order is carried out, or is not and why
:class:`Ping`           both          still there? (only where the link itself has no keep-alive)
:class:`Pong`           both          still there
:class:`Bye`            both          this connection ends, and why
:class:`Welcome`        gateway       you are attached; how far your items are accepted here
:class:`Safe`           gateway       your items up to this number are this gateway's to deliver
:class:`Settled`        gateway       how far that other gateway has accepted your items
:class:`Alternatives`   gateway       other gateways, best first (first command of the papers)
:class:`Handover`       gateway       go to one of these gateways (second command of the papers)
:class:`Message`        gateway       a message to you
======================  ============  ==========================================================

The first frame of a node is ``Hello``, the first of a gateway ``Welcome`` or ``Bye``. Frames are
MessagePack, checked against these types by msgspec: what does not fit is refused as a whole.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from evenflow.errors import DecodeError
from evenflow.model.item_headers import check_block

MOST_FRAME: Final = 1 << 20
"""Bytes of the largest frame."""
MOST_ITEMS: Final = 1_000
"""Items in one frame."""
MOST_NUMBER: Final = 1 << 53

Name = Annotated[
    str,
    msgspec.Meta(min_length=1, max_length=255, pattern=r"\A[^\s\x00-\x1f\x7f*?\[\]\"'#$]+\Z"),
]
"""Of a node, gateway, mailbox or topic: it may be part of a DDS partition."""
Run = Annotated[str, msgspec.Meta(min_length=16, max_length=16, pattern=r"\A[0-9a-f]+\Z")]
"""One life of a client's memory, or of its disk: 16 random hexadecimal digits."""
Number = Annotated[int, msgspec.Meta(ge=0, le=MOST_NUMBER)]
Time = Annotated[int, msgspec.Meta(ge=-MOST_NUMBER, le=MOST_NUMBER)]
"""Microseconds since 1970."""
Text = Annotated[str, msgspec.Meta(max_length=1_000)]
Finite = Annotated[float, msgspec.Meta(ge=-1.7e308, le=1.7e308)]
"""A number that JSON has: neither infinite nor NaN."""
Address = Annotated[str, msgspec.Meta(min_length=3, max_length=300)]
"""``quic://host:port`` or ``tls://host:port``."""
Addresses = Annotated[tuple[Address, ...], msgspec.Meta(max_length=64)]
Latitude = Annotated[float, msgspec.Meta(ge=-90, le=90)]
Longitude = Annotated[float, msgspec.Meta(ge=-180, le=180)]
Place = tuple[Latitude, Longitude]
Described = Annotated[
    dict[Annotated[str, msgspec.Meta(max_length=64)], Text | Finite | bool],
    msgspec.Meta(max_length=64),
]
"""Attributes of a node, by name."""
Marks = Annotated[dict[Name, Number], msgspec.Meta(max_length=1_000)]


class _Frame(msgspec.Struct, frozen=True, array_like=True, tag=str.lower):
    """A frame; on the wire an array that begins with its name in lower case."""


class Hello(_Frame, frozen=True):
    """The first frame of a node."""

    token: Annotated[str, msgspec.Meta(max_length=4_096)]
    node: Name
    run: Run
    connection: Number
    """Grows from one connection of the node to the next: of two, the larger counts."""
    attributes: Described
    position: Place | None
    received: Marks
    """For each mailbox: the number up to which its messages are had."""


class Items(_Frame, frozen=True):
    """Items ``first``, ``first + 1``, ... of a topic."""

    topic: Name
    first: Annotated[int, msgspec.Meta(ge=1, le=MOST_NUMBER)]
    times: Annotated[tuple[Time, ...], msgspec.Meta(min_length=1, max_length=MOST_ITEMS)]
    """Microseconds since 1970, for each item."""
    payloads: Annotated[tuple[bytes, ...], msgspec.Meta(min_length=1, max_length=MOST_ITEMS)]
    headers: Annotated[tuple[bytes, ...], msgspec.Meta(max_length=MOST_ITEMS)] = ()
    """For each item, as a sample of it alone has them, empty without; none when no item has any."""

    def __post_init__(self) -> None:
        if len(self.times) != len(self.payloads):
            raise ValueError(f"{len(self.times)} times for {len(self.payloads)} payloads")
        if self.headers:
            if len(self.headers) != len(self.payloads):
                raise ValueError(f"headers of {len(self.headers)} of {len(self.payloads)} items")
            check_blocks(self.headers)


def check_blocks(blocks: tuple[bytes, ...]) -> None:
    """Raise `ValueError` unless each is empty, or the headers of one item."""
    for block in filter(None, blocks):
        try:
            check_block(block)
        except DecodeError as error:
            raise ValueError(str(error)) from None


class Settle(_Frame, frozen=True):
    """A question to another gateway, by way of this one; answered by ``Settled``, once or late."""

    gateway: Name
    topic: Name


class Received(_Frame, frozen=True):
    """All messages of a mailbox up to a number are had, and noted."""

    mailbox: Name
    number: Number


class Attributes(_Frame, frozen=True):
    """All attributes of the node, in place of the former ones."""

    attributes: Described


class Position(_Frame, frozen=True):
    """Where the node is."""

    place: Place


class Outcome(_Frame, frozen=True):
    """What came of a ``Handover``; to the gateway where the node is then, which passes it on."""

    order: Text
    ok: bool
    reason: Text
    milliseconds: Finite
    """From the order to being usable at the new gateway."""
    in_flight: Number
    """Items that were unsettled when it began."""
    left: Marks = {}
    """For each topic: how far the old gateway has accepted, as the node knows. It compares."""


class Ping(_Frame, frozen=True):
    """Answered by ``Pong``."""


class Pong(_Frame, frozen=True):
    """The answer to ``Ping``."""


class Bye(_Frame, frozen=True):
    """This connection ends."""

    reason: Text
    retry: bool = True
    """Whether another try can succeed: not with a refused token."""


class Welcome(_Frame, frozen=True):
    """The first frame of a gateway: the node is attached."""

    gateway: Name
    accepted: Marks
    """For each topic: the number up to which the items of this run are accepted here."""
    alternatives: Addresses
    topics: tuple[Name, ...]
    """Topics that the node may publish to, its default one first."""
    in_flight: Annotated[int, msgspec.Meta(ge=1_024, le=1 << 30)]
    """Bytes of unsafe items that the gateway takes from this node."""
    keep_alive_s: Annotated[float, msgspec.Meta(gt=0, le=3_600)]


class Safe(_Frame, frozen=True):
    """The items of a topic up to a number are accepted."""

    topic: Name
    number: Number


class Settled(_Frame, frozen=True):
    """The answer to ``Settle``: up to this number the other gateway has accepted, and no more."""

    gateway: Name
    topic: Name
    number: Number


class Alternatives(_Frame, frozen=True):
    """Other gateways to go to when this one is lost, best first."""

    addresses: Addresses


class Handover(_Frame, frozen=True):
    """A mandatory handover: attach to the first of these gateways that takes the node."""

    order: Text
    addresses: Annotated[tuple[Address, ...], msgspec.Meta(min_length=1, max_length=64)]
    within_s: Annotated[float, msgspec.Meta(gt=0, le=3_600)]
    """Later it shall not begin any more."""
    make_before_break: bool = True


class Message(_Frame, frozen=True):
    """A message to the node."""

    mailbox: Name
    number: Annotated[int, msgspec.Meta(ge=1, le=MOST_NUMBER)]
    previous: Number
    """The message before it that is still to be had: who lacks it does not take this one."""
    sender: Text
    time: Time
    """When it was sent."""
    group: Text
    """The group it was sent to, ``*`` for all; empty when it is for this node alone."""
    payload: bytes


FromNode = Hello | Items | Settle | Received | Attributes | Position | Outcome | Ping | Pong | Bye
FromGateway = Welcome | Safe | Settled | Alternatives | Handover | Message | Ping | Pong | Bye
