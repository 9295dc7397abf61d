"""The balancer process of a simulated cluster: its core, its autonomic loop, and its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evenflow.autonomic.execute.actions import START_NODE
from evenflow.autonomic.execute.executors import outcome_of
from evenflow.autonomic.knowledge.history import History
from evenflow.config import BalancerConfig, Config, HistoryConfig, TopicConfig
from evenflow.model.messages import SliceState
from evenflow.slices.balancer.autonomy import SliceAutonomy
from evenflow.slices.balancer.core import BalancerCore
from evenflow.slices.ending.bookkeeping import Books
from evenflow.slices.ending.records import decode_state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenflow.model.messages import ActionOrder, ActionOutcome
    from evenflow.slices.actions import Send
    from evenflow.slices.balancer.settings import BalancerSettings
    from evenflow.slices.node.core import NodeCore

WALL = 1_000.0
"""What the time of day is ahead of the clock."""


def by_number(topic: str, slice_count: int) -> Config:
    """A topic that is balanced by the number of slices, with a history that is kept in memory."""
    return Config(
        topics=(TopicConfig(topic, slices=slice_count),),
        balancer=BalancerConfig(algorithm="count", analyze_s=0.0),
        history=HistoryConfig(":memory:"),
    )


class SimStarter:
    """Starts and stops simulated nodes at once."""

    starting = ()

    def __init__(self, start: Callable[[], str], stop: Callable[[str], None]) -> None:
        self._start, self._stop = start, stop
        self._outcomes: list[ActionOutcome] = []

    def order(self, order: ActionOrder, now: float) -> None:  # noqa: ARG002
        """Do it."""
        if order.kind == START_NODE:
            self._start()
        else:
            self._stop(order.args.decode())
        self._outcomes.append(outcome_of(order, ok=True))

    def poll(self, now: float) -> list[ActionOutcome]:  # noqa: ARG002
        """What was done since the last call."""
        outcomes, self._outcomes = self._outcomes, []
        return outcomes


class SimBalancers:
    """Starts balancers of one topic, one after the other; their file outlives them."""

    def __init__(self, config: Config, settings: BalancerSettings) -> None:
        self.config, self.settings = config, settings
        self.history = History(Path(config.history.path))
        self.served = False
        self._disk: dict[str, bytes] = {}
        """What outlives a balancer."""

    def start(self, starter: SimStarter, now: float) -> tuple[BalancerCore, SliceAutonomy]:
        """A new balancer process."""
        topic = self.config.topics[0]
        core = BalancerCore(
            topic.name,
            topic.slices,
            self.settings,
            now,
            WALL + now,
            books=Books(decode_state(topic.name, *self._disk.values()), self.served),
        )
        cores = {topic.name: core}
        return core, SliceAutonomy(self.config, cores, self.history, starter, now, WALL + now)

    def save(self, core: BalancerCore, now: float) -> list[Send]:
        """Put on disk what has to be, and do what waited for it."""
        if not core.books.due(now):
            return []
        files = core.books.files(now)
        self._disk |= files
        core.books.on_saved(files, now)
        return core.poll(now)


def agrees(balancer: BalancerCore, nodes: Mapping[str, NodeCore]) -> bool:
    """Whether every slice is where the map says, and nobody who leaves has one."""
    places = {
        (held.slice, node, held.term, held.state)
        for node, core in nodes.items()
        for held in core.cache.held.values()
    }
    owners = zip(balancer.owners.of, balancer.owners.terms, strict=True)
    mapped = {(s, *owned, SliceState.AVAILABLE) for s, owned in enumerate(owners)}
    return places == mapped and not any(c.leaving and c.cache.held for c in nodes.values())


def turn(core: BalancerCore, autonomy: SliceAutonomy, event: object, now: float) -> list[Send]:
    """What a balancer does with a message, or when time passes."""
    actions = core.handle(event, now) if event is not None else []
    actions += core.poll(now)
    autonomy.poll(now)
    return actions + core.poll(now)
