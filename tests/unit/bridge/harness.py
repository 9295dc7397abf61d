"""One bridge on a bench: datagrams in, what it says and does out."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from evenflow.bridge import events as ev
from evenflow.bridge.core import BridgeCore
from evenflow.bridge.protocol import datagrams as dg
from evenflow.bridge.protocol.decoding import decode
from evenflow.bridge.protocol.device_types import parse_type
from evenflow.bridge.protocol.encoding import encode
from evenflow.bridge.protocol.guid import guid_of, guid_text
from evenflow.bridge.protocol.keys import seal, session_key
from evenflow.bridge.protocol.kinds import Role
from evenflow.bridge.settings import BridgeSettings
from evenflow.model.messages.devices import DeviceRecord

if TYPE_CHECKING:
    from evenflow.bridge.events import Action, Address, Event
    from evenflow.bridge.protocol.device_types import DeviceType

GUID = guid_of("d")
HERE: Address = ("10.0.0.9", 5000)
TYPE: DeviceType = parse_type("Reading(count u32, text text16)")
A = TypeVar("A")


@dataclass
class FixedRing:
    """Says what it is told to."""

    name: str
    owned: bool = True
    is_isolated: bool = False
    members: tuple[str, ...] = ("a", "b")

    def owner(self, _guid: bytes) -> str:
        return self.name if self.owned else "b"


@dataclass
class Bench:
    """Bridge ``a``."""

    settings: BridgeSettings = field(default_factory=BridgeSettings)
    keys: dict[bytes, bytes] = field(default_factory=dict)
    now: float = 0.0

    def __post_init__(self) -> None:
        self.ring = FixedRing("a")
        salts = count(1000)
        self.core = BridgeCore(
            "a",
            self.ring,
            self.settings,
            lambda: next(salts),
            self.keys.get,
            {"b": ("10.0.0.2", 7)}.get,
        )
        self.actions: list[Action] = []

    # -- in ----------------------------------------------------------------------------------------

    def handle(self, event: Event) -> list[Action]:
        self.actions = self.core.handle(event, self.now)
        return self.actions

    def receive(self, data: bytes, source: Address = HERE) -> list[dg.Datagram]:
        """A datagram; return what the bridge says to it."""
        self.handle(ev.Received(data, source))
        return self.said()

    def tell(
        self, body: dg.Body, session: int = 1, number: int = 0, *, guid: bytes = GUID,
        key: bytes | None = None, counter: int = 0,
    ) -> list[dg.Datagram]:  # fmt: skip
        data = encode(guid, session, number, body, sealed=key is not None)
        return self.receive(data if key is None else seal(data, key, counter))

    def connect(self, session: int = 1, run: int = 5, tried: int = 0) -> list[dg.Datagram]:
        return self.tell(dg.Connect("d", run, tried, 500, ""), session)

    def set_up(self, role: Role = Role.PUBLISHER, entity: int = 0) -> None:
        """Connect, and one entity that is there."""
        if self.core.sessions.get(GUID) is None:
            self.connect()
        self.tell(dg.Create(entity, role), number=1)
        self.tell(dg.SetTopic(entity, reliable=True, topic="t"), number=2)
        if role is not Role.ITEMS:
            self.tell(dg.SetType(entity, TYPE), number=3)
        self.handle(ev.EntityMade(GUID, entity))

    def wait(self, seconds: float) -> list[Action]:
        """Let time pass; return what was done meanwhile."""
        done, end = [], self.now + seconds
        while self.now < end:
            self.now = max(self.now + 0.01, min(end, self.core.deadline()))
            done += self.handle(ev.Timer())
        return done

    # -- out ---------------------------------------------------------------------------------------

    def said(self, actions: list[Action] | None = None) -> list[dg.Datagram]:
        found = self.actions if actions is None else actions
        return [decode(action.data) for action in found if isinstance(action, ev.Send)]

    def bodies(self, actions: list[Action] | None = None) -> list[dg.Body]:
        return [datagram.body for datagram in self.said(actions)]

    def did(self, kind: type[A]) -> list[A]:
        return [action for action in self.actions if isinstance(action, kind)]

    @property
    def refused(self) -> dict[str, int]:
        return dict(self.core.refused)


def record(bridge: str = "b", session: int = 3, run: int = 5, **changes: object) -> DeviceRecord:
    """Bridge b serves the device: a publisher and a subscriber."""
    columns: dict[str, object] = {
        "roles": (1, 2),
        "reliable": (1, 0),
        "topics": ("up", "down"),
        "types": (str(TYPE), str(TYPE)),
    }
    fixed = (bridge, guid_text(GUID), "d", run, session, 0, "10.0.0.9:5000", 500)
    return DeviceRecord(*fixed, **(columns | changes))  # type: ignore[arg-type]


def key_of(session: int, salt: int, key: bytes, run: int = 5) -> bytes:
    """The key of a session of the device."""
    return session_key(key, GUID, run, session, salt)
