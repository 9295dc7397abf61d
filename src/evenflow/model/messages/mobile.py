"""What gateways, mailboxes and the PoA-Manager tell one another about mobile nodes."""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.model.wire import (
    F64,
    U64,
    Bool,
    F64s,
    KeyText,
    Number,
    Numbers,
    Octets,
    Text,
    Texts,
)


@dataclass(frozen=True, slots=True)
class GatewayReport:
    """A gateway is there. Told when something changes, and as a heartbeat."""

    gateway: KeyText
    addresses: Texts
    """Where mobile nodes reach it, best first: ``quic://host:port``, ``tls://host:port``."""
    nodes: Number
    """Mobile nodes attached to it."""
    most_nodes: Number
    """As many as it takes."""
    draining: Bool
    """Whether it takes no new nodes."""
    forgotten: Texts
    """Gateways that an operator has given up; their nodes' unsettled items are sent again."""
    retiring: Bool = False
    """Whether it drains in order to end: a plan stops it when it is empty."""
    awaits: Texts = ()
    """Gateways whose word its nodes wait for, and those it has started that have not ended well."""
    host: Text = ""
    """The machine it runs on."""
    pid: Number = 0
    """Its process there."""
    since: F64 = 0.0
    """When that was started: seconds since 1970, by the clock of that machine."""
    started: Texts = ()
    """Gateways that it has started, also those that have ended: it can start them again."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A mobile node is attached to a gateway, or was. Of a node the largest connection counts."""

    gateway: KeyText
    node: KeyText
    connection: Number
    attached: Bool
    attributes: Text
    """JSON object."""
    time: F64
    """Seconds since 1970, by the gateway's clock."""


@dataclass(frozen=True, slots=True)
class Positions:
    """Where mobile nodes of a gateway are; those that have moved since the last one."""

    gateway: Text
    nodes: Texts
    latitudes: F64s
    longitudes: F64s


@dataclass(frozen=True, slots=True)
class NodeOutcome:
    """What a node says of a handover; from the gateway where it is to the one that ordered it."""

    gateway: Text
    """Where the node is."""
    node: Text
    order: Text
    ok: Bool
    reason: Text
    milliseconds: F64
    """From the order to being usable at the new gateway."""
    in_flight: Number
    """Items that were unsettled when it began."""
    topics: Texts
    left: Numbers
    """For each topic: how far the old gateway has accepted, as the node knows."""


@dataclass(frozen=True, slots=True)
class Mail:
    """A message of a mailbox to nodes that are attached to one gateway."""

    mailbox: Text
    nodes: Texts
    numbers: Numbers
    """For each node, the number of the message for it."""
    previous: Numbers
    """For each node, the message before that is still to be had; 0: none."""
    sender: Text
    group: Text
    """The group it was sent to, ``*`` for all; empty when it is for one node."""
    time: Number
    """Microseconds since 1970 when it was sent."""
    expires: Number
    """Microseconds since 1970 after which nobody wants it."""
    payload: Octets


@dataclass(frozen=True, slots=True)
class MailReceipt:
    """What became of a mailbox's messages at a gateway."""

    mailbox: Text
    gateway: Text
    nodes: Texts
    received: Numbers
    """For each node: it has everything up to this number."""
    returned: Texts
    """Nodes whose messages were not all taken: not attached here, or no room. Send them again."""


@dataclass(frozen=True, slots=True)
class SendRequest:
    """A message to mobile nodes, for a mailbox to hold and deliver.

    Repeated until it is answered, and held once. Numbered as messages to nodes are: a mailbox takes
    a request only when the one before it that is still unanswered has been taken.
    """

    source: U64
    """Who asks: 64 random bits, new for each life of a messenger."""
    number: Number
    """Of the source's requests, from 1."""
    previous: Number
    """The request before it to this mailbox that was unanswered when this was written; 0: none."""
    mailbox: Text
    """The mailbox that is asked."""
    nodes: Texts
    group: Text
    """A group of the configuration, or ``*`` for all nodes that are known; empty: ``nodes``."""
    sender: Text
    lifetime_s: F64
    payload: Octets


@dataclass(frozen=True, slots=True)
class SendReply:
    """The message is on the mailbox's disk, or is refused and why."""

    source: U64
    number: Number
    mailbox: Text
    ok: Bool
    reason: Text
    """Why it was refused; if it was not, what is worth knowing, or nothing."""
    recipients: Number


@dataclass(frozen=True, slots=True)
class MailboxReport:
    """A mailbox is there. Told when something changes, and as a heartbeat."""

    mailbox: KeyText
    messages: Number
    """Messages that are not yet had by their nodes; one to many nodes counts for each."""
    waiting: Number
    """Nodes that have messages waiting."""
    oldest: Number
    """Microseconds since 1970 when the oldest of them was sent; 0: nothing waits."""
    octets: Number
    """How much it holds."""
    most_octets: Number
    """How much it may hold."""


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """Which mobile nodes are in a group? Asked of a mailbox: each keeps the groups current."""

    request: U64
    """Who asks knows it by this."""
    group: Text
    """A group of the configuration, or ``*`` for all nodes that are known."""


@dataclass(frozen=True, slots=True)
class GroupMembers:
    """The nodes of a group, as far as a mailbox knows."""

    request: U64
    mailbox: Text
    group: Text
    known: Bool
    """Whether the mailbox has such a group."""
    members: Texts
