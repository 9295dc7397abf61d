"""The fleet's whole job on this machine: balancer, nodes, gateways, bridges, vehicles, Spark.

Everything starts at once: Spark takes longest, and what the vehicles report until it is there
waits at the nodes. Vehicles are mobile nodes, at two gateways; thermometers of the depots are
devices, at two bridges. The job ends in order
(:meth:`LocalFleet.park`, :meth:`LocalFleet.settled`, :meth:`LocalFleet.end`), or at once by leaving
the ``with`` block; either way no process stays behind.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evenflow.domain.cyclone import Participant
from evenflow.fleet.commits import Commits
from evenflow.fleet.edge import LocalEdge, send_answers, with_edge
from evenflow.fleet.radios import Radios
from evenflow.fleet.rules import ANSWERS
from evenflow.fleet.thermometers import Thermometers, start_bridges
from evenflow.fleet.traffic import Traffic
from evenflow.fleet.vehicles import Fleet
from evenflow.mobile.messenger.messenger import Messenger
from evenflow.processes import LocalCluster
from evenflow.slices.node.node import Node
from evenflow.spark.process import SparkProcess

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evenflow.config import Config
    from evenflow.fleet.vehicles import FleetBooks

QUERIES: Final = ("alerts", "table")
DISPATCH: Final = "dispatch"
"""The node that sends the vehicles their answers."""
VEHICLES: Final = "vehicle-*"


@dataclass(frozen=True, slots=True)
class Numbers:
    """How many of everything."""

    nodes: int = 3
    vehicles: int = 200
    rate: float = 2.0
    """Reports of each vehicle a second."""
    troubles: float = 20.0
    """Troubles of the whole fleet a minute."""
    cores: int = 2
    """Spark's tasks at the same time."""
    skew: int = 1
    """One vehicle in twenty reports this many times as often as the others."""
    devices: int = 50
    """Thermometers at the bridges."""


@dataclass(frozen=True, slots=True)
class QueryState:
    """The newest micro-batch of a query."""

    batch: int
    rows: int
    ms: int


@dataclass(frozen=True, slots=True)
class Books:
    """How it went, from what came out at the ends."""

    fleet: FleetBooks
    published: int
    committed: int
    rows: int
    """Reports in the table that Spark keeps."""
    distinct: int
    """Different reports among them."""

    @property
    def lost(self) -> int:
        """Reports that are not in Spark's table."""
        return self.published - self.distinct

    @property
    def repeated(self) -> int:
        """Reports that are in it more than once."""
        return self.rows - self.distinct


class LocalFleet:
    """The running job."""

    def __init__(self, config: Config, topic: str, numbers: Numbers, folder: Path) -> None:
        self.topic = topic
        self.numbers = numbers
        self.phase = ""
        """What Spark's start has come to."""
        self.queries: dict[str, QueryState] = {}
        self.table: dict[str, Any] = {}
        """The table of the fleet in numbers, as Spark last counted it."""
        self._cleanup = contextlib.ExitStack()
        with self._cleanup:
            self._start(config, folder)
            self._cleanup = self._cleanup.pop_all()

    def _start(self, config: Config, folder: Path) -> None:
        enter = self._cleanup.enter_context
        config = with_edge(config, self.topic, folder)
        file = folder / "evenflow.toml"
        file.write_text(config.as_toml(), encoding="utf-8")
        self._cluster = enter(LocalCluster(config, log_dir=folder))
        self._cluster.start_balancer()
        for number in range(1, self.numbers.nodes + 1):
            name = f"node-{number}"
            self._cluster.start(name, ["node", "--serve", "--topic", self.topic, "--name", name])
        edge = LocalEdge(self._cluster, config, self.topic, VEHICLES)
        group = start_bridges(self._cluster)
        self.spark = enter(
            SparkProcess(
                "evenflow.fleet.job",
                "--config", str(file),
                "--topic", self.topic,
                "--folder", str(folder),
                "--cores", str(self.numbers.cores),
                log=folder / "spark.log",
            )
        )  # fmt: skip
        self.participant = enter(Participant(config.domain))
        self._commits = Commits(self.participant, self.topic)
        self._start_traffic(config, edge)
        self.thermometers = enter(Thermometers(self.numbers.devices, group))

    def _start_traffic(self, config: Config, edge: LocalEdge) -> None:
        """Let the vehicles drive, report and hear."""
        enter, numbers = self._cleanup.enter_context, self.numbers
        fleet = Fleet(numbers.vehicles, numbers.rate)
        self.radios = Radios(
            fleet.names, edge.addresses, self.topic,
            token=edge.token, trust=edge.trust, on_answer=self._hear,
        )  # fmt: skip
        self.traffic = Traffic(
            fleet, self.radios.publish, numbers.rate, numbers.troubles, numbers.skew
        )
        self._cleanup.callback(self.traffic.park)
        enter(self.radios)  # ends first: it releases a traffic that is blocked
        messenger = enter(Messenger(DISPATCH, config=config, participant=self.participant))
        enter(
            Node(
                ANSWERS, lambda batch: send_answers(batch, messenger),
                name=DISPATCH, config=config, participant=self.participant,
            )
        )  # fmt: skip

    def _hear(self, vehicle: str, told: Mapping[str, Any], now: int) -> None:
        self.traffic.answer(vehicle, told, now)

    # -- while it runs ----------------------------------------------------------------------------

    def look(self) -> None:
        """Take in what Spark has said; raise what went wrong."""
        self.traffic.check()
        self._cluster.check()
        for said in self.spark.hear():
            if "phase" in said:
                self.phase = said["phase"]
            elif "batch" in said:
                self.queries[said["query"]] = QueryState(said["batch"], said["rows"], said["ms"])
            elif "table" in said:
                self.table = said["table"]
        if self.ready:
            self.traffic.begin_trouble()

    @property
    def ready(self) -> bool:
        """Whether every query has its first results."""
        return len(self.queries) == len(QUERIES)

    @property
    def published(self) -> int:
        """Reports published so far."""
        return self.radios.published

    @property
    def uncommitted(self) -> int:
        """Reports that Spark has not committed."""
        return self.radios.published - self._commits.items

    # -- its end ----------------------------------------------------------------------------------

    def park(self) -> None:
        """Let the vehicles report no more."""
        self.traffic.park()

    def settled(self) -> bool:
        """Whether all is committed, and every trouble that should be found is."""
        books = self.traffic.books()
        return self.uncommitted == 0 and books.found == books.planted

    def end(self) -> Books:
        """End Spark and count."""
        committed = self._commits.items
        summary = self.spark.end()
        return Books(
            self.traffic.books(),
            self.radios.published,
            committed,
            summary["reports"],
            summary["distinct"],
        )

    def __enter__(self) -> LocalFleet:
        return self

    def __exit__(self, *cause: Any) -> None:
        self._cleanup.__exit__(*cause)
