"""Items for the tests of the publisher, the ways to give them, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evenflow.model.batch import Int32s, Item
from evenflow.model.given_headers import given_headers, pairs_bytes
from evenflow.model.messages import MapPage
from evenflow.model.sample import Sample
from evenflow.slices.publisher.columns import Table, payload_column, sender_column
from evenflow.slices.publisher.core import PublisherCore
from evenflow.slices.publisher.gathering import Row
from evenflow.slices.publisher.retention import Retained
from evenflow.slices.publisher.sealing import Limits, SealedSample, item_bytes
from evenflow.slices.spill import Spill

WRITER = 0xFEED
SLICES = 4
AT_ONCE = Limits(
    batch_items=100, batch_bytes=10_000, linger_s=0.0, retention_bytes=1 << 20, epoch_s=0.1
)
LINGER = replace(AT_ONCE, linger_s=0.005)


def item(number: int = 0, size: int = 10) -> Item:
    return Item("someone", number, 0, bytes(size))


def size_of(one: Item) -> int:
    return item_bytes(one.sender, one.payload) + pairs_bytes(given_headers(one.headers))


def table_of(placed: Sequence[tuple[int, int]], size: int = 10) -> tuple[Table, Int32s, int]:
    """A table of items given as (slice, id), their slices, and their bytes."""
    ids = np.array([number for _, number in placed], np.int64)
    senders = sender_column("someone", len(placed))
    table = Table(ids, np.zeros_like(ids), senders, payload_column([bytes(size)] * len(placed)))
    slices = np.array([slice_id for slice_id, _ in placed], np.int32)
    return table, slices, len(placed) * size_of(item(size=size))


def map_page(owners: Sequence[str], version: int = 1, term: int = 1, **changes: Any) -> MapPage:
    """A page that names the owner of each slice; empty for none."""
    nodes = sorted({*owners} - {""})
    numbers = tuple(nodes.index(owner) + 1 if owner else 0 for owner in owners)
    count = len(owners)
    page = MapPage("items", 0, 1, version, count, tuple(nodes), numbers, (term,) * count)
    return replace(page, **changes)


def no_assignment(_: Mapping[str, Any]) -> Int32s:
    raise AssertionError("all items have a slice")


def core_with(
    limits: Limits = AT_ONCE,
    owners: Sequence[str] = (),
    *,
    served: bool = False,
    spill: Spill | None = None,
) -> PublisherCore:
    core = PublisherCore(
        "items", WRITER, SLICES, limits, assign=no_assignment, served=served, spill=spill
    )
    if owners:
        core.handle(map_page(owners), 0.0)
    return core


def add(core: PublisherCore, slice_id: int, one: Item, now: float = 0.0) -> list[SealedSample]:
    """Give a publisher an item, as its shell does; return what is sealed by it."""
    sender, item_id, time, payload, headers = one
    row: Row = (payload, sender, item_id, time, slice_id)
    if headers:
        row = (payload, sender, item_id, time, slice_id, given_headers(headers))
    first, full = core.is_empty, core.sealing.fills(1, size_of(one))
    has_room = core.has_room(size_of(one))
    if core.offer(row, size_of(one)):
        assert (has_room, first, full) == (True, False, False)
        return []
    core.add(row, size_of(one))
    return _added(core, now, first=first, full=full)


def add_table(
    core: PublisherCore, placed: Sequence[tuple[int, int]], now: float = 0.0, size: int = 10
) -> list[SealedSample]:
    """Give a publisher items as (slice, id), as its shell does; return what is sealed by them."""
    table, slices, octets = table_of(placed, size)
    first, full = core.is_empty, core.sealing.fills(len(table), octets)
    core.add_table(table, slices, octets)
    return _added(core, now, first=first, full=full)


def _added(core: PublisherCore, now: float, *, first: bool, full: bool) -> list[SealedSample]:
    if first:
        core.opened(now)
    return core.seal(now) if full else []


def decoded(sealed: Sequence[SealedSample]) -> list[Sample]:
    """Sealed samples as a reader sees them; what is noted of them must be what they say."""
    samples = [Sample(one.sample.encoded) for one in sealed]
    for sample, (_, kept) in zip(samples, sealed, strict=True):
        assert (sample.serial, sample.epoch, sample.count) == (kept.serial, kept.epoch, kept.count)
        assert sample.slices.tolist() == kept.slices.tolist()
        assert sample.firsts.tolist() == kept.firsts.tolist()
        assert sample.lasts.tolist() == kept.lasts.tolist()
    return samples


def ids_in(sealed: Sequence[SealedSample]) -> list[int]:
    return [number for sample in decoded(sealed) for number in sample.rows.ids.tolist()]


def ranges(sealed: Sequence[SealedSample]) -> list[tuple[int, int, int]]:
    """The runs of all samples: slice, first and last number."""
    batches = [batch for sample in decoded(sealed) for batch in sample.batches()]
    return [(batch.slice, batch.first, batch.last) for batch in batches]


def retained(serial: int, runs: Mapping[int, tuple[int, int]], epoch: int = 1) -> Retained:
    """A sample with numbers (first, last) of slices, whose bytes are as many as its items."""
    firsts, lasts = (np.array([run[i] for run in runs.values()]) for i in (0, 1))
    encoded = bytes(int((lasts - firsts + 1).sum()))
    return Retained(serial, epoch, encoded, np.array(list(runs)), firsts, lasts)
