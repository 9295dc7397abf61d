"""What an operator writes about self-management: monitors, events, rules, planners, the history.

The sections hold what was written, checked as far as a section alone can be. What they mean
together (an expression over known properties, a rule for an event that exists) is found by
:mod:`evenflow.autonomic.design`, at the start of every process that uses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from evenflow.config.section import NAME, Rule, Section, integer, number, text, texts

NAMED = "a letter, then letters, digits, '_' or '-' (at most 64 characters)"
SECONDS = (0.0, 86_400.0)


def _bounds() -> dict[str, tuple[float, ...]]:
    def read(raw: object) -> dict[str, tuple[float, ...]]:
        if not isinstance(raw, Mapping):
            raise ValueError  # noqa: TRY004 - what a rule raises
        return {name: _rising(name, bounds) for name, bounds in raw.items()}

    allowed = "must give each property, a name, its bounds in rising order: cpu = [30, 70]"
    return field(default_factory=dict, metadata={"rule": Rule(read, allowed)})


def _rising(name: object, bounds: object) -> tuple[float, ...]:
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError
    if not isinstance(bounds, list | tuple) or not all(map(_is_number, bounds)):
        raise ValueError
    numbers = tuple(float(bound) for bound in bounds)
    if sorted(set(numbers)) != list(numbers):
        raise ValueError
    return numbers


def _is_number(raw: object) -> bool:
    return isinstance(raw, int | float) and not isinstance(raw, bool) and raw == raw  # noqa: PLR0124


def _settings() -> dict[str, float | str]:
    def read(raw: object) -> dict[str, float | str]:
        if not isinstance(raw, Mapping) or not all(
            isinstance(value, str | bool) or _is_number(value) for value in raw.values()
        ):
            raise ValueError
        return dict(raw)

    return field(
        default_factory=dict,
        metadata={"rule": Rule(read, "must be a table of numbers, texts, true and false")},
    )


def _need() -> int | str:
    def read(raw: object) -> int | str:
        if raw in ("all", "any") or (isinstance(raw, int) and _is_number(raw) and raw >= 1):
            return raw
        raise ValueError

    rule = Rule(read, 'must be "all", "any" or a number of nodes from 1')
    return field(default="all", metadata={"rule": rule})


@dataclass(frozen=True, slots=True)
class MonitorConfig(Section):
    """``[monitor]``: what each process reads of itself."""

    table: ClassVar[str] = "monitor"

    period_s: float = number(2.0, 0.05, 3_600.0)
    """How often properties are read."""
    heartbeat_s: float = number(10.0, 0.1, 3_600.0)
    """How often they are reported when none changes its range."""
    ranges: dict[str, tuple[float, ...]] = _bounds()  # noqa: RUF009
    """Operation ranges by property, ``[monitor.ranges]``; also declares a program's own ones."""


@dataclass(frozen=True, slots=True)
class HistoryConfig(Section):
    """``[history]``: where the balancer writes down what it did and why."""

    table: ClassVar[str] = "history"

    path: str = text("evenflow-history.db", r".+", "the path of a file")
    """The file; relative to the folder of the configuration file, else to the working folder."""
    keep: int = integer(100_000, 1_000, 100_000_000)
    """About how many entries are kept."""
    keep_bytes: int = integer(256 << 20, 1 << 20, 1 << 40)
    """About how large they may be together."""


@dataclass(frozen=True, slots=True)
class ElasticConfig(Section):
    """``[elastic]``: how nodes and gateways are started and stopped by plans."""

    table: ClassVar[str] = "elastic"

    start: tuple[str, ...] = texts()
    """Command that starts a node; {name} and {config} are filled in. Empty: ``evenflow node``."""
    stop: tuple[str, ...] = texts()
    """Command that stops a node; {name}, {host} and {pid} are filled in. Empty: SIGTERM, here."""
    start_gateway: tuple[str, ...] = texts()
    """Command by which a gateway starts another one; {name}, {config} and {retiring} (an option, or
    nothing) are filled in. Empty: ``evenflow gateway``, at its own addresses with any port."""


@dataclass(frozen=True, slots=True)
class GroupConfig(Section):
    """``[groups.NAME]``: nodes that are looked at together."""

    table: ClassVar[str] = "groups"

    name: str = text("all", NAME, NAMED)
    nodes: str = text("*", r"\S+", "a pattern of node names, as in 'north-*'")
    """Pattern of node names."""

    def key(self, name: str) -> str:
        """Dotted key of a field of this group."""
        return f"groups.{self.name}.{name}"


@dataclass(frozen=True, slots=True)
class EventConfig(Section):
    """``[events.NAME]``: an event of each node, with a group one of several, or a combination."""

    table: ClassVar[str] = "events"

    name: str = text("event", NAME, NAMED)
    expression: str = text("", r"[\s\S]*", "an expression, as in 'cpu > 70'")
    """When it holds; with a group an expression over means, maxima, minima and sums."""
    events: tuple[str, ...] = texts()
    """Instead of an expression: nodes of the group count at which one of these events is on."""
    need: int | str = _need()
    """With ``events``: how many nodes of the group must have one."""
    group: str = text("", rf"|{NAME}", "the name of a group; leave it out for an event of a node")
    window_s: float = number(0.0, *SECONDS)
    """With ``events``: a node counts this long after its event was raised."""
    duration_s: float = number(0.0, *SECONDS)
    """How long it must hold before it is raised."""
    all_of: tuple[str, ...] = texts()
    """A combination: all of these events are on. Each is ``EVENT``, or ``EVENT@NODES`` with a
    group or a pattern of names; it may be a combination itself."""
    any_of: tuple[str, ...] = texts()
    """One of them is on."""
    sequence: tuple[str, ...] = texts()
    """They were raised in this order, within ``within_s``."""
    within_s: float = number(0.0, *SECONDS)
    """Of a combination: an event counts this long after it was raised."""

    @property
    def is_combination(self) -> bool:
        """Whether it combines other events."""
        return bool(self.all_of or self.any_of or self.sequence)

    def key(self, name: str) -> str:
        """Dotted key of a field of this event."""
        return f"events.{self.name}.{name}"


@dataclass(frozen=True, slots=True)
class RuleConfig(Section):
    """``[[rules]]``: what an event leads to."""

    table: ClassVar[str] = "rules"

    event: str = text("", NAME, "the name of an event")
    planner: str = text("", NAME, "the name of a table [planners.NAME]")
    verb: str = text("plan", "plan|adjust|swap", "'plan', 'adjust' or 'swap'")
    phase: str = text("raised", "raised|cleared", "'raised' or 'cleared'")
    by: str = text("", rf"|{NAME}", "with 'swap', the planner that takes the place")
    settings: dict[str, float | str] = _settings()  # noqa: RUF009
    """For this plan (plan), from now on (adjust), or of the new planner (swap)."""


@dataclass(frozen=True, slots=True)
class PlannerConfig(Section):
    """``[planners.NAME]``: a planner in use; further keys are its settings."""

    table: ClassVar[str] = "planners"

    name: str = text("slices", NAME, NAMED)
    planner: str = text("", NAME, "a balancing algorithm, 'elastic' or a planner of others")
    settings: dict[str, float | str] = _settings()  # noqa: RUF009

    def key(self, name: str) -> str:
        """Dotted key of a field of this planner."""
        return f"planners.{self.name}.{name}"
