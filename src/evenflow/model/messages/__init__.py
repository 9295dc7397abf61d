"""The messages of the domain, each the type of one DDS topic.

Who says what to whom (one evenflow topic; ``docs/protocol.md`` tells the whole story):

=================  ======================  =====================================================
message            from -> to              meaning
=================  ======================  =====================================================
``EpochClose``     publisher -> nodes      newest number of every slice that has uncommitted items
``ReplayRequest``  node -> publisher       "I own these slices since this term; resend what I lack"
``ReplayAnswer``   publisher -> node       where the numbers start (all below are committed)
``ItemReplies``    node -> publisher       what the application answers to items
``Commit``         node -> publisher       processed up to these numbers; forget them
``ConsumerCommit`` consumer -> everybody   of a served topic: processed up to these epochs
``CommitCopy``     node -> consumer        what you committed last, kept while you were away
``Progress``       serving node -> all     epochs of which nothing is missing here, and its address
``RoomWanted``     serving node -> all     it is nearly full: let go of what is only kept
``Order``          balancer -> node        one step of a handover, or a takeover
``Ack``            node -> balancer        the step is done, or refused and why
``CacheChunk``     giver -> taker          positions and cached batches of the slices handed over
``NodeReport``     node -> everybody       the slices it holds, their states and terms, and its load
``SliceLoads``     node -> balancer        what each of its slices has cost so far
``SliceReads``     node -> consumer        what a task of the consumer has read of each slice
``SliceCosts``     consumer -> balancer    the work that each slice asks of the consumer
``Refusal``        balancer -> node        you do not fit the topic: no slices for you, and why
``Beat``           balancer -> nodes       "I heard your report number n": renews the nodes' leases
``MapPage``        balancer -> everybody   the assignment: owner and term of each of 256 slices
``NewerTerm``      pub., consumer -> bal.  it goes by a newer balancer, which is silent
``Receipt``        balancer -> everybody   what one move did
``MoveRequest``    operator -> balancer    move slices from one node to another
``MoveReply``      balancer -> operator    accepted, or refused and why
``WriterSilence``  node -> balancer        writers that it does not hear, and goodbyes
``Ledger``         balancer -> everybody   ended writers and registered consumers
``CutAnswer``      node, consumer -> bal.  what it has of a writer that is being ended
``WriterCut``      balancer -> everybody   where the stream of a writer ends
``PendingCuts``    balancer -> operator    silent writers that have not ended yet, and why
``WriterRequest``  operator -> balancer    end a writer though something is lost by it
``PropertyReport`` any process -> all      what its monitors read, when something changed its range
``Ping``           any process -> another  answered at once, to measure how long that takes
``EventNotice``    any process -> all      a local event began or ended there
``ActionOrder``    controller -> executor  do or undo one action of a plan
``ActionOutcome``  executor -> controller  it is done, or it is not and why
``GatewayReport``  gateway -> everybody    where mobile nodes reach it, and how many it has
``Attachment``     gateway -> everybody    a mobile node is attached here, or was
``Positions``      gateway -> everybody    where mobile nodes are
``SettleRequest``  door -> door            how far have you accepted the items of a client?
``SettleAnswer``   door -> door            up to this number, and no further
``NodeOutcome``    gateway -> gateway      what came of a handover that the other has ordered
``Mail``           mailbox -> gateway      a message to mobile nodes that are attached there
``MailReceipt``    gateway -> mailbox      which nodes have it, which have to be tried again
``SendRequest``    any process -> mailbox  hold this message and deliver it
``SendReply``      mailbox -> who asked    it is on disk, or it is refused and why
``MailboxReport``  mailbox -> everybody    it is there, and how much waits
``GroupRequest``   any process -> mailbox  which mobile nodes are in this group?
``GroupMembers``   mailbox -> who asked    these are
``Revocation``     operator, door -> doors a token is not valid any more
``DeviceCounts``   bridge -> who looks    what its devices have sent and got
``DeviceRecord``   bridge -> everybody     it serves a device; what another needs to go on
``WriterUse``      process -> controller   how full its writers of a topic are
``SeparationReport`` process -> all        which separation is in effect, and what it left out
``BridgeReport``   bridge -> everybody     its place on the ring, and its devices
``ArcTable``       bridge -> everybody     the arcs of the ring that were given away
=================  ======================  =====================================================

They stand by subject: :mod:`~.stream` (numbers, gaps and commits of items), :mod:`~.handover`,
:mod:`~.serving` (topics that consumers read), :mod:`~.ending` (of writers), :mod:`~.balancing`,
:mod:`~.autonomic`, :mod:`~.mobile`, :mod:`~.access`, :mod:`~.qos`, :mod:`~.bridge` and
:mod:`~.devices`.
:mod:`~.autonomic`, :mod:`~.edge`, :mod:`~.mobile`, :mod:`~.access` and :mod:`~.qos`.

Items travel in :class:`evenflow.model.sample.Sample`. Every message may be lost, repeated, delayed
or reordered: each carries what makes it safe to handle late or twice (a term, a number, a
sequence).
"""

from __future__ import annotations

from evenflow.model.messages.access import Revocation
from evenflow.model.messages.autonomic import (
    ActionOrder,
    ActionOutcome,
    EventNotice,
    Ping,
    PropertyReport,
)
from evenflow.model.messages.balancing import (
    Beat,
    MapPage,
    MoveReply,
    MoveRequest,
    NewerTerm,
    NodeReport,
    Receipt,
    Refusal,
    SliceLoads,
)
from evenflow.model.messages.bridge import ArcTable, BridgeReport
from evenflow.model.messages.devices import DeviceCounts, DeviceRecord
from evenflow.model.messages.edge import SettleAnswer, SettleRequest
from evenflow.model.messages.ending import (
    CutAnswer,
    CutStage,
    Ledger,
    PendingCuts,
    WriterCut,
    WriterRequest,
    WriterSilence,
)
from evenflow.model.messages.handover import Ack, CacheChunk, Order, SliceState, Step
from evenflow.model.messages.mobile import (
    Attachment,
    GatewayReport,
    GroupMembers,
    GroupRequest,
    Mail,
    MailboxReport,
    MailReceipt,
    NodeOutcome,
    Positions,
    SendReply,
    SendRequest,
)
from evenflow.model.messages.qos import SeparationReport, WriterUse
from evenflow.model.messages.serving import (
    CommitCopy,
    ConsumerCommit,
    Progress,
    RoomWanted,
    SliceCosts,
    SliceReads,
)
from evenflow.model.messages.stream import (
    Commit,
    EpochClose,
    ItemReplies,
    ReplayAnswer,
    ReplayRequest,
)

__all__ = [
    "Ack",
    "ActionOrder",
    "ActionOutcome",
    "ArcTable",
    "Attachment",
    "Beat",
    "BridgeReport",
    "CacheChunk",
    "Commit",
    "CommitCopy",
    "ConsumerCommit",
    "CutAnswer",
    "CutStage",
    "DeviceCounts",
    "DeviceRecord",
    "EpochClose",
    "EventNotice",
    "GatewayReport",
    "GroupMembers",
    "GroupRequest",
    "ItemReplies",
    "Ledger",
    "Mail",
    "MailReceipt",
    "MailboxReport",
    "MapPage",
    "MoveReply",
    "MoveRequest",
    "NewerTerm",
    "NodeOutcome",
    "NodeReport",
    "Order",
    "PendingCuts",
    "Ping",
    "Positions",
    "Progress",
    "PropertyReport",
    "Receipt",
    "Refusal",
    "ReplayAnswer",
    "ReplayRequest",
    "Revocation",
    "RoomWanted",
    "SendReply",
    "SendRequest",
    "SeparationReport",
    "SettleAnswer",
    "SettleRequest",
    "SliceCosts",
    "SliceLoads",
    "SliceReads",
    "SliceState",
    "Step",
    "WriterCut",
    "WriterRequest",
    "WriterSilence",
    "WriterUse",
]
