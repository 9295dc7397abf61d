"""A consumer that reads a served topic in a thread of its own, until the block ends.

One that went on would read, and commit, in a later test whose domain has the same id.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Self

import evenflow
from evenflow.errors import DomainError

if TYPE_CHECKING:
    from evenflow.config import Config
    from evenflow.slices.consumer.following import Following

SERVED_WITHIN_S = 40.0
ENDED_WITHIN_S = 30.0


def enter(config: Config, consumer: str, timeout: float | None = None) -> Following:
    """Follow the topic, as soon as the processes that serve it have started."""
    deadline = time.monotonic() + SERVED_WITHIN_S
    while True:
        try:
            return evenflow.follow("items", consumer, config=config, timeout=timeout)
        except DomainError:
            if time.monotonic() > deadline:
                raise


class Reading(threading.Thread):
    """Begins and ends with its block; leave that while the topic is still served."""

    def __init__(self, config: Config, consumer: str) -> None:
        super().__init__(name=f"reading-{consumer}", daemon=True)
        self.ids: list[int] = []
        """Of the items that came, in their order."""
        self._config, self._consumer = config, consumer
        self._following: Following | None = None
        self._over = threading.Event()

    def run(self) -> None:
        with enter(self._config, self._consumer) as following:
            self._following = following
            if self._over.is_set():
                return
            for batch in following:
                self.ids += batch.ids.tolist()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._following is not None:
            self._following.stop()
        self.join(SERVED_WITHIN_S + ENDED_WITHIN_S)
        assert not self.is_alive(), f"consumer {self._consumer} still reads"
