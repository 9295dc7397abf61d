"""The balancer processes of a simulated cluster: core, autonomic loop, and the file they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evenflow.autonomic.execute.actions import START_NODE
from evenflow.autonomic.execute.executors import outcome_of
from evenflow.autonomic.knowledge.history import History
from evenflow.config import BalancerConfig, Config, HistoryConfig, TopicConfig
from evenflow.model.messages import MoveReply
from evenflow.slices.balancer.autonomy import SliceAutonomy
from evenflow.slices.balancer.core import BalancerCore
from evenflow.slices.balancer.membership.leadership import Leadership
from evenflow.slices.ending.bookkeeping import Books
from evenflow.slices.ending.fence import Claim, Fence, claim_after
from evenflow.slices.ending.records import decode_state
from evenflow.testing.invariants import Violation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from evenflow.config.spans import Keep
    from evenflow.model.messages import ActionOrder, ActionOutcome, Receipt
    from evenflow.slices.actions import Send
    from evenflow.slices.balancer.settings import BalancerSettings
    from evenflow.testing.network import Network, Parcel

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


@dataclass(slots=True)
class SimBalancer:
    """A balancer process, which may be stopped and continued."""

    name: str
    """Its address."""
    disk: int
    """Which disk it has."""
    core: BalancerCore
    autonomy: SliceAutonomy
    begin_loop: Callable[[float], SliceAutonomy]
    """Begins its autonomic loop anew, from the history."""
    stopped: bool = False
    inbox: list[Parcel] = field(default_factory=list)
    """What waits while the process is stopped."""
    fence: Fence = field(default_factory=Fence)
    _turn: int = 0

    @property
    def leads(self) -> bool:
        """Whether it leads, as it believes."""
        return self.core.leadership.leads

    def go_on(self) -> list[Parcel]:
        """Continue after a stop; return what was sent meanwhile."""
        self.stopped = False
        waiting, self.inbox = self.inbox, []
        return waiting

    def take_turn(self, event: object, now: float) -> list[Send]:
        """What it does with a message, or when time passes."""
        actions = self.core.handle(event, now) if event is not None else []
        actions += self.core.poll(now)
        if self._turn != self.core.leadership.turn:
            self._turn = self.core.leadership.turn
            self.autonomy = self.begin_loop(now)
        self.autonomy.poll(now)
        return actions + self.core.poll(now)


class SimBalancers:
    """Starts balancers of one topic; their files outlive them."""

    def __init__(self, config: Config, settings: BalancerSettings) -> None:
        self.config, self.settings = config, settings
        self.history = History(Path(config.history.path))
        self.served = False
        self.expires: float | None = None
        """Seconds after which a consumer that is not heard is released."""
        self.keep: Keep | None = None
        """What is kept beyond what is committed."""
        self.declared: tuple[str, ...] = ()
        """Consumers that the configuration names."""
        self.own_disks = False
        """Whether each balancer that runs has a disk of its own; else they share one."""
        self.full: set[int] = set()
        """The disks that take no more."""
        self.skew: Callable[[], float] = float
        """How far the wall clock of the next process is ahead, in seconds."""
        self._disks: defaultdict[int, dict[str, bytes]] = defaultdict(dict)
        """What outlives a balancer."""
        self._claims: dict[int, Claim] = {}
        """Who may write a disk."""
        self._held: dict[int, Claim] = {}
        """By balancer: its newest claim."""
        self._started = 0

    def _books(self, disk: int, leadership: Leadership) -> Books:
        if leadership.leads and disk not in self.full:
            claim = claim_after(self._claims.get(disk), leadership)
            self._claims[disk] = self._held[leadership.identity] = claim
        state = decode_state(self.config.topics[0].name, *self._disks[disk].values())
        return Books(state, self.served, self.declared, self.keep, self.expires)

    def start(self, starter: SimStarter, now: float, running: Collection[int]) -> SimBalancer:
        """A new balancer process.

        Args:
            starter: Starts and stops nodes.
            now: The time.
            running: The disks of those that run. When none does, it need not listen for others
                first.
        """
        disk = next(n for n in range(len(running) + 1) if n not in running or not self.own_disks)
        self._started += 1
        topic, settings = self.config.topics[0], self.settings
        ahead = WALL + self.skew()
        leadership = Leadership(
            now,
            ahead + now,
            identity=self._started,
            quiet=settings.quiet,
            stall=settings.stall,
            alone=not running,
        )
        core = BalancerCore(
            topic.name,
            topic.slices,
            settings,
            now,
            ahead + now,
            leadership=leadership,
            layout=topic.layout,
            books=partial(self._books, disk, leadership),
        )

        def begin_loop(now: float) -> SliceAutonomy:
            cores = {topic.name: core}
            return SliceAutonomy(self.config, cores, self.history, starter, now, ahead + now)

        name = f"balancer-{self._started}"
        return SimBalancer(name, disk, core, begin_loop(now), begin_loop, _turn=leadership.turn)

    def save(self, process: SimBalancer, now: float) -> list[Send]:
        """Put on disk what has to be, and do what waited for it."""
        core, leadership = process.core, process.core.leadership
        if not leadership.leads or process.disk in self.full:
            return []
        claim = self._claims.get(process.disk)
        held = claim is not None and claim == self._held.get(leadership.identity)
        if process.fence.look(now, held=held):
            leadership.claim_anew("another balancer claimed its disk", now)
            return core.poll(now)
        if not held or not core.books.due(now):
            return []
        files = core.books.files(now)
        self._disks[process.disk] |= files
        core.books.on_saved(files, now)
        return core.poll(now)


class BalancerHost(ABC):
    """The balancer processes of a cluster, and their life.

    Args:
        balancers: Starts them.
    """

    now: float
    network: Network

    def __init__(self, balancers: SimBalancers) -> None:
        self.balancers = balancers
        self.running: dict[str, SimBalancer] = {}
        """The balancer processes, by their addresses."""
        self.receipts: list[Receipt] = []
        self.replies: list[MoveReply] = []

    @abstractmethod
    def start_node(self) -> str:
        """A new node process, as an elastic planner asks for."""

    @abstractmethod
    def kill_node(self, node: str) -> None:
        """End a node process."""

    def start_balancer(self) -> str:
        """A new balancer process, beside others if there are any; returns its address."""
        starter = SimStarter(self.start_node, self.kill_node)
        disks = [each.disk for each in self.running.values()]
        started = self.balancers.start(starter, self.now, disks)
        self.running[started.name] = started
        return started.name

    def note_result(self, message: Receipt | MoveReply, actor: str) -> None:
        """Remember what came of a move or of the request for one."""
        if isinstance(message, MoveReply):
            self.replies.append(message)
            return
        self.receipts.append(message)
        if actor in self.running:
            self.running[actor].autonomy.on_receipt(message)
        if message.repeated:
            raise Violation(f"a move repeated items: {message}")

    def kill_balancer(self, name: str = "") -> None:
        """``kill -9``, of one or of all; who talks to it is not heard."""
        for each in [name] if name else list(self.running):
            del self.running[each]

    def stop_balancer(self, name: str) -> None:
        """``kill -STOP``."""
        self.running[name].stopped = True

    def continue_balancer(self, name: str) -> None:
        """``kill -CONT``: it finds in its inbox what was sent meanwhile, and that time has gone."""
        for parcel in self.running[name].go_on():
            self.network.post(parcel)

    @property
    def leaders(self) -> list[SimBalancer]:
        """The balancers that lead, as they believe."""
        return [each for each in self.running.values() if each.leads]

    @property
    def balancer(self) -> BalancerCore | None:
        """The balancer, of several the one that leads; None when there is none."""
        return next((each.core for each in (*self.leaders, *self.running.values())), None)

    @property
    def autonomy(self) -> SliceAutonomy | None:
        """Its autonomic loop."""
        return next((each.autonomy for each in (*self.leaders, *self.running.values())), None)
