"""What happens to a gateway, and what it does about it.

Events go into :class:`~evenflow.mobile.gateway.core.GatewayCore`, actions come out; the shell
performs them in their order. Those that every door has are in :mod:`evenflow.edge.actions`; what
those tell a client is a frame here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.edge.actions import Accept, Complain, GiveUp, Pause, Remember, Resume, Write

if TYPE_CHECKING:
    from evenflow.mobile.link.frames import FromGateway, FromNode
    from evenflow.model.messages import Attachment
    from evenflow.model.wire import Message

# -- events ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LinkOpened:
    """A client has connected; nothing is known of it yet."""

    link: int
    """Number of the link, never used again by this process."""
    transport: str
    """``quic`` or ``tls``."""
    peer: str
    """Address, for people."""


@dataclass(frozen=True, slots=True)
class FrameCame:
    """A well-formed frame of a client; `Ping`, `Pong` and `Bye` are the link's own."""

    link: int
    frame: FromNode


@dataclass(frozen=True, slots=True)
class LinkLost:
    """A link is over, by whichever side."""

    link: int
    reason: str


@dataclass(frozen=True, slots=True)
class UnitSynced:
    """A unit is on disk, and so are its marks."""

    topic: str
    unit: int


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of the domain."""

    message: Message


@dataclass(frozen=True, slots=True)
class NotHeard:
    """A gateway or mailbox is not heard any more."""

    kind: type[object]
    """Type of its report."""
    name: str


@dataclass(frozen=True, slots=True)
class TimeOfDay:
    """The time of day, told a few times a second, with what only the world knows."""

    wall: float
    """Seconds since 1970."""
    revoked: frozenset[str]
    """Ids of the tokens that were revoked since it was last told."""


@dataclass(frozen=True, slots=True)
class Timer:
    """It is as late as :meth:`GatewayCore.deadline` said, or later."""


@dataclass(frozen=True, slots=True)
class HandoverOrder:
    """A plan wants nodes to go elsewhere (action ``mobile.handover``)."""

    key: str
    """Under which it is answered."""
    nodes: tuple[str, ...]
    addresses: tuple[str, ...]
    within_s: float
    make_before_break: bool
    pace_per_s: float
    """Nodes a second that are told; 0: all at once."""


@dataclass(frozen=True, slots=True)
class AlternativesOrder:
    """A plan says where nodes shall go when this gateway is lost (``mobile.alternatives``)."""

    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drain:
    """Take no new nodes and send those that are here to the alternatives; or take it back."""

    on: bool = True
    retire: bool = False
    """Whether it shall end when it is empty: a plan stops it then."""


@dataclass(frozen=True, slots=True)
class Started:
    """Gateways that this one has started, as is seen on its disk."""

    gateways: frozenset[str]
    """Those that have not ended well."""
    ended: frozenset[str] = frozenset()
    """Those that have."""


@dataclass(frozen=True, slots=True)
class Forget:
    """An operator gives up a gateway that will never return."""

    gateway: str


Event = (
    LinkOpened | FrameCame | LinkLost | UnitSynced | Heard | NotHeard | TimeOfDay | Timer
    | HandoverOrder | AlternativesOrder | Drain | Forget | Started
)  # fmt: skip

# -- actions ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Send:
    """A frame to a client."""

    link: int
    frame: FromGateway


@dataclass(frozen=True, slots=True)
class CloseLink:
    """End a link; ``Bye`` tells why. Nothing more of it is handled."""

    link: int
    reason: str
    retry: bool


@dataclass(frozen=True, slots=True)
class HandoverReceipt:
    """What came of one node's handover."""

    order: str
    node: str
    source: str
    """The gateway it left."""
    target: str
    """The gateway it is at now; empty when nobody has said so."""
    ok: bool
    reason: str
    milliseconds: float
    """From the order to being usable at the new gateway."""
    in_flight: int
    """Items that were unsettled when it began."""
    lost: int | None
    """Items that the node holds for accepted here and that are not; None: it did not say."""
    repeated: int | None
    """Items accepted here that the node sends to the new gateway all the same."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """What came of a :class:`HandoverOrder`."""

    key: str
    ok: bool
    reason: str
    receipts: tuple[HandoverReceipt, ...]


@dataclass(frozen=True, slots=True)
class Withdraw:
    """What was told of a node is told no more: late comers do not hear of it."""

    attachment: Attachment


Action = (
    Send | CloseLink | Pause | Resume | Accept | Write | HandoverReceipt | Ordered | Remember
    | Complain | GiveUp | Withdraw
)  # fmt: skip
