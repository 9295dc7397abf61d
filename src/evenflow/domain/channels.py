"""The channels of the domain: which DDS topic carries what, and with which quality of service.

One DDS topic for each kind of message. Where a message concerns one receiver, the receiver's own
DDS partition carries it, so that nobody is sent what is not for him: a node or a publisher's writer
is a partition, and items go to the partition of the node that owns their slice. Control messages
name their evenflow topic in a field; data and replay have a DDS topic for each evenflow topic.

State that a late comer needs is *transient local*: the writer keeps the newest messages and DDS
gives them to a new reader. Messages that announce a live process (epochs, reports, beats) are keyed
by it and written with automatic liveliness, so that DDS itself says when the process is gone
(:class:`Gone`).

All channels are reliable. A write that finds the writer's buffer full waits for at most
``blocking_s``; for data that is short, because what could not be written comes again by replay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from evenflow.domain.codec import codec_of
from evenflow.errors import ConfigError
from evenflow.model import messages
from evenflow.model.ids import WriterId
from evenflow.model.sample import Sample

if TYPE_CHECKING:
    from evenflow.model.wire import Message

ANYBODY: Final = "*"
"""All partitions at once. Who reads there is sent everything and counts for nobody."""
_TOPIC: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_NODE: Final = re.compile(r"[^\s\x00-\x1f\x7f\ud800-\udfff*?\[\]\"'#$]{1,255}")


@dataclass(frozen=True, slots=True)
class Channel:
    """A DDS topic, what it carries, and how."""

    name: str
    """Name of the DDS topic."""
    message_type: type[Any]
    """A type of :mod:`evenflow.model.messages`, or ``Sample``."""
    kept: int = 0
    """How many of its messages (of each instance) a writer keeps for late readers; 0: none."""
    liveliness: bool = False
    """Whether the writer's process is watched, by the lease of ``domain.liveliness_s``."""
    blocking_s: float = 1.0
    """How long a write may wait for room."""
    best_effort: bool = False
    """Whether a reader only looks: what it misses is not sent again, and nobody waits for it."""

    @property
    def keyed(self) -> bool:
        """Whether the messages have a key, so that of each instance only the newest counts."""
        return self.message_type is not Sample and codec_of(self.message_type).keyed


@dataclass(frozen=True, slots=True)
class Gone:
    """Nobody writes this instance of a keyed channel any more: its process left, or is silent."""

    message_type: type[Any]
    """Type of the channel's messages."""
    key: tuple[Any, ...]
    """The values of the type's key fields, in their order."""
    disposed: bool = False
    """Whether a writer has said so (:meth:`Writer.dispose`), and is not merely heard no more."""


def data(topic: str) -> Channel:
    """Return the channel of a topic's items; partition: the node that owns their slices."""
    return Channel(f"evenflow/data/{topic_name(topic)}", Sample, blocking_s=0.05)


def replay(topic: str) -> Channel:
    """Return the channel of items sent again; partition: the node that asked."""
    return Channel(f"evenflow/replay/{topic_name(topic)}", Sample)


def passing(topic: str, *, best_effort: bool) -> tuple[Channel, Channel]:
    """Return the channels of a topic's items, and of those sent again, for who reads along.

    Partition: all, by `ANYBODY`.
    """
    return (
        replace(data(topic), best_effort=best_effort),
        replace(replay(topic), best_effort=best_effort),
    )


def _kept(name: str, message_type: type[Any], kept: int, *, liveliness: bool = False) -> Channel:
    return Channel(f"evenflow/{name}", message_type, kept, liveliness=liveliness)


EPOCHS: Final = _kept("epochs", messages.EpochClose, 1, liveliness=True)
COMMITS: Final = _kept("commits", messages.Commit, 64)
"""Partition: the publisher's writer."""
CONSUMERS: Final = _kept("consumer-commits", messages.ConsumerCommit, 1, liveliness=True)
COPIES: Final = _kept("commit-copies", messages.CommitCopy, 1)
PROGRESS: Final = _kept("progress", messages.Progress, 1, liveliness=True)
ROOM: Final = Channel("evenflow/room-wanted", messages.RoomWanted)
ITEM_REPLIES: Final = Channel("evenflow/item-replies", messages.ItemReplies, blocking_s=0.05)
"""Partition: the publisher's writer. Nothing is kept: a reply is for who listens now."""
REQUESTS: Final = _kept("requests", messages.ReplayRequest, 64)
"""Partition: the publisher's writer."""
ANSWERS: Final = _kept("answers", messages.ReplayAnswer, 64)
"""Partition: the node that asked."""
ORDERS: Final = _kept("orders", messages.Order, 64)
"""Partition: the node that shall do it."""
ACKS: Final = Channel("evenflow/acks", messages.Ack)
CACHE: Final = Channel("evenflow/slice-caches", messages.CacheChunk)
"""Partition: the taker."""
REPORTS: Final = _kept("node-reports", messages.NodeReport, 1, liveliness=True)
REFUSALS: Final = _kept("refusals", messages.Refusal, 1)
LOADS: Final = _kept("loads", messages.SliceLoads, 1)
READS: Final = Channel("evenflow/reads", messages.SliceReads)
COSTS: Final = _kept("costs", messages.SliceCosts, 1, liveliness=True)
BEATS: Final = _kept("beats", messages.Beat, 1, liveliness=True)
MAPS: Final = _kept("maps", messages.MapPage, 1)
NEWER_TERMS: Final = _kept("newer-terms", messages.NewerTerm, 1)
SILENCES: Final = _kept("writer-silences", messages.WriterSilence, 1)
LEDGERS: Final = _kept("ledgers", messages.Ledger, 1)
CUT_ANSWERS: Final = _kept("cut-answers", messages.CutAnswer, 16)
CUTS: Final = _kept("cuts", messages.WriterCut, 1)
PENDING_CUTS: Final = _kept("pending-cuts", messages.PendingCuts, 1)
WRITER_REQUESTS: Final = _kept("writer-requests", messages.WriterRequest, 16)
RECEIPTS: Final = _kept("receipts", messages.Receipt, 1_000)
MOVES: Final = _kept("moves", messages.MoveRequest, 64)
REPLIES: Final = _kept("replies", messages.MoveReply, 64)
PROPERTIES: Final = _kept("properties", messages.PropertyReport, 1, liveliness=True)
PINGS: Final = Channel("evenflow/pings", messages.Ping, blocking_s=0.05)
"""Partition: the process that is asked, or answered."""
EVENTS: Final = _kept("events", messages.EventNotice, 1)
ACTION_PLANS: Final = _kept("action-plans", messages.ActionOrder, 64)
"""Partition: the executor that shall do it."""
ACTION_OUTCOMES: Final = _kept("action-outcomes", messages.ActionOutcome, 64)

GATEWAYS: Final = _kept("gateways", messages.GatewayReport, 1, liveliness=True)
ATTACHMENTS: Final = _kept("attachments", messages.Attachment, 1)
POSITIONS: Final = Channel("evenflow/positions", messages.Positions)
SETTLE_REQUESTS: Final = _kept("settle-requests", messages.SettleRequest, 64)
"""Partition: the door that is asked."""
SETTLE_ANSWERS: Final = _kept("settle-answers", messages.SettleAnswer, 64)
"""Partition: the door that asked."""
NODE_OUTCOMES: Final = _kept("node-outcomes", messages.NodeOutcome, 64)
"""Partition: the gateway that ordered it."""
MAIL: Final = Channel("evenflow/mail", messages.Mail, blocking_s=0.05)
"""Partition: the gateway."""
MAIL_RECEIPTS: Final = Channel("evenflow/mail-receipts", messages.MailReceipt)
"""Partition: the mailbox."""
SEND_REQUESTS: Final = Channel("evenflow/send-requests", messages.SendRequest)
"""Partition: the mailbox. Nothing is kept: one that was refused must not come back by itself."""
SEND_REPLIES: Final = _kept("send-replies", messages.SendReply, 64)
MAILBOXES: Final = _kept("mailboxes", messages.MailboxReport, 1, liveliness=True)
GROUP_REQUESTS: Final = Channel("evenflow/group-requests", messages.GroupRequest)
"""Partition: the mailbox."""
GROUP_MEMBERS: Final = Channel("evenflow/group-members", messages.GroupMembers)

REVOCATIONS: Final = _kept("revocations", messages.Revocation, 1)

USES: Final = _kept("uses", messages.WriterUse, 1, liveliness=True)
"""The monitor topic: one writer a process, read by the controller alone."""
SEPARATIONS: Final = _kept("separations", messages.SeparationReport, 1, liveliness=True)

BRIDGES: Final = _kept("bridges", messages.BridgeReport, 1, liveliness=True)
ARCS: Final = _kept("arcs", messages.ArcTable, 1)
DEVICES: Final = _kept("devices", messages.DeviceRecord, 1)
"""Disposed when a bridge has let the device go."""
DEVICE_COUNTS: Final = Channel("evenflow/device-counts", messages.DeviceCounts)

CONTROL: Final = (
    EPOCHS, COMMITS, ITEM_REPLIES, CONSUMERS, COPIES, PROGRESS, ROOM, REQUESTS, ANSWERS, ORDERS,
    ACKS, CACHE, REPORTS, REFUSALS, LOADS, READS, COSTS, BEATS, MAPS, NEWER_TERMS, RECEIPTS, MOVES,
    REPLIES, PROPERTIES, PINGS, EVENTS, ACTION_PLANS, ACTION_OUTCOMES, SILENCES, LEDGERS,
    CUT_ANSWERS, CUTS, PENDING_CUTS, WRITER_REQUESTS, GATEWAYS, ATTACHMENTS, POSITIONS,
    SETTLE_REQUESTS, SETTLE_ANSWERS, NODE_OUTCOMES, MAIL, MAIL_RECEIPTS, SEND_REQUESTS,
    SEND_REPLIES, MAILBOXES, GROUP_REQUESTS, GROUP_MEMBERS, REVOCATIONS, USES, SEPARATIONS,
    BRIDGES, ARCS, DEVICES, DEVICE_COUNTS,
)  # fmt: skip
"""All channels but those of the items."""

_BY_TYPE: Final[dict[type[Any], Channel]] = {channel.message_type: channel for channel in CONTROL}


def channel_of(message_type: type[Message]) -> Channel:
    """Return the channel that carries a control message."""
    return _BY_TYPE[message_type]


def topic_name(topic: str) -> str:
    """Return ``topic`` when it can be the name of an evenflow topic, else raise `ConfigError`."""
    if not _TOPIC.fullmatch(topic):
        raise ConfigError("topic", topic, "must be 1 to 100 letters, digits, '_', '-' or '.'")
    return topic


def writer_partition(writer: int) -> str:
    """Return the partition of a publisher's writer."""
    return WriterId.text(writer)


def is_node(node: str) -> bool:
    """Whether a node can be called so; not by what DDS would take for a wildcard."""
    return _NODE.fullmatch(node) is not None


def node_partition(node: str) -> str:
    """Return the partition of a node; refuse a name that no node can have."""
    if not is_node(node):
        raise ConfigError("node", node, "must be 1 to 255 characters, no space, quote, or *?[]#$")
    return node
