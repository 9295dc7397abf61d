"""The client of the throughput experiment: sends images, times replies."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from evenflow.domain.channels import data
from evenflow.slices.publisher.publisher import Publisher
from evenflow_experiments.slices.image_replies import REPLIES, costs_us
from evenflow_experiments.slices.images import colour_jpeg
from evenflow_experiments.slices.throughput.worker import TOPIC

if TYPE_CHECKING:
    from evenflow.config import Config
    from evenflow.domain.cyclone import Participant
    from evenflow.model.batch import Int64s


class Client:
    """Publishes numbered images from a thread and notes every reply in another."""

    def __init__(self, config: Config, participant: Participant) -> None:
        self.image = colour_jpeg()
        self.published = 0
        self.rate = 0.0
        """Items a second."""
        self._notes: list[Int64s] = []
        self._answered: set[int] = set()
        self._replies = participant.reader(data(REPLIES), [REPLIES])
        self._waiter = participant.waiter()
        self._waiter.attach(self._replies)
        self._publisher = Publisher(
            TOPIC, config=config, assignment="modulo:id", participant=participant
        )
        self._sending = self._listening = True
        self._fault: Exception | None = None
        self._threads = [
            threading.Thread(target=run, daemon=True) for run in (self._send, self._listen)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def answered(self) -> int:
        """Images that were answered so far."""
        return len(self._answered)

    @property
    def committed(self) -> int:
        """Images that are committed so far."""
        return self._publisher.stats.committed

    def replies(self) -> Int64s:
        """Rows of id, times published and answered, in us since 1970, and CPU time in us."""
        return np.concatenate([np.empty((0, 4), np.int64), *self._notes])

    def stop_sending(self) -> None:
        """Send nothing more."""
        self._sending = False
        self._threads[0].join()
        if self._fault is not None:
            raise self._fault

    def close(self, timeout_s: float) -> None:
        """Wait for the last commits and leave."""
        self._listening = False
        self._threads[1].join()
        self._publisher.close(timeout_s)

    def _send(self) -> None:
        try:
            due, last = 0.0, time.monotonic()
            while self._sending:
                time.sleep(0.002)
                now = time.monotonic()
                due, last = due + self.rate * (now - last), now
                while self.published < int(due):
                    self.published += 1
                    self._publisher.publish(
                        self.image, id=self.published, time=time.time_ns() // 1000
                    )
        except Exception as error:  # noqa: BLE001 - raised again by whoever stops the client
            self._fault = error

    def _listen(self) -> None:
        while self._listening:
            self._waiter.wait(0.1)
            now = time.time_ns() // 1000
            for sample in self._replies.take(1024):
                rows = sample.rows
                notes = np.empty((rows.count, 4), np.int64)
                notes[:, 0], notes[:, 1], notes[:, 2] = rows.ids, rows.times, now
                notes[:, 3] = costs_us(rows)
                self._notes.append(notes)
                self._answered.update(notes[:, 0].tolist())
