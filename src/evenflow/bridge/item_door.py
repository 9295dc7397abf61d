"""Items of devices on their way into sliced topics: what a bridge does as a door.

The rules are those of every door (:mod:`evenflow.edge`): an item is accepted by one door, once.
This is the way from the actions of the bridge's core (`TakeItem`, `AskSettled`) to them and back
(`ItemSafe`, `ItemSettled`). A *link* is a session of a device: each of its items carries the salt
that the bridge drew for it, so nothing of an earlier one is taken for this.

**Order.** The core passes items on in the order of their numbers and never again, so none may be
dropped here. Those that come before the device is let in wait; there are no more than the core lets
pass before they are safe. That is also the bound of what is held for a device: a link that shall be
paused is not, for it sends no more by itself.

**Names.** As a door a bridge is called ``bridge NAME``, and a device is known by its GUID. The
sender of its items is its name if its GUID is derived from that, else GUID and name; so no device
sends in the name of another.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Final

from evenflow.bridge.events import ItemSafe, ItemSettled
from evenflow.bridge.protocol.guid import guid_of, guid_text
from evenflow.domain.channels import Gone
from evenflow.edge.acceptance import Acceptance
from evenflow.edge.actions import Pause, Resume, TellSafe, TellSettled
from evenflow.edge.sessions import Session, Stage
from evenflow.edge.twins import Life, Presence
from evenflow.model.messages import BridgeReport, SettleAnswer, SettleRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from evenflow.bridge.events import AskSettled, TakeItem
    from evenflow.edge.actions import Accept, Complain, EdgeAction, GiveUp, Remember, Write
    from evenflow.edge.settings import EdgeSettings
    from evenflow.edge.settling import MarksOf

    Done = Accept | Remember | Write | Complain | GiveUp | ItemSafe | ItemSettled

KIND: Final = "bridge"
REPEAT_S: Final = 0.2
"""How often it is looked whether another bridge is to be asked again."""
_GUID_AND_NAME: Final = re.compile(r"[0-9a-f]{24} ")


def door_name(bridge: str) -> str:
    """A bridge, as doors call it."""
    return f"{KIND} {bridge}"


def bridge_of(door: str) -> str:
    """The bridge that a door is."""
    return door.removeprefix(f"{KIND} ")


def sender_name(guid: bytes, name: str) -> str:
    """What the items of a device say they are from."""
    if guid == guid_of(name) and not _GUID_AND_NAME.match(name):
        return name
    return f"{guid_text(guid)} {name}"


@dataclass(slots=True, eq=False)
class Link(Session):
    """A session of a device, as far as its items go."""

    guid: bytes = b""
    device_run: int = 0
    waiting: list[TakeItem] = field(default_factory=list)
    """Items that came before it was let in."""


class ItemDoor:
    """What a bridge does about the items of its devices.

    Args:
        name: The bridge.
        newest_units: Topics that devices may publish to, with the newest unit in the outbox.
        marks: How far a device's run is accepted in each topic, as it is on disk.
        settings: Bounds and times.
        is_heard: Whether another bridge is there.
        forgotten: Doors that were given up.
        life: The process.
    """

    def __init__(
        self,
        name: str,
        newest_units: Mapping[str, int],
        marks: MarksOf,
        settings: EdgeSettings,
        *,
        is_heard: Callable[[str], bool],
        forgotten: Iterable[str] = (),
        life: Life | None = None,
    ) -> None:
        self._name = name
        self._out: list[EdgeAction] = []
        self._acceptance: Acceptance[Link] = Acceptance(
            KIND,
            door_name(name),
            newest_units,
            marks,
            settings,
            self._out,
            is_known=lambda door: is_heard(bridge_of(door)),
            forgotten=forgotten,
            life=life,
        )
        self._topics = tuple(newest_units)
        self._links: dict[bytes, Link] = {}
        self._entities: dict[bytes, set[int]] = {}
        self._numbers = count(1)
        self._heard: set[str] = set()
        """Other bridges that were asked what is open since they were heard."""
        self._repeat_at = 0.0
        self.refused: Counter[str] = Counter()
        """Items and questions that were not taken, by reason."""

    @property
    def items(self) -> int:
        """Items accepted."""
        return self._acceptance.uplink.items

    def deadline(self) -> float:
        """When to be polled at the latest."""
        due = self._acceptance.uplink.deadline()
        return self._repeat_at if due is None else min(due, self._repeat_at)

    # -- entities ----------------------------------------------------------------------------------

    def make(self, guid: bytes, entity: int, topic: str) -> str:
        """A device wants to publish items; return why it may not, or nothing."""
        if topic not in self._topics:
            return f"{topic!r} is no topic that devices publish items to"
        self._entities.setdefault(guid, set()).add(entity)
        return ""

    def drop(self, guid: bytes, entity: int) -> None:
        """An entity has ended, if it was one of items; with the last of them the device leaves."""
        entities = self._entities.get(guid)
        if entities is None or entity not in entities:
            return
        entities.discard(entity)
        if not entities:
            del self._entities[guid]
            self._end(self._links.get(guid))

    # -- items and questions -----------------------------------------------------------------------

    def take(self, item: TakeItem, wall_us: int, now: float) -> list[Done]:
        """Take an item; one without a time has that of now."""
        link = self._link(item.guid, item.run, item.session)
        link.sender = sender_name(item.guid, item.name)
        link.waiting.append(item)
        self._go_on(link, wall_us, now)
        return self.poll(wall_us, now)

    def ask(self, question: AskSettled, wall_us: int, now: float) -> list[Done]:
        """How far is another bridge, or this one? Before the device is let in it asks again."""
        link = self._link(question.guid, question.run, question.session)
        self._go_on(link, wall_us, now)
        if link.stage is Stage.ATTACHED:
            other = door_name(question.bridge)
            if self._acceptance.settling.ask(link, other, question.topic, now):
                self.refused["questions"] += 1
        return self.poll(wall_us, now)

    def _link(self, guid: bytes, run: int, session: int) -> Link:
        known = self._links.get(guid)
        if known is not None and (known.device_run, known.connection) == (run, session):
            return known
        self._end(known)
        link = Link(
            next(self._numbers),
            client=guid_text(guid),
            run=str(run),
            connection=session,
            guid=guid,
            device_run=run,
        )
        self._links[guid] = link
        return link

    def _go_on(self, link: Link, wall_us: int, now: float) -> None:
        """Let a device in if it can be, and take what waits."""
        door = self._acceptance
        if link.stage is Stage.GREETING and not door.why_closed(now):
            if door.sessions.why_old(link.client, link.run, link.connection):
                self.refused["old"] += 1
                link.waiting.clear()
                return
            own = (link.client, link.run, link.connection)
            former = door.attach(link, *own, self._topics, link.sender)
            if former is not None:
                door.leave(former)
            door.let_in(link)
        if link.stage is not Stage.ATTACHED:
            return
        for item in link.waiting:
            times, payloads = (item.time or wall_us,), (item.payload,)
            number = item.number
            if door.uplink.take(link, item.topic, number, times, payloads, now, begin=number):
                self.refused["order"] += 1
        link.waiting.clear()

    def _end(self, link: Link | None) -> None:
        if link is not None:
            del self._links[link.guid]
            self._acceptance.leave(link)

    # -- the disk and the others -------------------------------------------------------------------

    def on_synced(self, topic: str, unit: int, wall_us: int, now: float) -> list[Done]:
        """A unit is safe."""
        for link in self._acceptance.on_synced(topic, unit):
            self._go_on(link, wall_us, now)
        return self.poll(wall_us, now)

    def hear(self, message: object, wall_us: int, now: float) -> list[Done]:
        """Another bridge asks or answers, or is heard; or one of this name is."""
        match message:
            case SettleRequest():
                self._end(self._acceptance.on_request(message, now))
            case SettleAnswer():
                self._acceptance.settling.on_answer(message)
            case BridgeReport() if message.bridge == self._name:
                life = Life(message.since, message.host, message.pid)
                presence = Presence(KIND, message.bridge, life, message.addresses)
                self._acceptance.twins.hear(presence, now)
            case BridgeReport() if message.bridge not in self._heard:
                self._heard.add(message.bridge)
                self._acceptance.settling.on_door_heard(door_name(message.bridge), now)
            case Gone() if message.message_type is BridgeReport:
                self._heard.discard(message.key[0])
        return self.poll(wall_us, now)

    def poll(self, wall_us: int, now: float) -> list[Done]:
        """Do what is due; return what is to be done, and what the core is to be told."""
        if now >= self._repeat_at:
            self._repeat_at = now + REPEAT_S
            self._acceptance.settling.repeat(now)
            for link in [one for one in self._links.values() if one.waiting]:
                self._go_on(link, wall_us, now)
        self._acceptance.uplink.emit(now)
        done = [told for action in self._out if (told := self._told(action)) is not None]
        self._out.clear()
        return done

    def _told(self, action: EdgeAction) -> Done | None:
        match action:
            case TellSafe() | TellSettled():
                link = self._acceptance.sessions.by_link.get(action.link)
                return None if link is None else _for_core(link, action)
            case Pause() | Resume():
                return None
        return action


def _for_core(link: Link, action: TellSafe | TellSettled) -> ItemSafe | ItemSettled:
    topic, number = action.topic, action.number
    if isinstance(action, TellSafe):
        return ItemSafe(link.guid, link.device_run, topic, number)
    bridge = bridge_of(action.door)
    return ItemSettled(link.guid, link.device_run, link.connection, topic, bridge, number)
