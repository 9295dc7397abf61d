"""A cluster under an algorithm, in virtual time: decisions without a process or a network.

Every ``period_s`` the loads are measured and the algorithm is asked, as the balancer asks it, after
a warm-up in which there is only measuring. The moves of its plan are sessions that take
``session_s`` each; a node is in one session at a time, sessions of different nodes run side by
side. A slice counts where it was until its session ends. As long as a plan runs no other is made.

Strengths and outlooks are not told but learned, from the work a node does in the time it is
busy and from the measured loads (:mod:`evenflow.balance.node_strength`,
:mod:`evenflow.balance.load_outlook`), exactly as the balancer learns them. What is simulated is
thus the decisions and their timing. Handover itself, queues and the network are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenflow.balance.node_strength import StrengthLearner
from evenflow.balance.verify import sound_plan
from evenflow.model.plan import Move, Plan
from evenflow.model.snapshot import ClusterNode, LoadSnapshot, PlacedSlice

if TYPE_CHECKING:
    from evenflow.balance.base import Algorithm
    from evenflow.balance.load_outlook import OutlookLearner

Loads = Callable[[float], Mapping[int, float]]
"""True load of every slice at a time."""
Noise = Callable[[], float]
"""A factor by which the next measurement is off."""
PERIOD_S = 4.0
"""A balancer that looks at the loads every 2 s acts on every second look."""
WARM_UP_S = 20.0
"""Seconds in which there is only measuring."""


@dataclass(slots=True)
class Outcome:
    """What a run came to."""

    owners: dict[int, str]
    """Where every slice is in the end."""
    strains: list[tuple[float, float]] = field(default_factory=list)
    """``(time, highest load per strength over the mean)``, once a period."""
    moved: float = 0.0
    """Load moved in all."""
    moves: int = 0
    """Slices moved in all."""
    plans: int = 0
    returns: int = 0
    """How often a slice went straight back to the node it came from."""

    def settled_at(self, limit: float) -> float | None:
        """How long after the warm-up the strain was below the limit for good; ``None`` if never."""
        above = [time for time, strain in self.strains if strain > limit]
        after = [time for time, _ in self.strains if not above or time > above[-1]]
        return max(0.0, after[0] - WARM_UP_S) if after else None


class Simulation:
    """One algorithm on one cluster.

    Args:
        algorithm: Who is asked.
        start: The cluster at the start; capacities are the true strengths.
        loads: True load of every slice at a time.
        noise: How far each measurement is off, as a factor.
        outlooks: What learns the outlook of the slices, for an algorithm that looks at it.
        sees_arrivals: Whether the load of a slice is what arrives for it, as the balancer has it;
            otherwise what its node does of that, which is less when the node is overloaded.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        start: LoadSnapshot,
        loads: Loads,
        *,
        noise: Noise = lambda: 1.0,
        outlooks: OutlookLearner | None = None,
        sees_arrivals: bool = True,
        period_s: float = PERIOD_S,
        session_s: float = 0.5,
    ) -> None:
        self._algorithm = algorithm
        self._state = start
        self._loads = loads
        self._noise = noise
        self._outlooks = outlooks
        self._sees_arrivals = sees_arrivals
        self._strengths = StrengthLearner()
        self._period_s = period_s
        self._session_s = session_s
        self._true = {node.name: node.capacity for node in start.nodes}
        self._sessions: list[tuple[float, Move]] = []
        self._came_from: dict[int, str] = {}

    def run(self, duration_s: float) -> Outcome:
        """Run from time 0 for a number of seconds."""
        outcome = Outcome({})
        now = 0.0
        while now <= duration_s:
            loads = self._loads(now)
            self._finish_sessions(now, loads, outcome)
            outcome.strains.append((now, self._strain(loads)))
            self._learn(loads, now)
            seen = loads if self._sees_arrivals else self._done(loads)
            if now >= WARM_UP_S and not self._sessions:
                plan = sound_plan(self._algorithm, self._measured(seen, now))
                outcome.plans += bool(plan)
                self._sessions = self._timed(plan, now)
            now += self._period_s
        outcome.owners = {each.id: each.owner for each in self._state.slices if each.owner}
        return outcome

    def _finish_sessions(self, now: float, loads: Mapping[int, float], outcome: Outcome) -> None:
        done = [(end, move) for end, move in self._sessions if end <= now]
        self._sessions = [(end, move) for end, move in self._sessions if end > now]
        for end, move in done:
            self._state = Plan((move,)).applied_to(self._state, at=end)
            outcome.moves += len(move.slices)
            outcome.moved += sum(loads[slice_id] for slice_id in move.slices)
            for slice_id in move.slices:
                outcome.returns += self._came_from.get(slice_id) == move.taker
                self._came_from[slice_id] = move.giver

    def _strain(self, loads: Mapping[int, float]) -> float:
        """Highest load per strength, over the mean."""
        sums = self._sums(loads)
        mean = sum(sums.values()) / sum(self._true.values())
        return max(sums[name] / strength for name, strength in self._true.items()) / mean

    def _sums(self, loads: Mapping[int, float]) -> dict[str, float]:
        sums = dict.fromkeys(self._true, 0.0)
        for each in self._state.slices:
            if each.owner is not None:
                sums[each.owner] += loads[each.id]
        return sums

    def _done(self, loads: Mapping[int, float]) -> dict[int, float]:
        """What the nodes do of what is asked of them."""
        sums = self._sums(loads)
        part = {name: min(1.0, self._true[name] / sums[name]) for name in sums if sums[name]}
        return {
            each.id: loads[each.id] * part.get(each.owner or "", 1.0) for each in self._state.slices
        }

    def _learn(self, loads: Mapping[int, float], now: float) -> None:
        """A node does what it is asked, or all it can; it is busy in proportion."""
        for name, load in self._sums(loads).items():
            work = min(load, self._true[name]) * self._period_s
            busy_s = work / self._true[name] * self._noise()
            self._strengths.observe(name, work=work, busy_s=busy_s, elapsed_s=self._period_s)
        if self._outlooks is not None:
            for slice_id, load in loads.items():
                self._outlooks.observe(slice_id, load * self._noise(), now)

    def _measured(self, loads: Mapping[int, float], now: float) -> LoadSnapshot:
        known = self._strengths.capacities(self._true)
        return LoadSnapshot(
            now,
            tuple(ClusterNode(name, known[name]) for name in self._true),
            tuple(
                PlacedSlice(
                    each.id,
                    each.owner,
                    loads[each.id] * self._noise(),
                    each.moved_at,
                    each.came_from,
                    self._outlooks.outlook(each.id) if self._outlooks else None,
                )
                for each in self._state.slices
            ),
        )

    def _timed(self, plan: Plan, now: float) -> list[tuple[float, Move]]:
        """When each session of a plan ends, with each node in one session at a time."""
        free = dict.fromkeys(self._true, now)
        sessions = []
        for move in plan.moves:
            end = max(free[move.giver], free[move.taker]) + self._session_s
            free[move.giver] = free[move.taker] = end
            sessions.append((end, move))
        return sessions


def steady(start: LoadSnapshot) -> Loads:
    """Loads that stay as they are in a snapshot."""
    loads = {each.id: each.load for each in start.slices}
    return lambda _now: loads
