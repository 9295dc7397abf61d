"""A domain in a test's hands, for publishers with an outbox on real files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.unit.slices.publisher.fakes import FakeParticipant, until
from tests.unit.slices.publisher.items import SLICES, map_page

from evenflow.config import Config
from evenflow.domain import channels
from evenflow.model.messages import Commit
from evenflow.model.sample import Sample
from evenflow.slices.publisher.publisher import Publisher

DATA = channels.data("items")


class Domain(FakeParticipant):
    """A domain in which node ``a`` reads, and owns all slices."""

    def __init__(self) -> None:
        super().__init__(readers=1)

    def open(self, folder: Path, topic: str = "items", **settings: Any) -> Publisher:
        config = Config()
        items = replace(config.topics[0], name=topic, slices=SLICES)
        settings = {"epoch_ms": 20, "linger_ms": 1, **settings}
        config = replace(config, topics=(items,), publisher=replace(config.publisher, **settings))
        publisher = Publisher(
            topic,
            config=config,
            assignment="modulo:id",
            participant=self,
            outbox=folder,  # type: ignore[arg-type]
        )
        page = map_page(["a"] * SLICES)
        self.say(channels.MAPS, page)
        until(lambda: topic != "items" or publisher._core.routing.map.version == page.version)
        return publisher

    def commit(self, publisher: Publisher) -> None:
        self.commit_newest(publisher)
        until(lambda: publisher.stats.uncommitted == 0)

    def commit_newest(self, publisher: Publisher) -> None:
        newest = publisher._core.retention.newest.tolist()
        slices, terms = tuple(range(SLICES)), (1,) * SLICES
        commit = Commit("items", publisher.writer, "a", "", slices, terms, tuple(newest))
        self.say(channels.COMMITS, commit)

    def numbers(self) -> dict[tuple[int, int], list[int]]:
        """The ids that node ``a`` was sent under each (slice, number)."""
        found: dict[tuple[int, int], list[int]] = {}
        for encoded in self.of(DATA, "a").written:
            for batch in Sample(encoded).batches():
                for number, item in enumerate(batch, batch.first):
                    found.setdefault((batch.slice, number), []).append(item.id)
        return found


def die(publisher: Publisher) -> None:
    """Leave as a process does that is killed: nothing is written, the lock is gone."""
    outbox = publisher._outbox
    assert outbox is not None
    with publisher._shell._lock:
        outbox._thread, thread = None, outbox._thread
        outbox._stopping = True
        outbox._work.notify_all()
    assert thread is not None
    thread.join()
    publisher._shell._outlet._outbox = None
    outbox._files.close()
    publisher._shell.close()
