"""What brokers and clients of the live store say to one another.

A *shelf* is a topic at a coordinate: the messages of the times for which the coordinate is
responsible. It lies on the brokers closest to the coordinate, its primary and its secondary.

=====================================  ===========================  ============================
on a link between two brokers          from -> to                   meaning
=====================================  ===========================  ============================
``Hello`` ``Welcome``                  whoever connects             who is there
``Members``                            neighbour -> neighbour       who lives and who died
``Heartbeat``                          neighbour -> neighbour       alive; my members look so
``Share``                              neighbour -> neighbour       what each broker bears
``Routed``                             towards a coordinate         a letter: all that follows
-------------------------------------  ---------------------------  ----------------------------
``Inquire`` ``Known``                  unsure broker -> around      who has this shelf, how new?
``Sync`` ``Synced`` ``Refused``        primary -> secondary         a new term begins
``Replicate`` ``Replicated``           primary -> secondary         keep this; it is on disk
``Pull`` ``Pulled``                    who lacks -> who has         the history of a shelf
``Lead``                               primary -> secondary         you are closer: begin a term
``Check`` ``Dismissed``                holder -> primary            am I still needed? no
``Freeze`` ``Frozen``                  home -> delegate             take no more; here is the rest
``Adopt`` ``Adopted``                  home -> new delegate         be ready to take over
``AskList`` ``ListIs``                 delegate -> home             which list is in force?
``Emptied``                            old delegate -> home         all of it has expired
``Offer`` ``Verdict``                  broker -> possible delegate  would you take this topic?
``Relieve`` ``Done`` ``Failed``        broker -> home               move it, if it is still there
-------------------------------------  ---------------------------  ----------------------------
``Join`` ``Joined``                    client -> home -> delegate   where is this topic now?
``Publish`` ``Published``              client -> delegate           store it; it is stored
``Fetch`` ``Fetched``                  client -> responsible        what came after this time?
``Moved``                              broker -> client             ask there; here is the list
``Move`` ``Done`` ``Failed``           operator -> home             move a topic
``Status`` ``Condition``               operator -> any broker       how are you?
=====================================  ===========================  ============================

Every letter may be lost, late, repeated or overtaken: each carries a term, a ticket, a sequence or
a time that makes it safe to handle anyway.
"""

from __future__ import annotations

from evenflow.overlay.protocol.framing import Codec
from evenflow.overlay.protocol.messages.clients import (
    Condition,
    Done,
    Failed,
    Fetch,
    Fetched,
    Join,
    Joined,
    Move,
    Moved,
    Publish,
    Published,
    Status,
)
from evenflow.overlay.protocol.messages.links import (
    Heartbeat,
    Hello,
    Members,
    Routed,
    Welcome,
)
from evenflow.overlay.protocol.messages.loads import Offer, Portion, Relieve, Share, Verdict
from evenflow.overlay.protocol.messages.moves import (
    Adopt,
    Adopted,
    AskList,
    Emptied,
    Freeze,
    Frozen,
    ListIs,
)
from evenflow.overlay.protocol.messages.replication import (
    Check,
    Dismissed,
    Inquire,
    Known,
    Lead,
    Pull,
    Pulled,
    Refused,
    Replicate,
    Replicated,
    Sync,
    Synced,
)
from evenflow.overlay.protocol.messages.vocabulary import (
    LONGEST_PAYLOAD,
    Epoch,
    Label,
    Member,
    Message,
    Position,
    Shelf,
)

__all__ = [
    "LETTERS",
    "LINK",
    "LONGEST_PAYLOAD",
    "Adopt",
    "Adopted",
    "AskList",
    "Check",
    "Condition",
    "Dismissed",
    "Done",
    "Emptied",
    "Epoch",
    "Failed",
    "Fetch",
    "Fetched",
    "Freeze",
    "Frozen",
    "Heartbeat",
    "Hello",
    "Inquire",
    "Join",
    "Joined",
    "Known",
    "Label",
    "Lead",
    "ListIs",
    "Member",
    "Members",
    "Message",
    "Move",
    "Moved",
    "Offer",
    "Portion",
    "Position",
    "Publish",
    "Published",
    "Pull",
    "Pulled",
    "Refused",
    "Relieve",
    "Replicate",
    "Replicated",
    "Routed",
    "Share",
    "Shelf",
    "Status",
    "Sync",
    "Synced",
    "Verdict",
    "Welcome",
]

LINK = Codec((Hello, Welcome, Members, Heartbeat, Routed, Share))
"""What travels on a connection."""

LETTERS = Codec(
    (
        Inquire, Known, Sync, Synced, Refused, Replicate, Replicated, Pull, Pulled, Lead, Check,
        Dismissed, Freeze, Frozen, Adopt, Adopted, AskList, ListIs, Emptied, Join, Joined, Publish,
        Published, Fetch, Fetched, Moved, Move, Done, Failed, Status, Condition,
        Offer, Verdict, Relieve,
    )
)  # fmt: skip
"""What is inside a `Routed`."""
