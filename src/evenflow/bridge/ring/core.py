"""The ring as one bridge sees it: whose a device is, and what the bridges tell one another.

A core: events and time go in (`handle`, `poll`), actions come out. A bridge first listens for
``listen_s``; then it tells its report, and takes part. It tells it again when something that others
need to know has changed (its neighbours, its table of arcs, whether it takes devices), at once;
and every ``report_s``, with how many devices it has on each arc. A join so costs a report of
each of the two neighbours, as in the paper; a death likewise.

The newest table of arcs counts. Whoever has a newer one than before tells it himself, so those that
come later have it from anybody; and tells it again as long as somebody goes by an older one.

Whom a device belongs to follows from who takes part and from the table. Bridges that know the same
say the same. While they do not, two may each think that a device is theirs, or neither: the device
decides then (docs/bridge.md), so nothing here waits for agreement.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from evenflow.bridge.ring.arc_table import NO_ARCS, given_by, is_newer, told_by
from evenflow.bridge.ring.circle import Circle
from evenflow.bridge.ring.events import (
    ArcsPlanned,
    DeviceReleased,
    DeviceServed,
    DrainRing,
    LeaveRing,
    RingChanged,
    TellRing,
)
from evenflow.bridge.ring.identifiers import BITS, POINTS, hashed
from evenflow.bridge.ring.load import ArcLoad
from evenflow.bridge.ring.neighbours import Neighbours, around
from evenflow.domain.channels import Gone
from evenflow.model.messages import ArcTable, BridgeReport

if TYPE_CHECKING:
    from evenflow.bridge.ring.events import RingAction, RingEvent
    from evenflow.bridge.ring.identifiers import Placing
    from evenflow.config import BridgeConfig


@dataclass(frozen=True, slots=True)
class RingSettings:
    """A bridge's place on the ring: ``[bridge]``."""

    points: int = POINTS
    report_s: float = 1.0
    listen_s: float = 0.5
    doubt_s: float = 2.0
    bits: int = BITS
    """The circle has 2 ** ``bits`` identifiers; all bridges must have the same."""

    @classmethod
    def from_config(cls, config: BridgeConfig) -> RingSettings:
        """As it is configured."""
        return cls(config.points, config.report_s, config.listen_s, config.doubt_s)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a bridge says of itself."""

    name: str
    addresses: tuple[str, ...] = ()
    host: str = ""
    pid: int = 0
    since: float = 0.0


@dataclass(slots=True)
class RingTraffic:
    """Messages of the ring, counted."""

    reports_sent: int = 0
    tables_sent: int = 0
    refused: int = 0
    """Reports of bridges beyond the most that a ring has."""
    changes: int = 0
    """Times that who owns what may have changed."""

    @property
    def sent(self) -> int:
        """All that this bridge has sent, each counted once however many hear it."""
        return self.reports_sent + self.tables_sent


class RingCore:
    """The ring, at one bridge.

    Args:
        me: Who it is.
        settings: Its place on the ring.
        now: The time.
        placing: Where bridges stand; by default where their GUIDs say.
    """

    def __init__(
        self, me: Identity, settings: RingSettings, now: float, placing: Placing | None = None
    ) -> None:
        self.me = me
        self.traffic = RingTraffic()
        self._settings = settings
        self._placing = placing or hashed(settings.bits)
        self._neighbours = Neighbours(me.name, settings.doubt_s)
        self._table = NO_ARCS
        self._load = ArcLoad(settings.bits)
        self._listening_until = self._report_at = now + settings.listen_s
        self._takes_part = False
        """Whether it has listened long enough."""
        self._draining = self._left = False
        self._known: tuple[dict[str, int], ArcTable] = ({}, NO_ARCS)
        """The members with their points, and the table, that the circle is made of."""
        self._circle = Circle({}, bits=settings.bits)
        self._successor = self._predecessor = ""
        self._told: BridgeReport | None = None
        """What was told last, but for its devices."""
        self._told_table = NO_ARCS

    # -- what it says ------------------------------------------------------------------------------

    def owner(self, guid: bytes) -> str:
        """The bridge that should serve a device; empty when there is none."""
        return self._circle.owner(guid)

    @property
    def circle(self) -> Circle:
        """Who owns what."""
        return self._circle

    @property
    def members(self) -> tuple[str, ...]:
        """The bridges that take devices, this one among them if it does."""
        return tuple(sorted(self._known[0]))

    @property
    def is_isolated(self) -> bool:
        """Whether it hears no bridge, though it has, and the last one did not say goodbye."""
        return self._neighbours.is_isolated

    @property
    def arcs(self) -> ArcTable:
        """The arcs that were given away, as it goes by them."""
        return self._table

    @property
    def successor(self) -> str:
        """The bridge after it on the circle, of those that it hears; empty when there is none."""
        return self._successor

    @property
    def predecessor(self) -> str:
        """The bridge before it on the circle, of those that it hears; empty when there is none."""
        return self._predecessor

    @property
    def heard(self) -> dict[str, BridgeReport]:
        """The newest reports of the other bridges that are heard: where devices reach them."""
        return self._neighbours.heard

    def get_timer(self) -> float:
        """When to call `poll` at the latest."""
        return inf if self._left else self._report_at

    # -- what happens ------------------------------------------------------------------------------

    def handle(
        self, event: BridgeReport | ArcTable | Gone | RingEvent, now: float
    ) -> list[RingAction]:
        """Take in what others tell, or what happens here."""
        match event:
            case BridgeReport():
                self.traffic.refused += not self._neighbours.on_report(event, now)
            case Gone() if event.message_type is BridgeReport:
                self._neighbours.on_gone(event.key[0], now)
            case ArcTable():
                self._take_table(event)
            case ArcsPlanned():
                self._take_table(event.table)
            case DeviceServed():
                self._load.add(event.guid)
                return []
            case DeviceReleased():
                self._load.remove(event.guid)
                return []
            case DrainRing():
                self._draining = event.on
            case LeaveRing():
                self._left = True
        return self._review(now)

    def poll(self, now: float) -> list[RingAction]:
        """Do what is due."""
        actions: list[RingAction] = []
        if not self._takes_part and now >= self._listening_until:
            self._takes_part = True
            actions = self._review(now)
        if self._takes_part and not self._left and now >= self._report_at:
            actions.append(self._tell(self._word(), now))
            if self._somebody_is_behind():
                actions.append(self._tell_table())
        return actions

    def _take_table(self, table: ArcTable) -> None:
        if is_newer(table, self._table):
            self._table = told_by(table, self.me.name)

    # -- what follows ------------------------------------------------------------------------------

    def _review(self, now: float) -> list[RingAction]:
        """Make the circle anew if another one follows from what is known; tell what is news."""
        actions: list[RingAction] = []
        serving = self._neighbours.serving()
        members = self._neighbours.named() | serving
        if self._points:
            members[self.me.name] = self._points
        if (members, self._table) != self._known:
            self._known = (members, self._table)
            given, bits = given_by(self._table), self._settings.bits
            self._circle = Circle.of(members, self._placing, given, bits)
            self.traffic.changes += 1
            actions.append(RingChanged())
        others = serving if self._points else ()
        self._successor, self._predecessor = around(self.me.name, others, self._placing)
        if not self._takes_part or (self._told is not None and self._told.leaving):
            return actions
        word = self._word()
        if word != self._told:
            actions.append(self._tell(word, now))
        if self._table is not self._told_table:
            actions.append(self._tell_table())
        return actions

    @property
    def _points(self) -> int:
        """Its own points now."""
        serves = self._takes_part and not self._draining and not self._left
        return self._settings.points if serves else 0

    def _word(self) -> BridgeReport:
        """Its report, but for its devices."""
        serving = self._neighbours.serving()
        return BridgeReport(
            bridge=self.me.name,
            addresses=self.me.addresses,
            points=self._points,
            successor=self._successor,
            successor_points=serving.get(self._successor, 0),
            predecessor=self._predecessor,
            predecessor_points=serving.get(self._predecessor, 0),
            devices=0,
            arcs=(),
            arc_devices=(),
            table_term=self._table.term,
            table_number=self._table.number,
            leaving=self._left,
            host=self.me.host,
            pid=self.me.pid,
            since=self.me.since,
        )

    def _tell(self, word: BridgeReport, now: float) -> TellRing:
        self._told, self._report_at = word, now + self._settings.report_s
        self.traffic.reports_sent += 1
        load = self._load.on_arcs(self._circle)
        counts, arcs = tuple(load.values()), tuple(load)
        report = replace(word, devices=len(self._load), arcs=arcs, arc_devices=counts)
        return TellRing(report)

    def _tell_table(self) -> TellRing:
        self._told_table = self._table
        self.traffic.tables_sent += 1
        return TellRing(self._table)

    def _somebody_is_behind(self) -> bool:
        """Whether a bridge that is heard goes by an older table."""
        mine = (self._table.term, self._table.number)
        reports = self._neighbours.heard.values()
        return any((one.table_term, one.table_number) < mine for one in reports)
