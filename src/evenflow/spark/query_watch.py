"""What watches over a running query: its costs for the balancer, its properties for the monitors.

A query is a process of the domain like a node, and its monitors report as ``query/TOPIC/CONSUMER``
(MAPE-SDDL, section III.B.1): seconds of the newest batch and its number of tasks, how many closed
epochs and items it has not committed, how many payloads it could not decode. So the operator's
events can say what a slow query leads to.
"""

from __future__ import annotations

import threading
from math import nan
from typing import TYPE_CHECKING

from evenflow.autonomic.agent import Agent
from evenflow.domain.channels import COSTS
from evenflow.spark.cost_follower import CostFollower
from evenflow.spark.task_times import batch_seconds, task_times

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenflow.domain.cyclone import Participant
    from evenflow.model.messages import SliceReads
    from evenflow.spark.options import Options


class QueryWatch:
    """Watches one query until it is closed.

    Args:
        options: The query's.
        participant: Its place in the domain.
        lag: Gives how many closed epochs and items are not committed.
        times_at: Where Spark's task times are served; empty when nobody serves them.

    Raises:
        ConfigError: The operator's tables about events and monitors are faulty.
    """

    def __init__(
        self,
        options: Options,
        participant: Participant,
        lag: Callable[[], tuple[int, int]],
        times_at: str,
    ) -> None:
        self._times_at = times_at
        self._tasks = nan
        self._damaged = 0
        self._costs = CostFollower(
            options.topic,
            options.consumer,
            lambda stage: task_times(times_at, stage),
            participant.writer(COSTS).write,
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._costs.run, args=(self._stop,), name="evenflow-costs", daemon=True
        )
        self._agent = Agent(
            f"query/{options.topic}/{options.consumer}",
            options.config,
            participant,
            {
                "batch_s": self._batch_s,
                "tasks": lambda: self._tasks,
                "damaged_items": lambda: self._damaged,
                "lag_epochs": lambda: lag()[0],
                "lag_items": lambda: lag()[1],
            },
        )
        self._thread.start()

    def heard(self, reads: SliceReads, now: float) -> None:
        """A task of this query told what it has read."""
        self._damaged += reads.damaged
        if self._times_at:
            self._costs.heard(reads, now)

    def planned(self, tasks: int) -> None:
        """A batch of so many tasks begins."""
        self._tasks = float(tasks)

    def expected(self, slices: Sequence[int]) -> float:
        """What slices may cost in the next batch; comparable within one moment only."""
        return self._costs.expected(slices)

    def close(self) -> None:
        """Stop watching; call it before the participant is closed."""
        self._stop.set()
        self._agent.close()
        self._thread.join()

    def _batch_s(self) -> float:
        query = self._costs.query
        found = batch_seconds(self._times_at, query) if self._times_at and query else None
        return nan if found is None else found
