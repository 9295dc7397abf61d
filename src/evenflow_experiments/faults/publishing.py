"""A publisher as a program: numbered items into some topics at a steady rate, and its own books.

``python -m evenflow_experiments.faults.publishing CONFIG FOLDER OUTBOX RATE TOPIC=STREAM...``

The book of a stream, ``FOLDER/STREAM.stream``, is what :mod:`books` describes. A run begins above
all that earlier ones tried. A thread publishes and another one flushes, so that a flush that waits
for an unreachable node does not keep items from being published. Under SIGUSR1 it publishes no
more and stays, for what it keeps may be asked for. OUTBOX is a folder, or ``-`` for none.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

from evenflow.config import Config
from evenflow.domain.cyclone import Participant
from evenflow.errors import DeliveryTimeout, PublishTimeout
from evenflow.slices.publisher.publisher import Publisher
from evenflow_experiments.faults.books import Stream

TICK_S: Final = 0.1
FLUSH_S: Final = 2.0
"""How long one flush is waited for before the next begins."""
NONE: Final = "-"


class Book:
    """The book of a stream; what is noted is in the file when ``note`` returns."""

    def __init__(self, path: Path, number: int) -> None:
        self.stream = Stream(number)
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self.stream.note(line)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._lock = threading.Lock()
        self.note("run", self.stream.tried + 1)

    def note(self, what: str, number: int) -> None:
        """Write a line."""
        line = f"\n{what} {number}\n"
        with self._lock:
            os.write(self._file, line.encode())
            self.stream.note(line)


class Source:
    """Publishes one stream."""

    def __init__(
        self, publisher: Publisher, book: Book, rate: float, stop: threading.Event
    ) -> None:
        self._publisher, self._book, self._stop = publisher, book, stop
        self._step = max(1, round(rate * TICK_S))
        self._newest = book.stream.tried
        for target in (self._publish, self._flush):
            threading.Thread(target=_or_die, args=(target,), daemon=True).start()

    def _publish(self) -> None:
        stream = self._book.stream
        while not self._stop.wait(TICK_S):
            numbers = range(self._newest + 1, self._newest + 1 + self._step)
            self._book.note("tried", numbers[-1])
            left = [stream.id_of(number) for number in numbers]
            while left:
                payloads = [id.to_bytes(8, "big") for id in left]
                try:
                    self._publisher.publish_many(payloads, ids=left, timeout=FLUSH_S)
                    left = []
                except PublishTimeout as error:
                    left = left[error.accepted :]
            self._book.note("accepted", numbers[-1])
            self._newest = numbers[-1]

    def _flush(self) -> None:
        while True:
            newest = self._newest
            with contextlib.suppress(DeliveryTimeout):
                if newest > self._book.stream.safe:
                    self._publisher.flush(FLUSH_S)
                    self._book.note("safe", newest)
            time.sleep(TICK_S)


def _or_die(target: Any) -> None:
    """Run a thread; a fault in it ends the process, for whoever looks after it to see."""
    try:
        target()
    except BaseException as error:  # noqa: BLE001 - told, and the process ends
        print(f"publisher: error: {error!r}", file=sys.stderr, flush=True)
        os._exit(1)


def open_publisher(topic: str, outbox: str, **arguments: Any) -> Publisher:
    """A publisher, with an outbox unless there shall be none."""
    if outbox != NONE:
        folder = Path(outbox) / topic
        folder.mkdir(parents=True, exist_ok=True)
        arguments["outbox"] = folder
    return Publisher(topic, **arguments)


def main() -> None:
    """Publish until a signal."""
    config_file, folder, outbox, rate, *streams = sys.argv[1:]
    config = Config.load(Path(config_file))
    stop, end = threading.Event(), threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: stop.set())
    signal.signal(signal.SIGTERM, lambda *_: end.set())
    with Participant(config.domain) as participant:
        for each in streams:
            topic, _, number = each.partition("=")
            book = Book(Path(folder) / f"{number}.stream", int(number))
            publisher = open_publisher(topic, outbox, config=config, participant=participant)
            Source(publisher, book, float(rate), stop)
        while not end.wait(0.5):
            pass
    os._exit(0)  # nobody is owed anything any more, and threads may be blocked


if __name__ == "__main__":
    main()
