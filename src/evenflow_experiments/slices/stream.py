"""A steady stream for experiments: items of one size at one rate, published by a thread."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from evenflow.slices.publisher.publisher import Publisher

if TYPE_CHECKING:
    from evenflow.config import Config


class SteadyStream:
    """Publishes numbered items, from 1, until it is ended."""

    def __init__(self, config: Config, payload: bytes, items_per_s: float) -> None:
        self.published = 0
        self._payload = payload
        self._rate = items_per_s
        self._publisher = Publisher(config.topics[0].name, config=config, assignment="modulo:id")
        self._stop = threading.Event()
        self._fault: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="stream", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        started = time.monotonic()
        try:
            while not self._stop.wait(0.0005):
                due = int((time.monotonic() - started) * self._rate)
                while self.published < due:
                    self._publisher.publish(self._payload, id=self.published + 1)
                    self.published += 1
        except Exception as error:  # noqa: BLE001 - raised again by whoever ends the stream
            self._fault = error

    def end(self, timeout_s: float = 60.0) -> int:
        """Stop publishing, wait until everything is committed; return how many were published."""
        self._stop.set()
        self._thread.join()
        if self._fault is not None:
            raise self._fault
        self._publisher.close(timeout_s)
        return self.published
