"""Who takes part, on which host, with which command.

Every process has a host, a folder and a configuration file of its own, all under its name:

==================  ===============================================================================
``publisher-N``     numbered items into both topics; ``publisher-2`` has an outbox, on a small disk
``worker-N``        nodes of the application topic
``server-N``        nodes of the served topic
``balancer-N``      one leads, one stands by, each on a small disk
``spark``           the served topic into Parquet
``follower``        the served topic by ``evenflow.follow``
``broker-N``        the overlay store, each on a small disk
``client``          numbered messages into the store
==================  ===============================================================================
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evenflow.slices.publisher.publisher import Publisher
from evenflow_experiments.faults import publishing, querying, recording, storing
from evenflow_experiments.faults.hosts import CABLE
from evenflow_experiments.faults.kinds import Member, Role

if TYPE_CHECKING:
    from collections.abc import Mapping

APPLIED, SERVED = "items", "served"
"""The topics: processed by applications, and read by consumers."""
SLICES: Final = 24
RATE: Final = 60.0
"""Items a second of each publisher and topic."""
STORE_TOPICS: Final = 6
STORE_RATE: Final = 10.0
"""Messages a second to each topic of the store."""
FIRST_STORED: Final = 100
"""Number of the first stream of the store."""
BROKER_PORT: Final = 7_400
DISK_BYTES: Final = 64 << 20
SILENCE_S: Final = 8.0
"""A publisher that nobody hears for so long is cut: less than many faults last."""
CONFIG: Final = "evenflow.toml"


@dataclass(frozen=True, slots=True)
class Scale:
    """How many of each."""

    publishers: int = 2
    workers: int = 3
    servers: int = 3
    balancers: int = 2
    brokers: int = 6
    spark: bool = True
    follower: bool = True

    def names(self) -> list[str]:
        """All hosts."""
        numbered = (
            ("publisher", self.publishers), ("worker", self.workers), ("server", self.servers),
            ("balancer", self.balancers), ("broker", self.brokers),
        )  # fmt: skip
        names = [f"{name}-{n}" for name, count in numbered for n in range(1, count + 1)]
        single = {"spark": self.spark, "follower": self.follower, "client": self.brokers > 0}
        return [*names, *(name for name, there in single.items() if there)]


@dataclass(frozen=True, slots=True)
class Part:
    """A member with its program."""

    member: Member
    command: list[str]
    again: list[str] = field(default_factory=list)
    """More words whenever it is started again."""
    env: Mapping[str, str] = field(default_factory=dict)
    disk: Path | None = None
    """A folder that is a small disk."""


def has_outbox() -> bool:
    """Whether publishers of this version can have an outbox."""
    return "outbox" in inspect.signature(Publisher.__init__).parameters


def configuration() -> str:
    """The configuration of the domain."""
    return (
        f'[domain]\nid = 1\ninterface = "{CABLE}"\n\n'
        f'[topics.{APPLIED}]\nslices = {SLICES}\nassignment = "modulo:id"\n\n'
        f'[topics.{SERVED}]\nslices = {SLICES}\nassignment = "modulo:id"\nserved = true\n\n'
        f"[node]\nwriter_silence_s = {SILENCE_S:g}\n"
    )


class Casting:
    """Makes the parts.

    Args:
        scale: How many.
        addresses: Of the hosts.
        folder: For everything; ``books`` in it is where all books are.
    """

    def __init__(self, scale: Scale, addresses: Mapping[str, str], folder: Path) -> None:
        self._folder = folder
        self._names = list(addresses)
        self.books = folder / "books"
        self.streams: dict[int, tuple[str, str]] = {}
        """Publisher and topic of each stream."""
        self.stored: dict[int, str] = {}
        """The store's topics."""
        if scale.brokers:
            self.stored = {FIRST_STORED + n: f"topic-{n}" for n in range(STORE_TOPICS)}
        self._brokers = {
            name: f"{address}:{BROKER_PORT}"
            for name, address in addresses.items()
            if name.startswith("broker-")
        }
        makers = {
            "publisher": self._publisher, "worker": self._worker, "server": self._server,
            "balancer": self._balancer, "broker": self._broker, "spark": self._spark,
            "follower": self._follower, "client": self._client,
        }  # fmt: skip
        self.parts = {name: makers[name.partition("-")[0]](name) for name in self._names}

    def storing(self, what: str) -> list[str]:
        """The command of the store's client."""
        topics = [f"{topic}={number}" for number, topic in self.stored.items()]
        brokers = ",".join(self._brokers.values())
        words = [str(self.books), what, brokers, str(STORE_RATE), *topics]
        return [sys.executable, "-m", storing.__name__, *words]

    def log(self, name: str) -> Path:
        """Where what a member prints goes."""
        return self._folder / name / "log"

    def consumers(self, name: str) -> list[str]:
        """The command that lists the consumers, for a member's host."""
        return self._evenflow(name, "consumers", "--topic", SERVED, "--json")

    # -- one method for each role -----------------------------------------------------------------

    def _publisher(self, name: str) -> Part:
        outbox = None
        if has_outbox() and name == "publisher-2":
            outbox = self._folder / name / "outbox"
        topics = []
        for topic in (APPLIED, SERVED):
            number = len(self.streams) + 1
            if self._of("worker" if topic == APPLIED else "server"):
                self.streams[number] = (name, topic)
                topics.append(f"{topic}={number}")
        member = Member(
            name, Role.PUBLISHER, self._of("worker", "server", "balancer"),
            clock=True, disk=outbox is not None,
        )  # fmt: skip
        words = [self._config(name), str(self.books), str(outbox or publishing.NONE), str(RATE)]
        return Part(
            member, [sys.executable, "-m", publishing.__name__, *words, *topics], disk=outbox
        )

    def _worker(self, name: str) -> Part:
        member = Member(name, Role.NODE, self._of("worker", "balancer") - {name}, clock=True)
        env = {recording.VARIABLE: str(self.books / f"{name}.record")}
        words = ["node", "--name", name, "--topic", APPLIED, "--app", recording.APP]
        return Part(member, self._evenflow(name, *words), env=env)

    def _server(self, name: str) -> Part:
        member = Member(name, Role.NODE, self._of("server", "balancer") - {name}, clock=True)
        return Part(
            member, self._evenflow(name, "node", "--serve", "--name", name, "--topic", SERVED)
        )

    def _balancer(self, name: str) -> Part:
        disk = self._folder / name / "state"
        member = Member(name, Role.BALANCER, self._of("balancer") - {name}, clock=True, disk=True)
        kept = {"balancer.state_dir": disk, "history.path": disk / "history.sqlite"}
        words = [f"--set={key}={value}" for key, value in kept.items()]
        return Part(member, self._evenflow(name, "balancer", "-v", *words), disk=disk)

    def _broker(self, name: str) -> Part:
        data = self._folder / name / "data"
        member = Member(name, Role.BROKER, self._of("broker") - {name}, clock=True, disk=True)
        words = ["broker", "--name", name, "--listen", self._brokers[name], "--data", str(data)]
        others = [f"--contact={at}" for other, at in self._brokers.items() if other != name][:3]
        first = name == next(iter(self._brokers))
        command = self._evenflow(name, *words, *([] if first else others))
        return Part(member, command, again=others if first else [], disk=data)

    def _spark(self, name: str) -> Part:
        member = Member(name, Role.CONSUMER, self._of("server"))
        words = [self._config(name), SERVED, str(self.parquet), str(self._folder / "checkpoint")]
        return Part(member, [sys.executable, "-m", querying.__name__, *words])

    def _follower(self, name: str) -> Part:
        member = Member(name, Role.CONSUMER, self._of("server"))
        words = [self._config(name), SERVED, str(self.books / f"{name}.record")]
        return Part(member, [sys.executable, "-m", recording.__name__, *words])

    def _client(self, name: str) -> Part:
        return Part(Member(name, Role.CLIENT, self._of("broker")), self.storing("write"))

    # -- inside -----------------------------------------------------------------------------------

    @property
    def parquet(self) -> Path:
        """Where the Parquet files are."""
        return self._folder / "parquet"

    def _of(self, *kinds: str) -> frozenset[str]:
        return frozenset(name for name in self._names if name.partition("-")[0] in kinds)

    def _config(self, name: str) -> str:
        return str(self._folder / name / CONFIG)

    def _evenflow(self, name: str, *words: str) -> list[str]:
        return [sys.executable, "-m", "evenflow", *words, "--config", self._config(name)]
