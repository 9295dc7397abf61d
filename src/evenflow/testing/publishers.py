"""The publisher processes of a simulated cluster: real cores, and what their processes add."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from evenflow.model.batch import Int32s
from evenflow.model.given_headers import given_headers, pairs_bytes
from evenflow.model.ids import WriterId
from evenflow.model.messages import (
    Beat,
    Commit,
    Ledger,
    MapPage,
    ReplayRequest,
    RoomWanted,
    WriterCut,
)
from evenflow.slices.actions import Send
from evenflow.slices.publisher.core import PublisherCore
from evenflow.slices.publisher.sealing import Limits, SealedSample, item_bytes
from evenflow.slices.publisher.thinning import Thinning
from evenflow.testing.samples import headers_of_item

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.config.spans import Keep

TOPIC = "items"
HEARD = Commit | ReplayRequest | RoomWanted | MapPage | Beat | Ledger | WriterCut
"""What publishers are told."""
LIMITS = Limits(
    batch_items=3, batch_bytes=10_000, linger_s=0.01, retention_bytes=1_000_000, epoch_s=0.1
)
"""Of every publisher."""


def no_assignment(_columns: object) -> Int32s:
    """Items of a simulated publisher come with their slices."""
    raise AssertionError("no item here comes without a slice")


class SimPublishers(dict[str, PublisherCore]):
    """Publishers by their first writer id, which is what their processes are called.

    Args:
        patience: How long one that was cut waits for commits of its owners.
    """

    def __init__(self, patience: float = 0.0) -> None:
        super().__init__()
        self._patience = patience
        self.items_of: dict[str, list[int]] = {}
        """Ids of items, by publisher."""
        self.thinning: dict[str, Thinning] = {}
        """What each lets through."""
        self.offered: Counter[str] = Counter()
        """Items that each was given, published or left out."""
        self.left_out = 0
        """Items that were left out, by all that there ever were."""
        self._process: dict[str, str] = {}
        """The publisher of each writer id."""

    def start(self, now: float, slice_count: int, *, served: bool, keep: Keep | None = None) -> str:
        """A new process; returns its name."""
        name = self._name_writer("")
        self[name] = core = PublisherCore(
            TOPIC,
            int(name, 16),
            slice_count,
            LIMITS,
            assign=no_assignment,
            new_writer=lambda: int(self._name_writer(name), 16),
            served=served,
            keep=keep,
            patience=self._patience,
        )
        self.items_of[name] = []
        self.thinning[name] = Thinning()
        core.epochs.hello(now)
        return name

    def _name_writer(self, publisher: str) -> str:
        name = WriterId.text(len(self._process) + 1)
        self._process[name] = publisher or name
        return name

    def writers(self) -> Iterable[tuple[str, str]]:
        """Every writer id that there ever was, with its process."""
        return self._process.items()

    def process_of(self, address: str) -> str:
        """The process behind an address."""
        return self._process.get(address, address)

    def leaves_out(self, name: str, slice_id: int, now: float) -> bool:
        """A publisher is given an item, of a sender for each slice; whether it is left out."""
        self.offered[name] += 1
        if not self.thinning[name].thins(f"sender-{slice_id}", now):
            return False
        self[name].counts.thinned += 1
        self.left_out += 1
        return True

    def publish(self, name: str, slice_id: int, item: int, now: float) -> list[SealedSample]:
        """A publisher accepts an item; returns what it writes."""
        core, size = self[name], item_bytes("sim", b"x")
        self.items_of[name].append(item)
        self.thinning[name].note_one(f"sender-{slice_id}")
        if core.is_empty:
            core.opened(now)
        row, headers = (b"x", "sim", item, 0, slice_id), given_headers(headers_of_item(item))
        size += pairs_bytes(headers)
        full = core.sealing.fills(1, size)
        core.add((*row, headers) if headers else row, size)
        return core.seal(now) if full else []

    def advance(self, name: str, now: float) -> tuple[list[SealedSample], list[Send]]:
        """Time passes; returns what a publisher writes and says."""
        core = self[name]
        said = [each for each in core.follow_cut(now) if isinstance(each, Send)]
        core.forgetting.look(now)
        sealed, closes = core.seal_due(now), []
        if core.epoch_due(now):
            sealed += core.end_epoch(now)
            close = core.close_epoch(now)
            closes += [] if close is None else [close]
        return sealed, said + [Send(close) for close in closes + core.former_writers.closes(now)]
