"""What watches over a running query: its costs for the balancer, its properties for the monitors.

A query is a process of the domain like a node, and its monitors report as ``query/TOPIC/CONSUMER``
(MAPE-SDDL, section III.B.1): seconds of the newest batch and its number of tasks, how many closed
epochs and items it has not committed, how many payloads it could not decode, and how many items
publishers have left out up to where it is, so that a count can be corrected. So the operator's
events can say what a slow query leads to.
"""

from __future__ import annotations

import logging
import threading
import time
from math import nan
from typing import TYPE_CHECKING, Final

from evenflow.autonomic.agent import Agent
from evenflow.domain.channels import COSTS, READS
from evenflow.spark.cost_follower import CostFollower
from evenflow.spark.task_times import batch_seconds, task_times
from evenflow.spark.tasks import at_least

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.slices.consumer.follower import Follower
    from evenflow.slices.consumer.reading import Share
    from evenflow.spark.options import Options

LOOK_S: Final = 0.5
"""How often the thread looks for what tasks have told and for stages that have ended."""
_LOG = logging.getLogger(__name__)


class QueryWatch:
    """Watches one query until it is closed.

    Args:
        options: The query's.
        topic: The topic that is watched.
        follower: Its place in the domain.
        times_at: Where Spark's task times are served; empty when nobody serves them.

    Raises:
        ConfigError: The operator's tables about events and monitors are faulty.
    """

    def __init__(
        self,
        options: Options,
        topic: str,
        follower: Follower,
        times_at: str,
    ) -> None:
        participant = follower.participant
        self._of = (topic, options.consumer)
        self._times_at = times_at
        self._least_tasks = options.min_partitions
        self._reader = participant.reader(READS)
        self._tasks = nan
        self.damaged = 0
        """Payloads that could not be decoded, as tasks have told it."""
        self._costs = CostFollower(
            topic,
            options.consumer,
            lambda stage: task_times(times_at, stage),
            participant.writer(COSTS).write,
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="evenflow-costs", daemon=True)
        self._agent = Agent(
            f"query/{topic}/{options.consumer}",
            options.config,
            participant,
            {
                "batch_s": self._batch_s,
                "tasks": lambda: self._tasks,
                "damaged_items": lambda: self.damaged,
                "lag_epochs": lambda: follower.lag()[0],
                "lag_items": lambda: follower.lag()[1],
                "thinned_items": lambda: follower.ask(lambda core: core.thinned.settled),
            },
        )
        self._thread.start()

    def on_batch_planned(self, shares: Sequence[Share]) -> list[Share]:
        """A batch begins, with a task for each share; return them with the dearest first.

        What begins last should be short, when there are fewer cores than tasks.

        Args:
            shares: A share for each node; they are cut when the query wants more tasks.
        """
        shares = at_least(shares, self._least_tasks, self._costs.expected)
        self._tasks = float(len(shares))
        return sorted(shares, key=lambda share: -self._costs.expected(share.asked.slices))

    def close(self) -> None:
        """Stop watching; call it before the participant is closed."""
        self._stop.set()
        self._agent.close()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(LOOK_S):
            try:
                self._look(time.monotonic())
            except Exception:  # noqa: BLE001 - the query goes on; the next look may do better
                _LOG.exception("the costs of slices were not learned")

    def _look(self, now: float) -> None:
        """Take in what tasks of this query have told, and learn from stages that have ended."""
        while taken := self._reader.take():
            for reads in taken:
                if (reads.topic, reads.consumer) == self._of:
                    self.damaged += reads.damaged
                    if self._times_at:
                        self._costs.on_reads(reads, now)
        self._costs.look(now)

    def _batch_s(self) -> float:
        query = self._costs.query
        found = batch_seconds(self._times_at, query) if self._times_at and query else None
        return nan if found is None else found
