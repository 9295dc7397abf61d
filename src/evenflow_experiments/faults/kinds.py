"""Which faults there are, whom they may strike, and a schedule of them from a seed.

A fault is an action on a member of the cast. Its kind is the action and the role of the member, as
in ``kill-node``; every kind has a row of its own in the figures.

==========  ==========================================================  ============================
action      what is done                                                healed by
==========  ==========================================================  ============================
``kill``    SIGKILL                                                     a start, up to 3 s later
``stop``    SIGSTOP for 2 to 25 s                                       SIGCONT
``link``    the cable of the member's host is pulled for 2 to 25 s      the cable
``path``    what one host sends another, or each the other, is dropped  the rule is taken away
``clock``   killed, and started with a wall clock 5 to 60 s off         killed, started as before
``disk``    the disk of a broker, an outbox or a balancer is filled     room, 5 to 25 s later
==========  ==========================================================  ============================

Pure: the random numbers come in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from random import Random


class Action(StrEnum):
    """What is done to a member."""

    KILL = "kill"
    STOP = "stop"
    LINK = "link"
    PATH = "path"
    CLOCK = "clock"
    DISK = "disk"


class Role(StrEnum):
    """What a member of the cast is."""

    PUBLISHER = "publisher"
    NODE = "node"
    BALANCER = "balancer"
    CONSUMER = "consumer"
    BROKER = "broker"
    CLIENT = "client"


DOWN_S: Final = {
    Action.KILL: (0.1, 3.0),
    Action.STOP: (2.0, 25.0),
    Action.LINK: (2.0, 25.0),
    Action.PATH: (2.0, 25.0),
    Action.CLOCK: (2.0, 10.0),
    Action.DISK: (5.0, 25.0),
}
"""How long a fault lasts: the logarithm is uniform, so that most are short."""
SKEW_S: Final = (5.0, 60.0)
TRIES: Final = 100
"""How often a second fault is drawn until it is on other hosts than the first."""
PAUSE_S: Final = 2.0
"""Longest pause before a fault: whoever was struck before is back in its place, or just not."""


@dataclass(frozen=True, slots=True)
class Member:
    """A process on a host of its own, as far as faults are concerned."""

    name: str
    role: Role
    talks_to: frozenset[str] = frozenset()
    """The members whose path to it can be blocked."""
    clock: bool = False
    """Whether its wall clock can be set apart."""
    disk: bool = False
    """Whether it writes into a folder that can be filled."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, with all that chance decided."""

    action: Action
    role: Role
    target: str
    seconds: float
    """From the strike to the heal."""
    other: str = ""
    """Of a path: the host at its other end."""
    ways: tuple[tuple[str, str], ...] = field(default=())
    """Of a path: (from, to) of what is dropped."""
    skew_s: float = 0.0
    """Of a clock: how far it is ahead."""
    pause_s: float = 0.0
    """From the recovery of the fault before to the strike; of a second fault, from the strike of
    the first."""
    second: Fault | None = None
    """Strikes while this one lasts."""

    @property
    def kind(self) -> str:
        """Action and role, as in ``kill-node``."""
        return f"{self.action}-{self.role}"

    @property
    def all(self) -> list[Fault]:
        """This fault and the second one."""
        return [self] if self.second is None else [self, self.second]

    @property
    def hosts(self) -> set[str]:
        """Whose hosts it touches."""
        return {self.target, self.other} - {""}

    def steps(self) -> list[tuple[float, bool, Fault]]:
        """What is done when: seconds since the strike, whether it is a heal, the fault."""
        found = []
        for fault in self.all:
            begin = 0.0 if fault is self else fault.pause_s
            found += [(begin, False, fault), (begin + fault.seconds, True, fault)]
        return sorted(found, key=lambda step: step[0])

    def __str__(self) -> str:
        how = f"for {self.seconds:.1f} s"
        if self.action is Action.CLOCK:
            how = f"{self.skew_s:+.0f} s {how}"
        whom = self.target
        if self.action is Action.PATH:
            whom = ", ".join(f"{a} > {b}" for a, b in self.ways)
        after = "" if self.second is None else f", after {self.second.pause_s:.1f} s {self.second}"
        return f"{self.action} {whom} {how}{after}"


def victims(action: Action, role: Role, cast: Collection[Member]) -> list[Member]:
    """The members of a role that an action can strike."""

    def fits(member: Member) -> bool:
        needs = {Action.PATH: member.talks_to, Action.CLOCK: member.clock, Action.DISK: member.disk}
        return member.role is role and bool(needs.get(action, True))

    return [member for member in cast if fits(member)]


def kinds(
    cast: Collection[Member],
    *,
    without: Collection[Action] = (),
    only: Sequence[str] = (),
) -> list[tuple[Action, Role]]:
    """All kinds of fault that can be had.

    Args:
        cast: Who is there.
        without: Actions that cannot be had on this machine.
        only: Kinds or actions, as in ``kill-node`` or ``kill``; empty for all.
    """
    return [
        (action, role)
        for action in Action
        for role in Role
        if action not in without
        and victims(action, role, cast)
        and (not only or action in only or f"{action}-{role}" in only)
    ]


def draw(kind: tuple[Action, Role], cast: Collection[Member], rng: Random) -> Fault:
    """A fault of a kind; chance decides on whom it strikes, and how."""
    action, role = kind
    target = rng.choice(victims(action, role, cast))
    low, high = DOWN_S[action]
    seconds = math.exp(rng.uniform(math.log(low), math.log(high)))
    pause = rng.uniform(0.0, PAUSE_S)
    skew = rng.choice((-1, 1)) * rng.uniform(*SKEW_S) if action is Action.CLOCK else 0.0
    if action is not Action.PATH:
        return Fault(action, role, target.name, seconds, skew_s=skew, pause_s=pause)
    other = rng.choice(sorted(target.talks_to))
    there, back = (target.name, other), (other, target.name)
    ways = rng.choice(((there,), (back,), (there, back)))
    return Fault(action, role, target.name, seconds, other, ways, pause_s=pause)


def schedule(
    chosen: Sequence[tuple[Action, Role]],
    cast: Collection[Member],
    rng: Random,
    count: int | None,
    *,
    pairs: bool = False,
) -> list[Fault]:
    """So many faults of random kinds; None: each kind once, in random order.

    With pairs a second fault of any kind strikes while each of them lasts, on other hosts.
    """
    if count is None:
        order = rng.sample(chosen, len(chosen))
    else:
        order = [rng.choice(chosen) for _ in range(count)]
    faults = [draw(kind, cast, rng) for kind in order]
    return [_with_second(fault, chosen, cast, rng) for fault in faults] if pairs else faults


def _with_second(
    fault: Fault, chosen: Sequence[tuple[Action, Role]], cast: Collection[Member], rng: Random
) -> Fault:
    for _ in range(TRIES):
        second = draw(rng.choice(chosen), cast, rng)
        if not second.hosts & fault.hosts:
            begin = rng.uniform(0.0, fault.seconds)
            return replace(fault, second=replace(second, pause_s=begin))
    return fault


def suspects(fault: Fault, cast: Collection[Member]) -> list[str]:
    """The nodes that a fault may let others take for dead: struck, or cut off from a balancer.

    A balancer that is cut off hears of no node any more, so it may take all of them for dead.
    """
    return sorted({name for one in fault.all for name in _suspects(one, cast)})


def _suspects(fault: Fault, cast: Collection[Member]) -> list[str]:
    roles = {member.name: member.role for member in cast}
    if fault.role is Role.NODE and fault.action is not Action.PATH:
        return [fault.target]
    if fault.action is Action.LINK and fault.role is Role.BALANCER:
        return [member.name for member in cast if member.role is Role.NODE]
    ends = {fault.target, fault.other}
    if fault.action is Action.PATH and any(roles[end] is Role.BALANCER for end in ends):
        return sorted(end for end in ends if roles[end] is Role.NODE)
    return []
