"""Brings together what tasks have read and how long they ran, and tells the balancer the costs.

What a task has read comes from the domain, how long it ran from Spark
(:mod:`evenflow.spark.task_times`) when their stage has ended. Whenever it looks, it shows the tasks
of stages that have ended together to the learner and publishes what it has learned. Reads whose run
time does not come (the task failed, or ran twice and this was the slower one) are dropped after a
while.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Final

from evenflow.model.messages import SliceCosts, SliceReads
from evenflow.spark.costs import CostLearner, TaskRun

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PATIENCE_S: Final = 600.0
"""How long a task's run time is waited for, after what it has read was told."""
MOST_PENDING: Final = 4_096
_NS: Final = 1e9
_MOST: Final = (1 << 64) - 1


class CostFollower:
    """Follows one query.

    Args:
        topic: The topic it reads.
        consumer: Its name.
        times: Gives the run times of the tasks of a stage that has ended.
        tell: Publishes costs.
    """

    def __init__(
        self,
        topic: str,
        consumer: str,
        times: Callable[[int], Mapping[int, float]],
        tell: Callable[[SliceCosts], object],
    ) -> None:
        self.query = ""
        """Id of the query in Spark, when it is known."""
        self._topic = topic
        self._consumer = consumer
        self._times = times
        self._tell = tell
        self._learner = CostLearner()
        self._pending: deque[tuple[float, SliceReads]] = deque(maxlen=MOST_PENDING)
        self._lock = threading.Lock()

    def on_reads(self, reads: SliceReads, now: float) -> None:
        """A task told what it has read."""
        with self._lock:
            self.query = reads.query or self.query
            self._pending.append((now, reads))

    def expected(self, slices: Sequence[int]) -> float:
        """What slices may cost in the next batch; comparable within one moment only."""
        with self._lock:
            return self._learner.expected(slices)

    def look(self, now: float) -> None:
        """Find stages that have ended and whose tasks have told what they read; learn from them."""
        with self._lock:
            stages = sorted({reads.stage for _, reads in self._pending})
        times = {stage: self._times(stage) for stage in stages}
        with self._lock:
            batches = self._matched(times, now)
            for tasks in batches:
                self._learner.observe(tasks, now)
            learned = self._message() if batches and self._learner.ready else None
        if learned is not None:
            self._tell(learned)

    def _matched(self, times: Mapping[int, Mapping[int, float]], now: float) -> list[list[TaskRun]]:
        """The tasks, by stage, whose run times are known; they are no longer waited for."""
        runs: dict[int, list[TaskRun]] = {}
        waiting = []
        for since, reads in self._pending:
            seconds = times.get(reads.stage, {}).get(reads.task)
            if seconds is not None:
                runs.setdefault(reads.stage, []).append(TaskRun(seconds, _by_slice(reads)))
            elif now - since < PATIENCE_S:
                waiting.append((since, reads))
        self._pending.clear()
        self._pending.extend(waiting)
        return [runs[stage] for stage in sorted(runs)]

    def _message(self) -> SliceCosts:
        work = self._learner.work()
        nanoseconds = tuple(min(round(seconds * _NS), _MOST) for seconds in work.values())
        return SliceCosts(self._topic, self._consumer, tuple(work), nanoseconds)


def _by_slice(reads: SliceReads) -> dict[int, tuple[int, int]]:
    rows = zip(reads.slices, reads.items, reads.octets, strict=True)
    return {slice_id: (items, octets) for slice_id, items, octets in rows}
