"""The publishers of the sinks of this process, one for each outbox.

Spark runs a sink's commits in Python processes that it uses again, and does not promise that it is
always the same one: of two sinks in one session each may find itself in the other's process. An
outbox belongs to one process at a time. So who finds it taken leaves the file ``wanted`` in it, and
a process whose sink is idle sees that and gives the outbox up; what it has is sent by the next.
"""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final

from evenflow.errors import (
    ClosedError,
    DeliveryTimeout,
    OutboxRefused,
    StorageError,
    WriterEnded,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evenflow.slices.publisher.publisher import Publisher
    from evenflow.spark.options import SinkOptions

WANTED: Final = "wanted"
LOOK_S: Final = 0.1
"""How often an idle process looks whether its outboxes are wanted."""
_log = logging.getLogger(__name__)


def outbox_of(options: SinkOptions) -> Path:
    """The folder of a sink's outbox."""
    assert options.outbox is not None, "only a table goes without, and publishes by itself"
    return options.outbox / f"{options.topic}.{options.name}"


class SinkPublishers:
    """The publishers of this process, by the folders of their outboxes."""

    def __init__(self) -> None:
        self._open: dict[Path, Publisher] = {}
        self._lock = Lock()
        self._watch: Thread | None = None

    @contextmanager
    def of(self, options: SinkOptions) -> Iterator[Publisher]:
        """The publisher of a sink, for as long as it commits.

        One that failed for good, as its disk did, is closed: the next commit may find it mended.
        """
        with self._lock:
            folder = outbox_of(options)
            if folder not in self._open:
                self._open[folder] = _opened(options, folder)
            if self._watch is None:
                self._watch = Thread(target=self._look, name="evenflow-sinks", daemon=True)
                self._watch.start()
            try:
                yield self._open[folder]
            except (StorageError, WriterEnded, ClosedError):
                self._leave(folder)
                raise

    def give_up_wanted(self) -> None:
        """Close the publishers of outboxes that another process waits for."""
        with self._lock:
            for folder in [one for one in self._open if (one / WANTED).exists()]:
                self._leave(folder)

    def _leave(self, folder: Path) -> None:
        """Close a publisher; called with the lock held."""
        try:
            self._open.pop(folder).close(0.0)
        except DeliveryTimeout:
            pass  # what is left is in the outbox
        except Exception:  # noqa: BLE001 - the others may be wanted, too
            _log.exception("the outbox %s was not closed well", folder)

    def _look(self) -> None:
        while True:
            time.sleep(LOOK_S)
            self.give_up_wanted()


def _opened(options: SinkOptions, folder: Path) -> Publisher:
    """Open a publisher, as soon as no other process has its outbox."""
    from evenflow.slices.publisher.publisher import Publisher  # noqa: PLC0415 - the driver alone needs DDS

    deadline = time.monotonic() + options.deliver_within_s
    while True:
        try:
            publisher = Publisher(options.topic, config=options.config, outbox=folder)
        except OutboxRefused:
            if time.monotonic() > deadline or not folder.exists():
                raise
            (folder / WANTED).touch()
            time.sleep(LOOK_S)
        else:
            (folder / WANTED).unlink(missing_ok=True)
            return publisher


PUBLISHERS: Final = SinkPublishers()
