"""Analysis and planning: which planner answers which event, with which settings.

MAPE-SDDL's Analysis and Planning Service (section III.B.3). The operator's rules say what an event
leads to:

- ``plan``: ask a planner for an action plan, perhaps with other settings this one time;
- ``adjust``: change a planner's settings from now on (the papers' *parametric adaptation*, section
  VII);
- ``swap``: put another planner in the place of one, for example ``saver`` at night and ``weighted``
  by day.

Planners are plug-ins: ours are passed in by whoever builds the loop, others come through the entry
point group ``evenflow.planners``. They implement the interface of the papers (``analyzeLoad`` and
``onNewProcessingNode``, section IV.B): a planner looks at what is known
(:class:`~evenflow.autonomic.knowledge.knowledge.Knowledge`) and returns a plan or ``None``. It
never acts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING, Protocol

from evenflow.autonomic.analyze.balancer_events import BalancerEvent
from evenflow.autonomic.analyze.local_events import EventNotification, Phase
from evenflow.config.called import call_with
from evenflow.errors import ConfigError, EvenflowError
from evenflow.errors.telling import error_text
from evenflow.registry import Registry

if TYPE_CHECKING:
    from evenflow.autonomic.execute.actions import ActionPlan
    from evenflow.autonomic.knowledge.knowledge import Knowledge

Settings = Mapping[str, float | str]


class Planner(Protocol):
    """Makes an action plan from what is known."""

    def analyze_load(self, knowledge: Knowledge) -> ActionPlan | None:
        """The plan that answers ``knowledge.event``; ``None`` when nothing has to be done."""
        ...

    def on_new_processing_node(self, knowledge: Knowledge) -> ActionPlan | None:
        """The plan for a node that has joined, ``knowledge.event.source_id``; or ``None``."""
        ...


MakePlanner = Callable[..., Planner]
"""Called with the planner's settings as keywords."""


class Verb(Enum):
    """What a rule does."""

    PLAN = "plan"
    ADJUST = "adjust"
    SWAP = "swap"


@dataclass(frozen=True, slots=True)
class Rule:
    """What an event leads to."""

    event: str
    """Id of the event."""
    planner: str
    """The place: what the operator calls this use of a planner (``slices``, ``gateways``)."""
    verb: Verb = Verb.PLAN
    phase: Phase = Phase.RAISED
    settings: Settings = field(default_factory=dict)
    """Settings for this plan (plan), new settings (adjust), or those of the new planner (swap)."""
    by: str = ""
    """For ``swap``: the name of the planner that takes the place."""

    def __post_init__(self) -> None:
        if (self.verb is Verb.SWAP) != bool(self.by):
            raise ConfigError(f"rule.{self.event}.by", self.by, "belongs to swap, and only to it")


@dataclass(frozen=True, slots=True)
class Place:
    """A planner in use: which one, with which settings."""

    planner: str
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decision:
    """What a rule came to, for the history."""

    rule: Rule
    plan: ActionPlan | None = None
    failure: str = ""
    """Why the planner could not answer."""


class PlanningService:
    """Applies the rules to events.

    Args:
        rules: The operator's rules; several may answer one event, in this order.
        places: The planners in use, by the name that rules call them.
        planners: Who makes planners, by name.
        knowledge: What planners are told of an event.
        run: Distinguishes the plans of this run from those of others.

    Raises:
        UnknownName: A rule or a place names something that does not exist.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        places: Mapping[str, Place],
        planners: Mapping[str, MakePlanner],
        knowledge: Callable[[EventNotification, float], Knowledge],
        *,
        run: str = "",
    ) -> None:
        self._knowledge = knowledge
        self._run = run
        self._plans = count(1)
        self._registry = Registry("planner", planners, group="evenflow.planners")
        self._rules = tuple(rules)
        self._places = dict(places)
        known = Registry("place of a planner", self._places)
        self._working = {name: self._made(name, place) for name, place in places.items()}
        for rule in self._rules:
            known.get(rule.planner)
            if rule.by:
                self._registry.get(rule.by)

    @property
    def places(self) -> dict[str, Place]:
        """The planners in use now."""
        return dict(self._places)

    def at(self, place: str) -> Planner:
        """The planner that is at work in a place now."""
        return self._working[place]

    def handle(self, event: EventNotification, now: float) -> list[Decision]:
        """Apply every rule for this event."""
        return [
            self._apply(rule, event, now)
            for rule in self._rules
            if rule.event == event.event_id and rule.phase is event.phase
        ]

    def answers(self, event: EventNotification) -> bool:
        """Whether a rule says what this event leads to."""
        return any(
            rule.event == event.event_id and rule.phase is event.phase for rule in self._rules
        )

    def reconsider(self, event: EventNotification, now: float) -> list[Decision]:
        """Plan once more for an event that lasts; what else its rules do was done when it began."""
        rules = [rule for rule in self._begun_by(event) if rule.verb is Verb.PLAN]
        return [self._apply(rule, event, now) for rule in rules]

    def restore(self, event: EventNotification, now: float) -> list[Decision]:
        """Put planners where the rules of an event that lasts have put them before a restart."""
        rules = [rule for rule in self._begun_by(event) if rule.verb is not Verb.PLAN]
        return [self._apply(rule, event, now) for rule in rules]

    def _begun_by(self, event: EventNotification) -> list[Rule]:
        return [
            rule
            for rule in self._rules
            if rule.event == event.event_id and rule.phase is Phase.RAISED
        ]

    def consult(self, place: str, event: EventNotification, now: float) -> ActionPlan | None:
        """What the planner in a place would do about an event; nothing follows from it."""
        try:
            return self._working[place].analyze_load(self._knowledge(event, now))
        except Exception:  # noqa: BLE001 - a planner of others may raise anything
            return None

    def _apply(self, rule: Rule, event: EventNotification, now: float) -> Decision:
        """One rule. A planner that fails must not keep the others from working."""
        place = self._places[rule.planner]
        try:
            if rule.verb is Verb.SWAP:
                self._install(rule.planner, Place(rule.by, rule.settings))
            elif rule.verb is Verb.ADJUST:
                changed = {**place.settings, **rule.settings}
                self._install(rule.planner, Place(place.planner, changed))
            else:
                return Decision(rule, self._planned(rule, event, now))
        except EvenflowError as error:
            return Decision(rule, failure=str(error))
        except Exception as error:  # noqa: BLE001 - a planner of others may raise anything
            return Decision(rule, failure=error_text(error))
        return Decision(rule)

    def _planned(self, rule: Rule, event: EventNotification, now: float) -> ActionPlan | None:
        """The plan of a rule's planner, under an id that no other plan has."""
        planner, knowledge = self._planner_for(rule), self._knowledge(event, now)
        joined = BalancerEvent.NODE_JOINED.is_id(event.event_id)
        plan = (planner.on_new_processing_node if joined else planner.analyze_load)(knowledge)
        if plan is None:
            return None
        plan_id = f"{rule.planner}-{self._run}-{next(self._plans)}"
        return replace(plan, plan_id=plan_id, event_id=event.event_id, source_id=event.source_id)

    def _planner_for(self, rule: Rule) -> Planner:
        if not rule.settings:
            return self._working[rule.planner]
        place = self._places[rule.planner]
        return self._made(rule.planner, Place(place.planner, {**place.settings, **rule.settings}))

    def _install(self, name: str, place: Place) -> None:
        """Make first, then put in place: a refused setting leaves the old planner at work."""
        self._working[name] = self._made(name, place)
        self._places[name] = place

    def _made(self, name: str, place: Place) -> Planner:
        return call_with(self._registry.get(place.planner), place.settings, f"planners.{name}")
