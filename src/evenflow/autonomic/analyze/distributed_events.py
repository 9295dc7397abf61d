"""Distributed events: conditions over several nodes.

The Distributed Event Service that the papers leave as future work (MAPE-SDDL, section VIII): it
detects "the overload in a group of PNs, instead of the overload detection at individual PNs". Two
kinds are here, the third is in :mod:`evenflow.autonomic.analyze.composite_events`:

:class:`Quorum` counts nodes at which local events are on: all of the group, any of it, or at least
``k``. With a window a node counts for that long after its event was raised, even if it has cleared
since. *"Three of five nodes overloaded"*: ``Quorum("hot", events=("overload",), need=3)``.

:class:`Aggregate` an expression over the mean, maximum, minimum and sum of properties over the
group (``mean_cpu``, ``max_cpu``, ``min_cpu``, ``sum_cpu``, and ``nodes``): *"the group as a whole
is busy"*: ``mean_cpu > 70``.

:class:`~evenflow.autonomic.analyze.composite_events.Composite` combines events of different
sources, these ones included.

All are raised once when they have held for their duration, like local events, and cleared when
they hold no longer. A group is a pattern of node names. A node that has not been heard of for
``stale_s`` does not count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from evenflow.autonomic.analyze.composite_events import Composite, Composites
from evenflow.autonomic.analyze.expression import Expression
from evenflow.autonomic.analyze.local_events import EventNotification, Held, Phase, Property
from evenflow.autonomic.analyze.sources import matches
from evenflow.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ALL = "all"
ANY = "any"


@dataclass(frozen=True, slots=True)
class Quorum:
    """At least a number of the nodes of a group have one of these events."""

    id: str
    events: tuple[str, ...]
    """A node counts when any of these local events is on."""
    need: int | str = ALL
    """``"all"``, ``"any"`` or a number of nodes."""
    group: str = "*"
    """Pattern of node names."""
    window_s: float = 0.0
    """A node counts this long after its event was raised, whether or not it has been cleared."""
    duration_s: float = 0.0

    def __post_init__(self) -> None:
        known = self.need in (ALL, ANY)
        if not (known or (isinstance(self.need, int) and self.need >= 1)):
            raise ConfigError(
                f"event.{self.id}.need", self.need, 'must be "all", "any" or 1 or more'
            )
        if not self.events:
            raise ConfigError(f"event.{self.id}.events", self.events, "name at least one event")
        _require_times(self.id, window_s=self.window_s, duration_s=self.duration_s)

    def met(self, count: int, members: int) -> bool:
        """Whether ``count`` of the members are enough."""
        if self.need == ALL:
            return 0 < members == count
        return count >= (1 if self.need == ANY else int(self.need))


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An expression over means, maxima, minima and sums of a group's properties."""

    id: str
    expression: str
    group: str = "*"
    duration_s: float = 0.0

    def __post_init__(self) -> None:
        _require_times(self.id, duration_s=self.duration_s)


@dataclass(slots=True)
class _Member:
    heard: float
    values: Mapping[str, float] = field(default_factory=dict)
    active: set[str] = field(default_factory=set)
    raised: dict[str, float] = field(default_factory=dict)

    def counts(self, quorum: Quorum, now: float) -> bool:
        """Whether one of the quorum's events is on, or was raised within its window."""
        recent = (self.raised.get(event) for event in quorum.events)
        return any(event in self.active for event in quorum.events) or any(
            time is not None and now - time <= quorum.window_s and quorum.window_s > 0
            for time in recent
        )


class CompositeDetector:
    """Watches the distributed events of a cluster.

    Args:
        definitions: The operator's distributed events.
        properties: Names of the properties the nodes report.
        stale_s: A node that was silent for longer does not count.

    Raises:
        ExpressionError: An expression is faulty.
        ConfigError: Two events have the same name.
    """

    def __init__(
        self,
        definitions: Iterable[Quorum | Aggregate | Composite],
        properties: Iterable[str],
        *,
        stale_s: float = 30.0,
    ) -> None:
        self._stale_s = stale_s
        self._members: dict[str, _Member] = {}
        self._quorums: dict[str, tuple[Quorum, Held]] = {}
        self._aggregates: dict[str, tuple[Aggregate, Expression, Held]] = {}
        names = aggregate_names(properties)
        composites = []
        for each in definitions:
            if each.id in self._quorums or each.id in self._aggregates:
                raise ConfigError("event.id", each.id, "two events have this name")
            if isinstance(each, Composite):
                composites.append(each)
                continue
            held = Held(each.duration_s, stale_s)
            if isinstance(each, Quorum):
                self._quorums[each.id] = (each, held)
            else:
                key = f"event.{each.id}.expression"
                expression = Expression(each.expression, names, key=key)
                self._aggregates[each.id] = (each, expression, held)
        self._composites = Composites(composites, stale_s)

    def heard(self, node: str, values: Mapping[str, float], now: float) -> list[EventNotification]:
        """A node reported its properties (only those that are given change)."""
        member = self._member(node, now)
        member.values = {**member.values, **values}
        return self.look(now)

    def notified(self, notification: EventNotification, now: float) -> list[EventNotification]:
        """A local event began or ended at a node; ``now`` is our clock, not the node's."""
        member = self._member(notification.source_id, now)
        if notification.phase is Phase.RAISED:
            member.active.add(notification.event_id)
            member.raised[notification.event_id] = now
        else:
            member.active.discard(notification.event_id)
        self._composites.take(notification, now)
        return self.look(now)

    def gone(self, node: str, now: float) -> list[EventNotification]:
        """A node has left."""
        self._forget(node)
        return self.look(now)

    def look(self, now: float) -> list[EventNotification]:
        """Look at all conditions; to be called now and then, also when nothing is heard."""
        for name in [n for n, m in self._members.items() if now - m.heard > self._stale_s]:
            self._forget(name)
        looked = [self._look_at_quorum(*each, now) for each in self._quorums.values()]
        looked += [self._look_at_aggregate(*each, now) for each in self._aggregates.values()]
        found = [notification for notification in looked if notification is not None]
        for notification in found:
            self._composites.take(notification, now)
        return found + self._composites.look(now)

    def _forget(self, node: str) -> None:
        self._members.pop(node, None)
        self._composites.gone(node)

    def _member(self, node: str, now: float) -> _Member:
        member = self._members.setdefault(node, _Member(now))
        member.heard = max(member.heard, now)
        return member

    def _group(self, pattern: str) -> dict[str, _Member]:
        return {n: m for n, m in sorted(self._members.items()) if matches(n, pattern)}

    def _look_at_quorum(self, quorum: Quorum, held: Held, now: float) -> EventNotification | None:
        group = self._group(quorum.group)
        count = sum(member.counts(quorum, now) for member in group.values())
        phase = held.observe(holds=quorum.met(count, len(group)), now=now)
        seen = {"nodes": float(len(group)), "count": float(count)}
        return _notification(quorum.id, quorum.group, seen, phase, now)

    def _look_at_aggregate(
        self, each: Aggregate, expression: Expression, held: Held, now: float
    ) -> EventNotification | None:
        seen = aggregated([member.values for member in self._group(each.group).values()])
        phase = held.observe(holds=bool(expression.holds(seen)), now=now)
        return _notification(each.id, each.group, seen, phase, now)


def aggregate_names(properties: Iterable[str]) -> tuple[str, ...]:
    """The names an aggregate's expression may use."""
    kinds = ("mean", "max", "min", "sum")
    return ("nodes", *(f"{kind}_{name}" for name in properties for kind in kinds))


def aggregated(members: list[Mapping[str, float]]) -> dict[str, float]:
    """Mean, maximum, minimum and sum of every property over the members that have it."""
    values: dict[str, list[float]] = {}
    for member in members:
        for name, value in member.items():
            values.setdefault(name, []).append(value)
    sums = {"nodes": float(len(members))}
    for name, numbers in values.items():
        sums[f"mean_{name}"] = fmean(numbers)
        sums[f"max_{name}"] = max(numbers)
        sums[f"min_{name}"] = min(numbers)
        sums[f"sum_{name}"] = sum(numbers)
    return sums


def _notification(
    event_id: str, group: str, seen: Mapping[str, float], phase: Phase | None, now: float
) -> EventNotification | None:
    if phase is None:
        return None
    properties = tuple(Property(name, value, now) for name, value in sorted(seen.items()))
    return EventNotification(event_id, group, properties, phase, now)


def _require_times(event_id: str, **times: float) -> None:
    for key, value in times.items():
        if not 0 <= value < float("inf"):
            raise ConfigError(f"event.{event_id}.{key}", value, "must be a number from 0 up")
