"""The autonomic loop of a balancer of slices: who plans, who executes, what is an event.

Puts the parts together for the topics of one balancer process. Besides what processes tell, the
balancer raises events of its own (:mod:`evenflow.autonomic.analyze.balancer_events`): nodes that
join, leave or die and plans that failed (:mod:`evenflow.slices.balancer.changes`), at once; and
uneven loads (:mod:`evenflow.slices.balancer.imbalance`), every ``balancer.analyze_s``. All of them
lead to plans the same way, by the rules that every topic has.
"""

from __future__ import annotations

import logging
from math import isfinite
from typing import TYPE_CHECKING, Protocol

from evenflow.autonomic.analyze.balancer_events import MEMBERSHIP, BalancerEvent
from evenflow.autonomic.analyze.local_events import EventNotification, Phase, Property
from evenflow.autonomic.design import design
from evenflow.autonomic.execute.executors import Executor
from evenflow.autonomic.execute.states import PlanState
from evenflow.autonomic.knowledge.knowledge import Knowledge
from evenflow.autonomic.loop import AutonomicLoop
from evenflow.autonomic.plan.elastic import Elastic, Fleet, Limits
from evenflow.autonomic.plan.planning import PlanningService
from evenflow.balance import ALGORITHMS, algorithm_named
from evenflow.domain.channels import Gone
from evenflow.errors import ConfigError, did_you_mean
from evenflow.model.messages import ActionOutcome, EventNotice, PropertyReport
from evenflow.registry import Registry
from evenflow.slices.balancer.deeds import deed_of, remember_moves
from evenflow.slices.balancer.imbalance import ImbalanceWatch, seen
from evenflow.slices.balancer.mover import SliceMover
from evenflow.slices.balancer.planner import SlicePlanner, mover_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenflow.autonomic.companion import Companion
    from evenflow.autonomic.knowledge.history import History
    from evenflow.autonomic.plan.planning import Planner
    from evenflow.config import Config
    from evenflow.model.messages import ActionOrder, Receipt
    from evenflow.model.snapshot import LoadSnapshot
    from evenflow.slices.balancer.changes import Change
    from evenflow.slices.balancer.core import BalancerCore

_LOG = logging.getLogger(__name__)

ELASTIC = "elastic"
STARTER = "nodes"
"""Who starts and stops nodes, as plans name it."""
BY_NUMBER = "count"
"""The planner that looks at nothing but how many slices there are."""
LAST_PLANS = 20
"""Among how many plans a new balancer looks for the last one that a change called for."""
MEMORY_S = 3_600.0
MOST_DEEDS = 10_000
"""How far back, and over how many moves, a new balancer looks for when slices moved."""


class Starter(Executor, Protocol):
    """Starts and stops nodes, as executor of the elastic planner's actions."""

    @property
    def starting(self) -> tuple[str, ...]:
        """Names of nodes that are being started."""
        ...


class SliceAutonomy:
    """The loop of one balancer process.

    Raises:
        ConfigError: The operator's tables are faulty.
    """

    def __init__(
        self,
        config: Config,
        cores: Mapping[str, BalancerCore],
        history: History,
        starter: Starter,
        now: float,
        wall: float,
        companions: Sequence[Companion] = (),
    ) -> None:
        plan = design(config, companions)
        self._companions = companions
        self._config = config
        self._cores = cores
        self._history = history
        self._every = config.balancer.analyze_s
        self._next_look = now + self._every
        self._offset = wall - now
        self._begun_at: float | None = None
        self._starter = starter
        gain = config.balancer.least_gain
        self._watches = {topic: ImbalanceWatch(core, gain) for topic, core in cores.items()}
        planning = PlanningService(
            plan.rules, plan.places, self._planners(), self._knowledge, run=f"{int(wall * 1000):x}"
        )
        executors: dict[str, Executor] = {STARTER: self._starter}
        executors |= {mover_of(topic): SliceMover(core) for topic, core in cores.items()}
        self.loop = AutonomicLoop(
            plan.composite(), planning, history, executors, offset=self._offset
        )

    def handle(
        self, message: PropertyReport | EventNotice | ActionOutcome | Gone, now: float
    ) -> None:
        """Take in what a process tells of itself."""
        match message:
            case EventNotice():
                self.loop.notified(message, now)
            case PropertyReport():
                rows = zip(message.names, message.values, strict=True)
                values = {name: value for name, value in rows if isfinite(value)}
                self.loop.reported(message.source, values, now)
            case ActionOutcome():
                self.loop.answered(message, now)
            case Gone() if message.message_type is PropertyReport:
                self.loop.gone(message.key[0], now)

    def poll(self, now: float) -> list[ActionOrder]:
        """Do what is due; returns what to order in other processes. Call it after the cores'."""
        if self._begun_at is None and all(core.settled for core in self._cores.values()):
            self._begin(now)
        for topic, core in self._cores.items():
            for change in core.changes(now):
                self._tell(topic, change, now)
        if self._begun_at is not None:
            self._ask_companions(now)
        self.loop.poll(now)
        for event_id, source in self.loop.failed():
            self._plan_failed(event_id, source, now)
        if self._every and now >= self._next_look and self.loop.idle:
            self._next_look = now + self._every
            for topic in self._cores:
                self._look_at(topic, now)
            self.loop.reconsider(now)
        return self.loop.orders()

    def _ask_companions(self, now: float) -> None:
        """Raise the events of whatever else hangs on this loop."""
        for companion in self._companions:
            for event in companion.events(self.loop.properties, self.loop.planning.at, now):
                self.loop.raise_event(event)

    def on_receipt(self, receipt: Receipt) -> None:
        """A move is over, whoever wanted it: it goes to the history."""
        self._history.add_deed(deed_of(receipt))

    def _begin(self, now: float) -> None:
        """The nodes are known: learn when slices last moved, and go on where the history ends."""
        self._begun_at = now
        deeds = self._history.deeds(limit=MOST_DEEDS, since=now + self._offset - MEMORY_S)
        for topic, core in self._cores.items():
            remember_moves(deeds, topic, core.owners, self._offset, now)
            self._take_up(topic, now)
        self.loop.begin(now)

    def _take_up(self, topic: str, now: float) -> None:
        """A former balancer's last plan for a change that failed would have been made again."""
        events = {event.of(topic) for event in MEMBERSHIP}
        for story in self._history.stories(limit=LAST_PLANS):
            if story.plan.event_id in events:
                if story.outcome in (PlanState.ROLLED_BACK, PlanState.BROKEN):
                    self._plan_failed(story.plan.event_id, story.plan.source_id, now)
                return

    # -- events of the balancer's own -----------------------------------------------------------

    def _tell(self, topic: str, change: Change, now: float) -> None:
        core = self._cores[topic]
        if change.event is BalancerEvent.NODE_JOINED and len(core.nodes) > core.slice_count:
            _LOG.warning(
                "topic %s has %d slices for %d nodes: some have nothing to do; raise"
                " topics.%s.slices in all processes, or stop some",
                topic, core.slice_count, len(core.nodes), topic,
            )  # fmt: skip
        self.loop.raise_event(
            EventNotification(
                change.event.of(topic), change.node or topic, (), Phase.RAISED, now, change.why
            )
        )

    def _plan_failed(self, event_id: str, source: str, now: float) -> None:
        """Who joined or left still has to be planned for; loads are looked at again anyway."""
        for companion in self._companions:
            companion.plan_failed(event_id, source, now)
        for topic, core in self._cores.items():
            if event_id in {event.of(topic) for event in MEMBERSHIP}:
                joined = BalancerEvent.NODE_JOINED.is_id(event_id)
                core.plan_failed(source if joined else "", now)

    def _look_at(self, topic: str, now: float) -> None:
        planning, watch = self.loop.planning, self._watches[topic]
        if planning.places[topic].planner == BY_NUMBER or self._begun_at is None:
            return
        snapshot = self._cores[topic].snapshot(now)
        event_id = BalancerEvent.IMBALANCE.of(topic)
        readings = tuple(Property(name, value, now) for name, value in seen(snapshot).items())
        event = EventNotification(event_id, topic, readings, Phase.RAISED, now)
        look = watch.worth_a_look(snapshot, self._begun_at)
        phase = watch.look(planning.consult(topic, event, now) if look else None, snapshot)
        if phase is not None:
            self.loop.raise_event(EventNotification(event_id, topic, readings, phase, now))

    # -- planners -------------------------------------------------------------------------------

    def _knowledge(self, event: EventNotification, now: float) -> Knowledge:
        known = Registry("topic", self._cores)

        def snapshot_of(topic: str) -> LoadSnapshot:
            return known.get(topic).snapshot(now)

        term = next(iter(self._cores.values())).leadership.terms.first
        return Knowledge(event, now, self.loop.properties, snapshot_of, self._history, term)

    def _planners(self) -> dict[str, Callable[..., Planner]]:
        def maker(name: str) -> Callable[..., Planner]:
            def make(*, topic: str = "", **settings: float) -> Planner:
                return SlicePlanner(algorithm_named(name, **settings), self._topic(topic))

            return make

        own = {**{name: maker(name) for name in ALGORITHMS}, ELASTIC: self._elastic}
        for companion in self._companions:
            own |= companion.planners
        return own

    def _elastic(
        self,
        *,
        grow_on: str,
        shrink_on: str = "",
        topic: str = "",
        least: float = 1,
        most: float = 8,
        cooldown_s: float = 60.0,
        deadline_s: float = 60.0,
    ) -> Elastic:
        if not (self._config.elastic.start or self._config.node.app):
            raise ConfigError(
                "elastic.start",
                [],
                "say how a node is started, or name its application in node.app",
            )
        name = self._topic(topic)
        limits = Limits(int(least), int(most), cooldown_s)
        return Elastic(
            lambda now: self._fleet(name, now), limits, grow_on, shrink_on, STARTER, deadline_s
        )

    def _topic(self, topic: str) -> str:
        name = topic or next(iter(self._cores))
        if name not in self._cores:
            hint = did_you_mean(name, self._cores)
            raise ConfigError("planners.topic", name, f"no such topic{hint}")
        return name

    def _fleet(self, topic: str, now: float) -> Fleet:
        snapshot = self._cores[topic].snapshot(now)
        held, loads = snapshot.holdings(), snapshot.loads()
        staying = [node.name for node in snapshot.active]
        staying.sort(key=lambda node: (bool(held[node]), loads[node], len(held[node]), node))
        idle = frozenset(node for node in staying if not held[node])
        return Fleet(tuple(staying), len(self._starter.starting), idle)
