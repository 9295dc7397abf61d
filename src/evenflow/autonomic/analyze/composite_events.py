"""Composite events: combinations of events of different sources.

The other half of the Distributed Event Service that the papers leave as future work (MAPE-SDDL,
section VIII): "composite events made of basic events from different event sources". An *operand* is
an event, and where it must happen: ``hot@north-1``, ``hot@north-*``, or ``hot`` wherever it is.

========  ==========================================================================================
all       every operand is on: *A at x and B at y*. With a window an operand counts for that long
          after it was raised, even if it has cleared since
any       one of them is
sequence  they were raised in this order, all of them within the window: *first A, then B*. It holds
          as long as a whole sequence lies within the window that ends now
========  ==========================================================================================

An operand may be another composite event, or any distributed one: they nest. Times are those at
which the balancer heard of an event; of two that were heard in one moment the first heard is the
earlier. An event that is told again while it is on was raised once.

What is remembered is bounded: of each operand the sources at which it is on, and the newest
`MOST_RAISES` times it was raised.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Final

from evenflow.autonomic.analyze.local_events import EventNotification, Held, Phase, Property
from evenflow.autonomic.analyze.sources import matches
from evenflow.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

EVERYWHERE: Final = "*"
"""Where a composite event happens."""
MOST_RAISES: Final = 256
AT: Final = "@"


class Way(Enum):
    """How operands are combined."""

    ALL = "all"
    ANY = "any"
    SEQUENCE = "sequence"


@dataclass(frozen=True, slots=True)
class Operand:
    """An event, and where it must happen."""

    event: str
    source: str = ""
    """Pattern of process names; empty: wherever it is."""

    @classmethod
    def of(cls, text: str) -> Operand:
        """Read ``EVENT`` or ``EVENT@PATTERN``."""
        event, _, source = text.partition(AT)
        return cls(event, source)

    def __str__(self) -> str:
        return f"{self.event}{AT}{self.source}" if self.source else self.event

    def means(self, notification: EventNotification) -> bool:
        """Whether a notification is about this."""
        return notification.event_id == self.event and (
            not self.source or matches(notification.source_id, self.source)
        )


@dataclass(frozen=True, slots=True)
class Composite:
    """A combination of events."""

    id: str
    way: Way
    operands: tuple[Operand, ...]
    within_s: float = 0.0
    """The window; a sequence needs one."""
    duration_s: float = 0.0

    def __post_init__(self) -> None:
        for key, value in (("within_s", self.within_s), ("duration_s", self.duration_s)):
            if not 0 <= value < float("inf"):
                raise ConfigError(f"event.{self.id}.{key}", value, "must be a number from 0 up")
        if not self.operands:
            raise ConfigError(f"event.{self.id}.{self.way.value}", (), "name at least one event")
        if self.way is Way.SEQUENCE and not self.within_s:
            raise ConfigError(
                f"event.{self.id}.within_s", self.within_s, "a sequence needs a window above 0"
            )


@dataclass(slots=True)
class _Sightings:
    """What was heard of one operand."""

    on: set[str] = field(default_factory=set)
    raises: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=MOST_RAISES))
    """Time, and which notification it was."""

    def take(self, notification: EventNotification, number: int, now: float) -> None:
        if notification.phase is Phase.CLEARED:
            self.on.discard(notification.source_id)
        elif notification.source_id not in self.on:
            self.on.add(notification.source_id)
            self.raises.append((now, number))

    def holds(self, within_s: float, now: float) -> bool:
        recent = within_s > 0 and bool(self.raises) and now - self.raises[-1][0] <= within_s
        return bool(self.on) or recent

    def next_after(self, number: int, since: float) -> int | None:
        """The first raise since a time that came after a notification."""
        later = (each for time, each in self.raises if time >= since and each > number)
        return next(later, None)


class _Watched:
    """A composite event and what was heard of its operands."""

    def __init__(self, definition: Composite, stale_s: float) -> None:
        self.definition = definition
        self.sightings = {operand: _Sightings() for operand in definition.operands}
        self.held = Held(definition.duration_s, stale_s)

    def take(self, notification: EventNotification, number: int, now: float) -> None:
        for operand, sightings in self.sightings.items():
            if operand.means(notification):
                sightings.take(notification, number, now)

    def gone(self, process: str) -> None:
        for sightings in self.sightings.values():
            sightings.on.discard(process)

    def holds(self, now: float) -> bool:
        within_s = self.definition.within_s
        if self.definition.way is Way.SEQUENCE:
            return self._in_order(now - within_s)
        answers = (each.holds(within_s, now) for each in self.sightings.values())
        return all(answers) if self.definition.way is Way.ALL else any(answers)

    def _in_order(self, since: float) -> bool:
        """Whether a whole sequence lies after a time: the earliest next one is always as good."""
        number = 0
        for operand in self.definition.operands:
            following = self.sightings[operand].next_after(number, since)
            if following is None:
                return False
            number = following
        return True

    def look(self, now: float) -> EventNotification | None:
        phase = self.held.observe(holds=self.holds(now), now=now)
        if phase is None:
            return None
        seen = tuple(
            Property(str(operand), float(bool(each.on)), now)
            for operand, each in self.sightings.items()
        )
        joined = {Way.ALL: " and ", Way.ANY: " or ", Way.SEQUENCE: ", then "}
        detail = joined[self.definition.way].join(map(str, self.definition.operands))
        return EventNotification(self.definition.id, EVERYWHERE, seen, phase, now, detail)


class Composites:
    """Watches composite events; what they name comes before them.

    Args:
        definitions: The operator's, in any order.
        stale_s: A longer pause between two looks breaks the run of a duration.

    Raises:
        ConfigError: Two have one name, or they name one another in a circle.
    """

    def __init__(self, definitions: Iterable[Composite], stale_s: float) -> None:
        named: dict[str, Composite] = {}
        for each in definitions:
            if each.id in named:
                raise ConfigError("event.id", each.id, "two events have this name")
            named[each.id] = each
        graph = {name: {one.event for one in each.operands} for name, each in named.items()}
        try:
            order = [name for name in TopologicalSorter(graph).static_order() if name in named]
        except CycleError as error:
            circle = " -> ".join(error.args[1])
            raise ConfigError(f"event.{error.args[1][0]}", circle, "events in a circle") from None
        self._watched = [_Watched(named[name], stale_s) for name in order]
        self._number = 0

    def take(self, notification: EventNotification, now: float) -> None:
        """An event began or ended somewhere."""
        self._number += 1
        for each in self._watched:
            each.take(notification, self._number, now)

    def gone(self, process: str) -> None:
        """A process has left; what was on there is on no more."""
        for each in self._watched:
            each.gone(process)

    def look(self, now: float) -> list[EventNotification]:
        """Look at all, the inner ones first; returns what begins or ends."""
        found = []
        for each in self._watched:
            notification = each.look(now)
            if notification is not None:
                self.take(notification, now)
                found.append(notification)
        return found
