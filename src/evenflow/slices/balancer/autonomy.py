"""The autonomic loop of a balancer of slices: who plans, who executes, when loads are looked at.

Puts the parts together for the topics of one balancer process. Besides what nodes tell, the
balancer watches one condition itself: every ``balancer.analyze_s`` it asks each topic's planner
what it would do. When it would move something twice in a row, so not for a short peak, the event
``imbalance-TOPIC`` is raised with the loads that were seen, and the rule every topic has for it
leads to a plan. A topic whose planner is ``count`` is left alone: numbers of slices change only
with the nodes, and then the balancer acts at once; what an operator has moved by hand stays. Nor is
a topic looked at that has no load at all, or whose loads are not known yet: a silent hour is no
reason to move what was even before it.
"""

from __future__ import annotations

from math import isfinite
from statistics import fmean
from typing import TYPE_CHECKING

from evenflow.autonomic.design import design, imbalance_of
from evenflow.autonomic.elastic import Elastic, Fleet, Limits
from evenflow.autonomic.events import EventNotification, Phase, Property
from evenflow.autonomic.history import History
from evenflow.autonomic.loop import AutonomicLoop
from evenflow.autonomic.node_starter import EXECUTOR, NodeStarter
from evenflow.autonomic.planner import PlanningService
from evenflow.balance import ALGORITHMS
from evenflow.domain.channels import Gone
from evenflow.errors import ConfigError, did_you_mean
from evenflow.model.messages import EventNotice, NodeReport, PropertyReport
from evenflow.slices.balancer.deeds import deed_of, remember_moves
from evenflow.slices.balancer.mover import SliceMover
from evenflow.slices.balancer.planner import SlicePlanner, slice_planners

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenflow.autonomic.planner import Planner
    from evenflow.config import Config
    from evenflow.model.messages import Receipt
    from evenflow.slices.balancer.core import BalancerCore

ELASTIC = "elastic"
BY_NUMBER = "count"
"""The planner that looks at nothing but how many slices there are."""
MEASURED_WITHIN_S = 10.0
"""After so long what is not known of loads is not waited for."""
MEMORY_S = 3_600.0
MOST_DEEDS = 10_000
"""How far back, and over how many moves, a new balancer looks for when slices moved."""
LOOKS = 2
"""So many uneven looks in a row are an event."""


class SliceLoop:
    """The loop of one balancer process.

    Raises:
        ConfigError: The operator's tables are faulty, or the history cannot be opened.
    """

    def __init__(
        self, config: Config, cores: Mapping[str, BalancerCore], now: float, wall: float
    ) -> None:
        plan = design(config)
        self._cores = cores
        self._every = config.balancer.analyze_s
        self._next_look = now + self._every
        self._uneven = dict.fromkeys(cores, 0)
        self._raised: set[str] = set()
        self._now = now
        self._run = f"{int(wall * 1000):x}"
        self._starter = NodeStarter(config, self._nodes)
        planning = PlanningService(plan.rules, plan.places, self._planners(config))
        kept = config.history
        self._history = History(config.history_file, keep=kept.keep, keep_octets=kept.keep_bytes)
        self._offset = wall - now
        movers = {topic: SliceMover(core) for topic, core in cores.items()}
        self.loop = AutonomicLoop(
            plan.composite(),
            planning,
            self._history,
            {**movers, EXECUTOR: self._starter},
            offset=wall - now,
        )
        self._begun, self._begun_at = False, now
        self._share_algorithms()

    def handle(self, message: PropertyReport | EventNotice | Gone, now: float) -> None:
        """Take in what a process tells of itself."""
        self._now = now
        if isinstance(message, EventNotice):
            self.loop.notified(message, now)
        elif isinstance(message, PropertyReport):
            rows = zip(message.names, message.values, strict=True)
            values = {name: value for name, value in rows if isfinite(value)}
            self.loop.reported(message.source, values, now)
        elif message.message_type is PropertyReport:
            self.loop.gone(message.key[0], now)

    def poll(self, now: float) -> None:
        """Do what is due; call it often."""
        self._now = now
        if not self._begun and all(core.settled for core in self._cores.values()):
            self._begun, self._begun_at = True, now
            self._remember(now)
            self.loop.begin(now)
        self.loop.poll(now)
        self._share_algorithms()
        if self._every and now >= self._next_look and self.loop.idle:
            self._next_look = now + self._every
            for topic in self._cores:
                self._look_at(topic, now)
            self.loop.reconsider(now)

    def moved(self, receipt: Receipt) -> None:
        """A move is over, whoever wanted it: it goes to the history."""
        self._history.add_deed(deed_of(receipt))

    def _remember(self, now: float) -> None:
        deeds = self._history.deeds(limit=MOST_DEEDS, since=now + self._offset - MEMORY_S)
        for topic, core in self._cores.items():
            remember_moves(deeds, topic, core.owners, self._offset)

    def close(self) -> None:
        """Close the history."""
        self._history.close()
        self._starter.close()

    def _share_algorithms(self) -> None:
        """Who plans a topic's slices when loads are uneven also plans when nodes come and go."""
        for topic, core in self._cores.items():
            planner = self.loop.planning.at(topic)
            if isinstance(planner, SlicePlanner):
                core.algorithm = planner.algorithm

    # -- analysis -------------------------------------------------------------------------------

    def _look_at(self, topic: str, now: float) -> None:
        planning = self.loop.planning
        event = EventNotification(imbalance_of(topic), topic, (), Phase.RAISED, now)
        counts = planning.places[topic].planner == BY_NUMBER
        if counts or not self._has_load(topic, now) or not planning.consult(topic, event, now):
            self._uneven[topic] = 0
            if topic in self._raised:
                self._raised.discard(topic)
                self._raise(topic, Phase.CLEARED, now)
            return
        self._uneven[topic] += 1
        if self._uneven[topic] >= LOOKS:
            self._uneven[topic] = 0
            self._raised.add(topic)
            self._raise(topic, Phase.RAISED, now)

    def _has_load(self, topic: str, now: float) -> bool:
        """Whether there is load, and it is known of all slices (or never will be)."""
        core = self._cores[topic]
        owned = [slice_id for slice_id, owner in enumerate(core.owners.of) if owner]
        known = now - self._begun_at > MEASURED_WITHIN_S or all(map(core.loads.knows, owned))
        return known and any(map(core.loads.of, owned))

    def _raise(self, topic: str, phase: Phase, now: float) -> None:
        loads = self._cores[topic].snapshot(now).loads()
        seen = {f"load {node}": load for node, load in sorted(loads.items())}
        mean = fmean(loads.values()) if loads else 0.0
        seen["max_over_mean"] = max(loads.values()) / mean if mean else 0.0
        properties = tuple(Property(name, value, now) for name, value in seen.items())
        self.loop.raise_event(EventNotification(imbalance_of(topic), topic, properties, phase, now))

    # -- planners -------------------------------------------------------------------------------

    def _planners(self, config: Config) -> dict[str, Callable[..., Planner]]:
        topics = {topic: self._makers(topic, core) for topic, core in self._cores.items()}

        def maker(algorithm: str) -> Callable[..., Planner]:
            def make(*, topic: str = "", **settings: float) -> Planner:
                return topics[self._topic(topic)][algorithm](**settings)

            return make

        return {
            **{name: maker(name) for name in ALGORITHMS},
            ELASTIC: lambda **settings: self._elastic(config, **settings),
        }

    def _makers(self, topic: str, core: BalancerCore) -> Mapping[str, Callable[..., Planner]]:
        return slice_planners(lambda: core.snapshot(self._now), topic, f"{topic}-{self._run}")

    def _elastic(
        self,
        config: Config,
        *,
        grow_on: str,
        shrink_on: str = "",
        topic: str = "",
        least: float = 1,
        most: float = 8,
        cooldown_s: float = 60.0,
        deadline_s: float = 60.0,
    ) -> Elastic:
        if not (config.elastic.start or config.node.app):
            raise ConfigError(
                "elastic.start",
                [],
                "say how a node is started, or name its application in node.app",
            )
        name = self._topic(topic)
        limits = Limits(int(least), int(most), cooldown_s)
        return Elastic(
            lambda: self._fleet(name), limits, grow_on, shrink_on, EXECUTOR, self._run, deadline_s
        )

    def _topic(self, topic: str) -> str:
        name = topic or next(iter(self._cores))
        if name not in self._cores:
            hint = did_you_mean(name, self._cores)
            raise ConfigError("planners.topic", name, f"no such topic{hint}")
        return name

    def _fleet(self, topic: str) -> Fleet:
        core = self._cores[topic]
        snapshot = core.snapshot(self._now)
        held, loads = snapshot.holdings(), snapshot.loads()
        staying = [node.name for node in snapshot.active]
        staying.sort(key=lambda node: (bool(held[node]), loads[node], len(held[node]), node))
        idle = frozenset(node for node in staying if not held[node])
        return Fleet(tuple(staying), len(self._starter.starting), idle)

    def _nodes(self) -> dict[str, NodeReport]:
        return {
            node: report for core in self._cores.values() for node, report in core.nodes.items()
        }
