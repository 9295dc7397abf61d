"""The adaptive controller as a companion of a balancer's loop (QoS adaptation, section 3).

It hears the monitor topic and what is in effect where. Every ``qos.period_s`` each topic that may
be thinned is decided on by a :class:`~evenflow.qos.controller.Controller` of its own. While what is
in effect somewhere differs from what is wanted, at a newcomer too, it raises an event
(:class:`~evenflow.autonomic.analyze.qos_events.QosEvent`), which the planner in the place ``qos``
answers. A separation is told again when half of its lease is over.

**Whoever begins, begins with what is in effect.** A balancer that takes over, or begins to lead
again, knows from the reports what the one before had ordered. Its controller goes on from there, at
most at its own largest separation, and lowers it by its own rules: a topic that is thinned enough
looks as if it needed no thinning.

**One that does not obey holds up nobody.** It is told again, ever more seldom; whatever others
have to be told is told at once.

A topic that is never thinned is in no report that counts here, and every executor refuses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenflow.autonomic.analyze.local_events import EventNotification, Phase, Property
from evenflow.autonomic.analyze.qos_events import PLACE, QosEvent
from evenflow.autonomic.plan.planning import Place, Rule
from evenflow.domain.channels import SEPARATIONS, USES
from evenflow.qos.controller import Clustered, Controller, ControllerSettings, Decision
from evenflow.qos.loop.planner import QosPlanner, Wish
from evenflow.qos.loop.rate_view import RateView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from evenflow.autonomic.plan.planning import MakePlanner, Planner
    from evenflow.config import QosConfig
    from evenflow.model.messages import SeparationReport

PLANNER: Final = "qos"
LISTEN_S: Final = 1.0
"""How long it listens before it decides: what is in effect has to be known."""
RETRY_S: Final = 5.0
"""What was told and has no effect is told again after this time, at first."""
MOST_DOUBLINGS: Final = 4
"""How often that time doubles."""
PAUSE: Final = 5
"""Who has not decided for so many periods was no leader, and begins anew."""

NOTHING_YET: Final = Decision(0.0, overloaded=False, level=0, separation_s=0.0)


def settings_of(config: QosConfig) -> ControllerSettings:
    """The controller's settings, as they are configured."""
    return ControllerSettings(
        performance_ratio=config.performance_ratio,
        levels=config.levels,
        separation_most_s=config.separation_most_s,
        clustered=Clustered(config.clustered),
        forgetting=config.forgetting,
        resolution=config.resolution,
        fits=config.fits,
        holds=config.holds,
        margin=config.margin,
        calm_s=config.calm_s,
        returns=config.returns,
        tunes_ratio=config.tunes_ratio,
        tunes_levels=config.tunes_levels,
        tunes_separation=config.tunes_separation,
    )


@dataclass(slots=True)
class _Rate:
    """What is wanted of one topic."""

    controller: Controller
    decision: Decision = NOTHING_YET


class _Told(NamedTuple):
    """What a process was told of a topic."""

    separation_s: float
    tries: int
    """How often it was told anything since it obeyed last."""
    again_at: float
    """When it is told again, if it does not obey."""
    renew_at: float
    """When it is told again, if it does."""


class QosCompanion:
    """Keeps rates such that nothing overflows, beside a balancer of slices.

    Args:
        config: What the operator has set.
    """

    channels = (USES, SEPARATIONS)
    places: Mapping[str, Place] = {PLACE: Place(PLANNER)}
    rules = tuple(Rule(event.value, PLACE) for event in QosEvent)

    def __init__(self, config: QosConfig) -> None:
        self.view = RateView()
        self._config = config
        self._settings = settings_of(config)
        self._rates: dict[str, _Rate] = {}
        self._told: dict[tuple[str, str], _Told] = {}
        """By process and topic."""
        self._listening_until: float | None = None
        self._decided_at = -inf

    @property
    def planners(self) -> Mapping[str, MakePlanner]:
        """Who makes its planner."""
        return {PLANNER: lambda: QosPlanner(self)}

    # -- what is heard -----------------------------------------------------------------------------

    def handle(self, message: Any, now: float) -> None:
        """Take in what a process tells, or that one is not heard any more."""
        if self._listening_until is None:
            self._listening_until = now + LISTEN_S
        self.view.handle(message)

    # -- what is told ------------------------------------------------------------------------------

    def events(
        self,
        properties: Mapping[str, Mapping[str, float]],
        planner_at: Callable[[str], Planner],  # noqa: ARG002 - as all companions have it
        now: float,
    ) -> list[EventNotification]:
        """Decide when it is time; tell of every topic whose separation is not what is wanted."""
        if self._listening_until is None or now < self._listening_until:
            return []
        if now < self._decided_at + self._config.period_s:
            return []
        self._decide(now)
        topics = sorted({wish.topic for wish in self.outdated(properties, now)})
        return [self._event(topic, now) for topic in topics]

    def _decide(self, now: float) -> None:
        if now > self._decided_at + PAUSE * self._config.period_s:
            self._rates.clear()
            self._told.clear()
        self._decided_at = now
        topics = self.view.topics
        here = {(one.process, topic) for topic in topics for one in self.view.targets(topic)}
        self._told = {key: told for key, told in self._told.items() if key in here}
        for topic in [one for one in self._rates if one not in topics]:
            del self._rates[topic]
        for topic in topics:
            rate = self._rates.get(topic)
            if rate is None:
                rate = self._rates[topic] = _Rate(Controller(self._settings))
                in_effect = max(one.separation_s for one in self.view.targets(topic))
                rate.controller.resume(in_effect, now)
            rate.decision = rate.controller.observe(self.view.uses(topic), now)

    def _event(self, topic: str, now: float) -> EventNotification:
        rate = self._rates[topic]
        seen = {
            "performance": rate.decision.performance,
            "level": float(rate.decision.level),
            "separation_s": rate.decision.separation_s,
        }
        readings = tuple(Property(name, value, now) for name, value in seen.items())
        return EventNotification(QosEvent.DIFFERS.value, topic, readings, Phase.RAISED, now)

    def plan_failed(self, event_id: str, source_id: str, now: float) -> None:  # noqa: ARG002
        """A lease may not have been renewed: tell everybody soon who seems to obey."""
        if event_id in {event.value for event in QosEvent}:
            for key, told in self._told.items():
                self._told[key] = told._replace(renew_at=min(told.renew_at, now + RETRY_S))

    # -- what is wanted ----------------------------------------------------------------------------

    def outdated(self, properties: Mapping[str, object], now: float) -> list[Wish]:
        """What has to be told to processes that can be told."""
        found = []
        for topic, rate in self._rates.items():
            targets: dict[str, list[SeparationReport]] = {}
            for one in self.view.targets(topic):
                targets.setdefault(one.process, []).append(one)
            for process, those in sorted(targets.items()):
                if process in properties and self._has_to_be_told(process, topic, those, now):
                    wanted = rate.decision.separation_s
                    found.append(Wish(process, topic, wanted, self._config.lease_s))
        return found

    def told(self, wishes: Iterable[Wish], now: float) -> None:
        """This is being told."""
        for wish in wishes:
            key, lease_s = (wish.process, wish.topic), wish.lease_s
            tries = self._told[key].tries if key in self._told else 0
            again_s = RETRY_S * 2 ** min(tries, MOST_DOUBLINGS)
            self._told[key] = _Told(wish.separation_s, tries + 1, now + again_s, now + lease_s / 2)

    def _has_to_be_told(
        self, process: str, topic: str, targets: list[SeparationReport], now: float
    ) -> bool:
        wanted = self._rates[topic].decision.separation_s
        told = self._told.get((process, topic))
        if told is None:
            return wanted > 0.0 or not _obeyed(targets, wanted)
        if not _obeyed(targets, told.separation_s):
            return now >= told.again_at or (told.tries == 1 and told.separation_s != wanted)
        self._told[process, topic] = told._replace(tries=0)
        return not _obeyed(targets, wanted) or (wanted > 0.0 and now >= told.renew_at)

    def why(self, topic: str) -> str:
        """Why a topic has the separation that is wanted."""
        rate = self._rates.get(topic)
        if rate is None:
            return "it is thinned no more"
        decision = rate.decision
        level = (
            f"level {decision.level} of {self._settings.levels}" if decision.level else "no load"
        )
        return f"use {decision.performance:.0%}, {level}, separation {decision.separation_s:g} s"


def _obeyed(targets: Iterable[SeparationReport], separation_s: float) -> bool:
    """Whether a separation is in effect, as far as it may be."""
    return all(one.separation_s == min(separation_s, one.most_s) for one in targets)
