"""Local events: a condition that has held for a while at one node.

MAPE-SDDL's Local Event Service (section III.B.2). An event is an expression over properties and a
duration. It is raised when the expression has held at every reading for the whole duration, so that
a short peak raises nothing; raised once, however long it goes on holding; and cleared when the
expression no longer holds, after which it can be raised again::

    reading      . x x x x x x . . x . x x x x      x: the expression holds    duration: 3 readings
    event              RAISED  CLEARED       RAISED

A pause in the readings longer than ``stale_s`` breaks the run: nobody knows what held in the
pause.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from evenflow.autonomic.analyze.expression import Expression
from evenflow.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Phase(Enum):
    """Whether an event begins or ends."""

    RAISED = "raised"
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True)
class Property:
    """A measured value (MAPE-SDDL, Listing 1)."""

    name: str
    value: float
    time: float


@dataclass(frozen=True, slots=True)
class EventNotification:
    """What is told of an event (MAPE-SDDL, Listing 1)."""

    event_id: str
    source_id: str
    """The node it happened at, or the name of the group for a distributed event."""
    properties: tuple[Property, ...]
    """The values that were seen when it was raised or cleared."""
    phase: Phase
    time: float
    detail: str = ""
    """What happened, in words, where the id does not say it all."""


@dataclass(frozen=True, slots=True)
class EventDefinition:
    """An event as the operator wrote it."""

    id: str
    expression: str
    duration_s: float = 0.0

    def __post_init__(self) -> None:
        if not self.id:
            raise ConfigError("event.id", self.id, "an event needs a name")
        if not 0 <= self.duration_s < float("inf"):
            raise ConfigError(
                f"event.{self.id}.duration_s", self.duration_s, "must be a number from 0 up"
            )


class Held:
    """Whether a condition has held for a duration: says when that begins and when it ends."""

    __slots__ = ("_duration_s", "_last", "_raised", "_since", "_stale_s")

    def __init__(self, duration_s: float, stale_s: float) -> None:
        self._duration_s = duration_s
        self._stale_s = stale_s
        self._since: float | None = None
        self._last = 0.0
        self._raised = False

    @property
    def raised(self) -> bool:
        """Whether it counts as held now."""
        return self._raised

    def observe(self, *, holds: bool, now: float) -> Phase | None:
        """Take one look at the condition; returns a phase when one begins."""
        pause = self._since is not None and now - self._last > self._stale_s
        self._last = now
        if not holds or pause:
            was_raised, self._raised = self._raised, False
            self._since = now if holds else None
            return Phase.CLEARED if was_raised else None
        if self._since is None:
            self._since = now
        if self._raised or now - self._since < self._duration_s:
            return None
        self._raised = True
        return Phase.RAISED


class EventDetector:
    """Watches the events of one node.

    Args:
        source_id: Name of the node.
        definitions: The operator's events.
        properties: Names of all properties that are measured.
        stale_s: A longer pause between two readings breaks a run.

    Raises:
        ExpressionError: An expression is faulty.
        ConfigError: Two events have the same name.
    """

    def __init__(
        self,
        source_id: str,
        definitions: Iterable[EventDefinition],
        properties: Iterable[str],
        *,
        stale_s: float = 10.0,
    ) -> None:
        self.source_id = source_id
        self.unanswered = 0
        """Looks at which an expression could not be answered: a property had no value."""
        names = tuple(properties)
        self._watched: dict[str, tuple[Expression, Held]] = {}
        for each in definitions:
            if each.id in self._watched:
                raise ConfigError("event.id", each.id, "two events have this name")
            key = f"event.{each.id}.expression"
            expression = Expression(each.expression, names, key=key)
            self._watched[each.id] = (expression, Held(each.duration_s, stale_s))

    def observe(self, values: Mapping[str, float], now: float) -> list[EventNotification]:
        """Look at the newest values of all properties."""
        notifications = []
        for event_id, (expression, held) in self._watched.items():
            answer = expression.holds(values)
            self.unanswered += answer is None
            phase = held.observe(holds=bool(answer), now=now)
            if phase is not None:
                notifications.append(self._notification(event_id, values, phase, now))
        return notifications

    def _notification(
        self, event_id: str, values: Mapping[str, float], phase: Phase, now: float
    ) -> EventNotification:
        seen = tuple(Property(name, value, now) for name, value in sorted(values.items()))
        return EventNotification(event_id, self.source_id, seen, phase, now)
