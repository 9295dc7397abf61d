"""Two replicas of a node by stock Cyclone: both process everything, the stronger one is heard.

Each replica reads all items, processes them and writes what came out, with exclusive ownership.
Which results are one instance, and so what a reader is given after the stronger replica was killed,
is a matter of the key (`results`).
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from cyclonedds.pub import DataWriter
from cyclonedds.qos import Qos
from cyclonedds.topic import Topic

from evenflow.domain.cyclone import Participant
from evenflow.errors import ExperimentError
from evenflow_experiments.replicas.outcome import figures
from evenflow_experiments.replicas.results import (
    ITEM,
    RELIABLE,
    RESULTS,
    Input,
    Keying,
    Results,
    quality,
)
from evenflow_experiments.replicas.work import work
from evenflow_experiments.slices.helper import Helper
from evenflow_experiments.slices.watch import cpu_s

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from evenflow.config import Config
    from evenflow.config.sections import DomainConfig

ITEMS: Final = "replica-items"
SETUP_S: Final = 30.0
SETTLE_S: Final = 2.0
STRENGTHS: Final = (20, 10)


def replicate(config: DomainConfig, strength: int, keying: Keying, pipe: Connection) -> None:
    """A replica, for `Helper`: process all items until it is told to end, or is killed."""
    with Participant(config) as participant:
        reader = Input(participant, ITEMS, ITEM, Qos(*RELIABLE))
        waiter = participant.waiter()
        waiter.attach(reader)
        results = Results(participant, keying, quality(config, strength))
        pipe.send("ready")
        while not pipe.poll():
            waiter.wait(0.1)
            for item in reader.take():
                work()
                results.write(item.number, item.published, time.monotonic())
            results.release(time.monotonic())


class Heard:
    """What a reader of the results was given, and when."""

    def __init__(self, results: Input) -> None:
        self._results = results
        self.arrived: dict[int, float] = {}
        self.repeated = 0

    def look(self) -> None:
        """Take results in; numbers below 1 are not counted."""
        now = time.time()
        for item in self._results.take():
            if item.number:
                self.repeated += item.number in self.arrived
                self.arrived.setdefault(item.number, now)


def measure(config: Config, keying: Keying, rate: float, seconds: float) -> dict[str, Any]:
    """Publish, kill the stronger replica in the middle, and see when which item came out."""
    with ExitStack() as stack:
        participant = stack.enter_context(Participant(config.domain))
        replicas = [
            stack.enter_context(Helper("replicas", replicate, config.domain, strength, keying))
            for strength in STRENGTHS
        ]
        for replica in replicas:
            replica.answer()
        results = Input(participant, RESULTS, keying.type, quality(config.domain))
        topic = Topic(participant.entity, ITEMS, ITEM)
        writer = DataWriter(participant.entity, topic, qos=Qos(*RELIABLE))
        _await_heard(writer, results)
        heard = Heard(results)
        pids = [replica.pid for replica in replicas]
        before, began, killed, used, published = cpu_s(pids), time.monotonic(), False, 0.0, 0
        while (now := time.monotonic() - began) < seconds:
            if not killed and now > seconds / 2:
                used, killed = (cpu_s(pids) - before) / max(1, published), True
                os.kill(pids[0], signal.SIGKILL)
            while published < now * rate:
                published += 1
                writer.write(ITEM(published, time.time_ns()))
            heard.look()
            time.sleep(0.001)
        end = time.monotonic() + SETTLE_S
        while time.monotonic() < end:
            heard.look()
            time.sleep(0.005)
    found = figures(published, heard.arrived, heard.repeated, config.topic("items").slices)
    return found | {"cpu_ms_item": round(1000 * used, 3)}


def _await_heard(writer: DataWriter[Any], results: Input) -> None:
    """Until an item has come all the way."""
    deadline = time.monotonic() + SETUP_S
    while not results.take():
        if time.monotonic() > deadline:
            raise ExperimentError("replicas", f"nothing came out within {SETUP_S:g} s")
        writer.write(ITEM(0, 0))
        time.sleep(0.1)
    time.sleep(1.0)
    results.take()
