"""How many gateways there should be, and what is the next step to get there.

The operator declares the *operation range* of what gateways carry, and how many there may be.

- All that take nodes are above the range, or they are fewer than the least: one more. One that is
  retiring is taken back; else a new one is started, by the gateway whose machine has the least to
  do.
- All are below the range and one fewer would not be above it, or they are more than the most (one
  of an operator's has come back): the emptiest *retires*. It drains,
  so the planner of handovers gives its nodes to the others. It is stopped when it has none, nothing
  waits in its outbox and nobody waits for its word; until then it can be taken back.
- One that is awaited and not there is started again, retiring: it says what it is asked for,
  delivers what is on its disk, and is stopped again, or taken back if all others are above the
  range. It takes no nodes, so the most does not count for it: as many can come as have lived. That
  comes last, so one that cannot be started keeps nothing else from being done.

Only gateways that a plan has started retire. Those of operators stay: theirs are the addresses that
nodes are given to begin with.

**No flapping.** With ``n`` gateways and a total load ``T`` one is added only if ``T > n * high``,
and one retires only if ``T <= (n - 1) * high``. So under an even load neither follows the other.
Besides, either must hold for a while, there is time between two changes, and one retires at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from evenflow.mobile.gateway.naming import elastic_name, parent_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenflow.autonomic.plan.elastic import Limits


@dataclass(frozen=True, slots=True)
class Member:
    """A gateway that is heard."""

    name: str
    nodes: int
    load: float | None
    """What it carries; None: nothing was heard of that yet."""
    draining: bool = False
    retiring: bool = False
    waiting: bool = False
    """Whether something waits in its outbox, or somebody for its word."""
    machine: float | None = None
    """How busy its machine is, in percent; None: it cannot be given orders yet."""

    @property
    def parent(self) -> str:
        """Who has started it; empty when it was an operator."""
        return parent_of(self.name)


@dataclass(frozen=True, slots=True)
class OperationRange:
    """What a gateway carries at its ease."""

    low: float
    high: float


class Demand(Enum):
    """How what gateways carry compares with their operation range."""

    FULL = "all are above their range, or there are too few"
    IDLE = "all are below their range, or there are too many"
    FINE = "neither"


class Verb(Enum):
    """What is done with a gateway."""

    START = "start"
    REVIVE = "start again, retiring"
    RETIRE = "retire"
    TAKE_BACK = "take back"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do."""

    verb: Verb
    gateway: str
    reason: str


def demand_of(members: Iterable[Member], fitting: OperationRange, limits: Limits) -> Demand:
    """Compare what gateways carry with their operation range, and their number with the limits."""
    known = [one for one in members if one.load is not None or not one.draining]
    loads = [one.load for one in known if not one.draining]
    if len(loads) < limits.least:
        return Demand.FULL
    if len(loads) > limits.most:
        return Demand.IDLE
    if not loads or None in loads:
        return Demand.FINE
    carried = [load for load in loads if load is not None]
    total = sum(one.load or 0.0 for one in known)
    if min(carried) > fitting.high:
        return Demand.FULL
    if max(carried) < fitting.low and total <= fitting.high * (len(carried) - 1):
        return Demand.IDLE
    return Demand.FINE


def next_step(
    members: Sequence[Member],
    absent: Iterable[str],
    lasting: Demand,
    limits: Limits,
    *,
    full: bool,
    reserved: frozenset[str] = frozenset(),
) -> Step | None:
    """What to do next; nothing when all is well.

    Args:
        members: The gateways that are heard.
        absent: Gateways that are not heard, and whose word somebody waits for.
        lasting: The demand, if it has lasted long enough for a change.
        limits: What the operator allows.
        full: Whether all are above their range at this moment.
        reserved: Names that are not to be used.
    """
    retiring = [one for one in members if one.retiring]
    more = _more(members, retiring, limits, reserved) if lasting is Demand.FULL else None
    if more is not None:
        return more
    empty = [one for one in retiring if not (one.nodes or one.waiting)]
    wanted = full and len(members) - len(retiring) < limits.most
    if empty and not wanted:
        return Step(Verb.STOP, empty[0].name, f"{empty[0].name} is empty")
    fewer = _fewer(members, limits) if lasting is Demand.IDLE and not retiring else None
    return fewer or _revived(members, absent)


def _revived(members: Sequence[Member], absent: Iterable[str]) -> Step | None:
    """Start the first that somebody waits for and that can be started."""
    starting = {one.name for one in members if one.machine is not None}
    name = next((name for name in sorted(absent) if parent_of(name) in starting), None)
    if name is None:
        return None
    return Step(Verb.REVIVE, name, f"{name} is not there, and its word is awaited")


def _more(
    members: Sequence[Member], retiring: Sequence[Member], limits: Limits, reserved: frozenset[str]
) -> Step | None:
    size = len(members) - len(retiring)
    many = "1 gateway is" if size == 1 else f"{size} gateways are"
    if size >= limits.most:
        return None
    if retiring:
        back = max(retiring, key=lambda one: (one.nodes, one.name)).name
        return Step(Verb.TAKE_BACK, back, f"{many} too few, {back} shall not end")
    parents = [one for one in members if one.machine is not None and not one.parent]
    if not parents:
        return None
    taken = {one.name for one in members} | reserved
    parent = min(parents, key=lambda one: (one.machine, _children(one, members), one.name))
    number = next(n for n in range(1, len(taken) + 2) if elastic_name(parent.name, n) not in taken)
    return Step(Verb.START, elastic_name(parent.name, number), f"{many} too few")


def _children(parent: Member, members: Sequence[Member]) -> int:
    return sum(one.parent == parent.name for one in members)


def _fewer(members: Sequence[Member], limits: Limits) -> Step | None:
    serving = [one for one in members if not one.draining]
    elastic = [one for one in serving if one.parent and one.machine is not None]
    if len(serving) <= limits.least or not elastic:
        return None
    emptiest = min(elastic, key=lambda one: (one.nodes, one.load or 0.0, one.name)).name
    reason = f"{len(serving)} gateways are too many, {emptiest} has the least to do"
    return Step(Verb.RETIRE, emptiest, reason)


class Patience:
    """How long a demand has lasted, and when something was last changed."""

    def __init__(self) -> None:
        self.begin(0.0)

    def begin(self, now: float) -> None:
        """Begin to look: what was changed before is not known, so it counts as changed now."""
        self.changed = self._since = now
        self._demand = Demand.FINE

    def look(self, demand: Demand, now: float) -> None:
        """Take in how it is now."""
        if demand is not self._demand:
            self._demand, self._since = demand, now

    def lasting(self, full_s: float, idle_s: float, cooldown_s: float, now: float) -> Demand:
        """The demand that has lasted long enough for a change, if it is time for one."""
        needed = {Demand.FULL: full_s, Demand.IDLE: idle_s}.get(self._demand, 0.0)
        ripe = now - self._since >= needed and now - self.changed >= cooldown_s
        return self._demand if ripe else Demand.FINE
