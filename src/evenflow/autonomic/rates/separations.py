"""Which separation is in effect at the publishers and readers of one process.

A *target* is what can be thinned: the publisher of a sliced topic, a reader of a plain one. The
rules, whoever orders:

- A target whose topic is never thinned refuses, and so does a process that has none of the topic.
- A separation is applied as far as the target's other policies allow (``most_s``: below the
  deadline), and no further.
- It stays for its *lease*. An order renews it; without one full rate returns, so a controller that
  is dead does not thin for ever.

A core: time comes in; targets are changed by their callables.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from evenflow.config.sections import NEVER
from evenflow.errors import UsageError
from evenflow.model.messages import SeparationReport

if TYPE_CHECKING:
    from collections.abc import Callable

RETRY_S: Final = 0.5
"""After this time a target that could not be changed is tried again."""


class Usage(NamedTuple):
    """How full a writer is, or what stands in for it; as :class:`evenflow.qos.use.Use`."""

    name: str
    used: int
    used_most: int
    kept: int
    kept_most: int


@dataclass(frozen=True, slots=True)
class Target:
    """Something that can be thinned."""

    topic: str
    name: str
    """Unlike that of any other target of the topic in this process."""
    policy: str
    """Where the topic is thinned: ``never``, ``readers``, ``source`` or ``instance``."""
    separate: Callable[[float], object]
    """Applies a separation, 0 for none; what it raises refuses the order."""
    thinned: Callable[[], int]
    """How many items were left out."""
    deadline_s: float = math.inf
    most_s: float = math.inf
    """The largest separation that goes with its other policies."""


@dataclass(slots=True)
class _State:
    target: Target
    separation_s: float = 0.0


@dataclass(slots=True)
class Separations:
    """The targets of one process, and what is in effect there.

    Args:
        process: Id of the process.
    """

    process: str
    _states: dict[tuple[str, str], _State] = field(default_factory=dict)
    _leases: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By topic: the separation that was ordered last, and until when it stays."""

    def add(self, target: Target) -> None:
        """Another target; it begins with what is in effect for its topic here."""
        state = self._states[target.topic, target.name] = _State(target)
        if target.policy != NEVER and target.topic in self._leases:
            self._apply(state, self._leases[target.topic][0])

    def remove(self, target: Target) -> None:
        """A target is no more."""
        del self._states[target.topic, target.name]
        if not self._of(target.topic):
            self._leases.pop(target.topic, None)

    def order(self, topic: str, separation_s: float, lease_s: float, now: float) -> None:
        """Apply a separation for some time.

        Raises:
            UsageError: Nothing here may be thinned of the topic.
        """
        states = [one for one in self._of(topic) if one.target.policy != NEVER]
        if not states:
            raise UsageError(f"topic {topic!r} is never thinned here: {self.process} refuses")
        # Also when it is refused: what was applied, perhaps by some, must not stay for ever.
        self._leases[topic] = (separation_s, now + lease_s)
        self._apply_to(states, separation_s)
        if not separation_s:
            del self._leases[topic]

    def expire(self, now: float) -> list[str]:
        """Return to full rate where the lease is over; the topics of which it is.

        A target that cannot be changed raises, when all others are; it is tried again.
        """
        over = [topic for topic, (_, until) in self._leases.items() if now >= until]
        for topic in over:
            self._leases[topic] = (0.0, now + RETRY_S)
            self._apply_to(self._of(topic), 0.0)
            del self._leases[topic]
        return over

    @property
    def until(self) -> float:
        """When the next lease is over; infinite when there is none."""
        return min((until for _, until in self._leases.values()), default=math.inf)

    @property
    def thinned(self) -> int:
        """Items that were left out, of all topics."""
        return sum(state.target.thinned() for state in self._states.values())

    def reports(self) -> list[SeparationReport]:
        """What is in effect now."""
        return [self._report(state) for state in self._states.values()]

    def _of(self, topic: str) -> list[_State]:
        return [state for (name, _), state in self._states.items() if name == topic]

    def _apply_to(self, states: list[_State], separation_s: float) -> None:
        """Change all of them, whatever one of them raises."""
        failures = []
        for state in states:
            try:
                self._apply(state, separation_s)
            except Exception as failure:  # noqa: BLE001 - a target of others may raise anything
                failures.append(failure)
        if failures:
            raise failures[0]

    def _apply(self, state: _State, separation_s: float) -> None:
        wanted = min(separation_s, state.target.most_s)
        if wanted != state.separation_s:
            state.target.separate(wanted)
            state.separation_s = wanted

    def _report(self, state: _State) -> SeparationReport:
        target = state.target
        return SeparationReport(
            target.topic,
            self.process,
            target.name,
            target.policy,
            state.separation_s,
            target.most_s,
            target.deadline_s,
            target.thinned(),
        )
