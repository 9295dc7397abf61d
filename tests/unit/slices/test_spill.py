"""Batches on disk: the same batches, bounded, and nothing left behind."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenflow.config import Config
from evenflow.errors import ConfigError
from evenflow.model.batch import Item
from evenflow.model.messages import SliceState
from evenflow.model.sample import Sample
from evenflow.slices.consumer.arrow_batches import record_batch
from evenflow.slices.node.cache.slice_cache import SliceCache
from evenflow.slices.spill import Spill, open_spill
from evenflow.testing.samples import encode_items

SEGMENT = 4_096


def sample(first: int, count: int = 3, size: int = 50, *, headed: bool = False) -> Sample:
    items = [
        Item(
            f"car-{n}", n, n, bytes([n % 256]) * size, {"n": b"%d" % n} if headed and n % 2 else {}
        )
        for n in range(first, first + count)
    ]
    return Sample(encode_items(1, first, 1, {0: (first, items), 5: (first, items)}))


def spill_in(folder: Path, segments: int = 4) -> Spill:
    return Spill(folder, segments * SEGMENT, segment=SEGMENT)


def test_a_spilled_batch_is_the_same_batch(tmp_path: Path) -> None:
    spill = spill_in(tmp_path)
    for count in (1, 3, 40):
        original = sample(7, count, headed=True)
        view = spill.keep(original.encoded)
        assert view is not None
        there = original.batches()[1]
        here = original.at(view).batches()[1]
        assert list(here) == list(there) == list(Sample(view).batches()[1])
        assert all(type(item.payload) is bytes for item in here)
        assert list(here.between(7, 7)) == list(there)[:1]
        assert record_batch([here], headed=True) == record_batch([there], headed=True)


def test_the_files_have_no_name_so_that_a_killed_process_leaves_nothing(tmp_path: Path) -> None:
    spill = spill_in(tmp_path)
    assert spill.keep(b"x" * 100) is not None
    assert (spill.size, list(tmp_path.iterdir())) == (SEGMENT, [])


def test_a_segment_is_given_back_with_the_last_batch_in_it(tmp_path: Path) -> None:
    spill = spill_in(tmp_path)
    kept = [spill.keep(b"x" * 1_000) for _ in range(16)]
    assert None not in kept
    assert spill.size == 4 * SEGMENT
    assert spill.keep(b"x" * 1_000) is None
    assert spill.room == 0
    del kept[4:8]
    assert spill.size == 3 * SEGMENT
    assert spill.keep(b"x" * 1_000) is not None
    kept.clear()
    assert spill.size == SEGMENT


def test_a_batch_larger_than_a_segment_gets_one_of_its_own(tmp_path: Path) -> None:
    spill = spill_in(tmp_path)
    large = spill.keep(b"y" * (2 * SEGMENT))
    assert large == b"y" * (2 * SEGMENT)
    assert spill.keep(b"z" * (5 * SEGMENT)) is None


def test_a_full_disk_is_a_refusal_that_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    spill = spill_in(tmp_path)
    monkeypatch.setattr(os, "posix_fallocate", full)
    assert spill.keep(b"x") is None
    assert (spill.failed, spill.size, spill.room) == (1, 0, 0)
    monkeypatch.undo()
    assert spill.keep(b"x") is not None
    assert spill.room == 4 * SEGMENT - 1


def test_a_folder_that_cannot_be_used_is_named_at_the_start(tmp_path: Path) -> None:
    assert open_spill("node", "", 0) is None
    with pytest.raises(ConfigError, match=r"node\.spill_dir .* can be written"):
        open_spill("node", str(tmp_path / "nowhere"), 1)
    node = Config().node
    assert open_spill("node", node.spill_dir, node.spill_bytes) is not None


@given(
    offers=st.lists(st.tuples(st.integers(1, 12), st.integers(0, 3)), max_size=60),
    limit=st.integers(0, 3_000),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_memory_keeps_its_bound_and_everything_comes_out_in_order(
    tmp_path: Path, offers: list[tuple[int, int]], limit: int
) -> None:
    """Batches come in any order, some are taken out in between, and disk holds the rest."""
    spill = spill_in(tmp_path, segments=50)
    cache = SliceCache(limit, spill=spill)
    cache.start(cache.hold(0, SliceState.AVAILABLE, 1), 1, 0)
    largest = sample(34).size
    out: list[int] = []

    def take(count: int) -> None:
        for _ in range(count):
            one = cache.next(3)
            out.extend(item.id for item in one or ())

    def in_memory() -> int:
        samples = {batch.sample for batch in cache.held[0].tracks[1].batches()}
        return sum(one.size for one in samples if isinstance(one.encoded, bytes))

    for number, taken in offers:
        cache.offer(sample(3 * number - 2))
        assert in_memory() <= limit + largest
        take(taken)
    for number in range(1, 13):
        cache.offer(sample(3 * number - 2))
    take(13)
    assert out == list(range(1, 37))
    assert (cache.size, cache.refused) == (0, 0)


def test_without_room_on_disk_batches_wait_at_the_publisher(tmp_path: Path) -> None:
    cache = SliceCache(0, spill=spill_in(tmp_path, segments=1))
    cache.start(cache.hold(0, SliceState.AVAILABLE, 1), 1, 0)
    offered = [sample(1 + number, 1, 750) for number in range(5)]
    for one in offered:
        [(_, track, _, _)] = cache.offer(one)
    assert (cache.refused, track.missing) == (2, 2)
    out = []
    while track.done < len(offered):
        for one in offered:
            cache.offer(one)
        while (taken := cache.next(1)) is not None:
            track.complete(taken)
            out += [item.id for item in taken]
    assert out == [1, 2, 3, 4, 5]
