"""The product's own rows of the codec experiment: from ``publish`` to acknowledged.

A real publisher, in a process of its own, publishes to a topic of 100 slices, which it fills in
turn; one node, ``evenflow node`` with an application that does nothing, processes the items and
commits them, and a balancer looks after both. All have their default settings. A run lasts from the
first call until the publisher knows that the last item is committed, so it includes the time that
items linger, the epochs and the commits: some 0.2 s at the end of every run, whatever its length.

That nothing was lost or repeated is told by the node, which counts what it has processed.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenflow.closing import Closing
from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors import ExperimentError
from evenflow.processes import LocalCluster, wait_until
from evenflow.slices.publisher.publisher import Publisher
from evenflow_experiments.slices.codec_ends import DEADLINE_S, Row, Run
from evenflow_experiments.slices.helper import Helper, orders_of
from evenflow_experiments.slices.watch import await_owners

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from evenflow.config import Config

PUBLISH, MANY, COLUMNS = "publish", "publish_many", "publish_columns"
WAYS: Final = {PUBLISH: 1, MANY: 1_000, COLUMNS: 1_000}
"""The ways to publish, and how many items a call brings."""
TOPIC: Final = "items"
SETTINGS: Final = {"topics": {TOPIC: {"slices": 100, "assignment": "modulo:id"}}}
_APP: Final = "evenflow.apps:discard"
_POLL_S: Final = 0.001
_WARM_ITEMS, _WARM_CALLS = 500, 5


def serve_publisher(config: Config, pipe: Connection) -> None:
    """Publish what is ordered; answer with the times of the first call and of the last commit."""
    with Publisher(TOPIC, config=config) as publisher:
        pipe.send("ready")
        for run in orders_of(pipe):
            due = publisher.committed + run.count
            call = caller(run.row, publisher)
            start = time.monotonic()
            for _ in range(run.count // run.row.batch):
                call()
            if not wait_until(lambda due=due: publisher.committed >= due, DEADLINE_S, _POLL_S):
                raise ExperimentError(
                    "codec", f"{run.row}: {due - publisher.committed} uncommitted"
                )
            pipe.send((start, time.monotonic()))


def caller(row: Row, publisher: Publisher) -> Callable[[], object]:
    """What one call of a row is, with its payloads made before."""
    payload = bytes(row.octets)
    if row.codec == PUBLISH:
        return lambda: publisher.publish(payload)
    if row.codec == MANY:
        payloads = [payload] * row.batch
        return lambda: publisher.publish_many(payloads)
    columns = np.zeros((row.batch, row.octets), np.uint8)
    return lambda: publisher.publish_columns(columns)


class Published(Closing):
    """The publisher, the node and the balancer, and the books of what went through them."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._count = 0
        with ExitStack() as stack:
            cluster = stack.enter_context(LocalCluster(config))
            cluster.start_balancer()
            cluster.start_node("node", _APP)
            with Participant(config.domain) as participant:
                slices = config.topic(TOPIC).slices
                await_owners(Observer(participant), "codec", slices, 1, DEADLINE_S)
            self._publisher = stack.enter_context(Helper("codec", serve_publisher, config))
            self._publisher.answer()
            self._stack = stack.pop_all()

    def measure(self, row: Row, count: int) -> float:
        """Publish about ``count`` items; return how many were committed per second."""
        count = max(1, count // row.batch) * row.batch
        start, end = self._publisher.ask(Run(row, self._count + 1, count))
        self._count += count
        return count / float(end - start)

    def guess(self, row: Row, seconds: float) -> float:
        """The rate of a row, from runs that grow until what a commit takes matters little."""
        count = max(_WARM_ITEMS, _WARM_CALLS * row.batch)
        self.measure(row, count)
        while (rate := self.measure(row, count)) * seconds > count:
            count *= 4
        return rate

    def audit(self) -> tuple[int, int]:
        """How many items the node has not processed, and how many again."""
        with Participant(self._config.domain) as participant:
            observer = Observer(participant)
            nodes = observer.view(TOPIC).nodes

            def processed() -> int:
                observer.look(0.1)
                return sum(report.items for report in nodes.values())

            wait_until(lambda: processed() >= self._count, 5.0)
            items = processed()
        return max(0, self._count - items), max(0, items - self._count)

    def close(self) -> None:
        """End the processes."""
        self._stack.close()


def ratios_to(rates: dict[Row, float], stock: Row) -> dict[str, Any]:
    """What the ways to publish reach of the stock codec's rate, at its size of payload."""
    return {
        f"{way}_to_stock": round(rates[Row(way, stock.octets, batch)] / rates[stock], 2)
        for way, batch in WAYS.items()
    }
