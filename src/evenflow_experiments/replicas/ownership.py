"""Two replicas of a node by stock Cyclone: both process everything, the stronger one is heard.

Each replica reads all items, processes them and writes what came out into one instance with
exclusive ownership. A reader is given the samples of the strongest writer that lives. When that one
is killed its liveliness ends after the lease, and the reader hears the other. What the weaker one
wrote until then was not given to the reader, and is not sent again: it is lost to it.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from cyclonedds.core import InstanceState, ReadCondition, SampleState, ViewState
from cyclonedds.idl import make_idl_struct
from cyclonedds.idl import types as idl
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

from evenflow.domain.cyclone import Participant
from evenflow.errors import ExperimentError
from evenflow_experiments.replicas.work import work
from evenflow_experiments.slices.helper import Helper
from evenflow_experiments.slices.watch import cpu_s

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from evenflow.config import Config
    from evenflow.config.sections import DomainConfig

ITEM: Final[Any] = make_idl_struct(
    "ReplicaItem", "experiments::ReplicaItem", {"number": idl.int64, "published": idl.int64}
)
_RELIABLE: Final = (Policy.Reliability.Reliable(10**9), Policy.History.KeepAll)
SETUP_S: Final = 30.0
STRENGTHS: Final = (20, 10)


def _output(config: DomainConfig, strength: int | None) -> Qos:
    lease = Policy.Liveliness.Automatic(int(config.liveliness_s * 1e9))
    policies = [*_RELIABLE, Policy.Ownership.Exclusive, lease]
    return Qos(*policies, *([] if strength is None else [Policy.OwnershipStrength(strength)]))


class _Input:
    """Reads what a waiter can wait for."""

    def __init__(self, participant: Participant, name: str, qos: Qos) -> None:
        self._reader = DataReader(
            participant.entity, Topic(participant.entity, name, ITEM), qos=qos
        )
        self.condition = ReadCondition(
            self._reader, SampleState.Any | ViewState.Any | InstanceState.Any
        )

    def take(self) -> list[Any]:
        """What has arrived; deaths are no items."""
        return [one for one in self._reader.take(512) if hasattr(one, "number")]


def replicate(config: DomainConfig, strength: int, pipe: Connection) -> None:
    """A replica, for `Helper`: process all items until it is told to end, or is killed."""
    with Participant(config) as participant:
        reader = _Input(participant, "replica-items", Qos(*_RELIABLE))
        waiter = participant.waiter()
        waiter.attach(reader)
        writer = DataWriter(
            participant.entity,
            Topic(participant.entity, "replica-results", ITEM),
            qos=_output(config, strength),
        )
        pipe.send("ready")
        while not pipe.poll():
            waiter.wait(0.1)
            for item in reader.take():
                work()
                writer.write(item)


def measure(config: Config, rate: float, seconds: float) -> dict[str, Any]:
    """Publish, kill the stronger replica in the middle, and see when which item came out."""
    with ExitStack() as stack:
        participant = stack.enter_context(Participant(config.domain))
        replicas = [
            stack.enter_context(Helper("replicas", replicate, config.domain, strength))
            for strength in STRENGTHS
        ]
        for replica in replicas:
            replica.answer()
        results = _Input(participant, "replica-results", _output(config.domain, None))
        topic = Topic(participant.entity, "replica-items", ITEM)
        writer = DataWriter(participant.entity, topic, qos=Qos(*_RELIABLE))
        _await_heard(writer, results)
        arrived: dict[int, float] = {}
        repeated = published = 0
        pids = [replica.pid for replica in replicas]
        before, began, killed_at = cpu_s(pids), time.monotonic(), 0.0
        used = 0.0
        while (now := time.monotonic() - began) < seconds:
            if not killed_at and now > seconds / 2:
                used = (cpu_s(pids) - before) / max(1, published)
                os.kill(pids[0], signal.SIGKILL)
                killed_at = now
            while published < now * rate:
                published += 1
                writer.write(ITEM(published, time.time_ns()))
            repeated += _note(results, arrived)
            time.sleep(0.001)
        end = time.monotonic() + 2.0
        while time.monotonic() < end:
            repeated += _note(results, arrived)
            time.sleep(0.005)
    return figures(published, arrived, repeated, used)


def _await_heard(writer: DataWriter[Any], results: _Input) -> None:
    """Until an item has come all the way; ids below 1 are not counted."""
    deadline = time.monotonic() + SETUP_S
    while not results.take():
        if time.monotonic() > deadline:
            raise ExperimentError("replicas", f"nothing came out within {SETUP_S:g} s")
        writer.write(ITEM(0, 0))
        time.sleep(0.1)
    time.sleep(1.0)
    results.take()


def _note(results: _Input, arrived: dict[int, float]) -> int:
    """Take results in; return how many came again."""
    again, now = 0, time.time()
    for item in results.take():
        again += item.number in arrived
        if item.number:
            arrived.setdefault(item.number, now)
    return again


def figures(
    published: int, arrived: dict[int, float], repeated: int, cpu_item: float
) -> dict[str, Any]:
    """The longest time in which nothing came out, and what became of the items."""
    times = sorted(arrived.values())
    gaps = [later - earlier for earlier, later in pairwise(times)]
    return {
        "published": published,
        "gap_s": round(max(gaps, default=0.0), 3),
        "lost": published - len(arrived),
        "repeated": repeated,
        "cpu_ms_item": round(1000 * cpu_item, 3),
    }
