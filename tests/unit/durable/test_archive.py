"""Archivers that are killed, late, or two at once: the archive has every item once."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.durable.stores import Store
from tests.unit.durable.test_merging import rows

from evenflow.durable.archive import Archive
from evenflow.durable.frames import archive_topic, encode_bundle
from evenflow.durable.index import (
    NOTHING,
    Entry,
    Tip,
    counting,
    decode_entry,
    encode_entry,
    entry_of,
    index_topic,
    placed,
    reached,
)
from evenflow.durable.selection import may_be_in, selected
from evenflow.errors import DecodeError, ReadFailed
from evenflow.model.ids import NOWHERE, Position
from evenflow.model.selection import Selection

WRITER = 5


def up_to(number: int) -> Position:
    """The stream of these tests: one writer, an item in each epoch."""
    return Position({WRITER: number})


def bundle(start: int, end: int) -> list[Any]:
    return [rows([(0, WRITER, number) for number in range(start + 1, end + 1)])]


def numbers(archive: Archive) -> list[int]:
    """What a reader finds, from the beginning."""
    now = archive.now()
    result: list[int] = []
    for one in archive.counted(1, now, archive.tip_from(1, now)):
        table = archive.rows(one.entry)
        assert table is not None
        result += table.column("number").to_pylist()
    return result


class TestArchive:
    @pytest.mark.parametrize("ahead_s", [0, 60, 86_400])
    def test_the_next_archiver_goes_on_where_the_last_one_was(self, ahead_s: int) -> None:
        store: Any = Store()
        first = Archive(store, "fleet", 2)
        assert first.open() == NOWHERE
        assert first.add(bundle(0, 3), up_to(3)) == up_to(3)
        store.clock += ahead_s * 10**9
        assert first.add(bundle(3, 4), up_to(4)) == up_to(4)
        store.clock += ahead_s * 10**9
        second = Archive(store, "fleet", 2)
        assert second.open() == up_to(4)
        assert second.add(bundle(4, 6), up_to(6)) == up_to(6)
        assert numbers(second) == [1, 2, 3, 4, 5, 6]

    def test_pieces_without_an_entry_count_for_nothing(self) -> None:
        store: Any = Store()
        Archive(store, "fleet", 2).open()
        pieces = encode_bundle(bundle(0, 3), up_to(3), "of one that died", 100)
        store.publish_all(archive_topic("fleet"), pieces)
        archive = Archive(store, "fleet", 2)
        assert archive.open() == NOWHERE
        assert archive.add(bundle(0, 3), up_to(3)) == up_to(3)
        assert numbers(archive) == [1, 2, 3]

    def test_of_two_archivers_at_once_the_later_one_sees_what_the_other_has_added(self) -> None:
        store: Any = Store()
        one, other = Archive(store, "fleet", 2), Archive(store, "fleet", 2)
        one.open()
        other.open()
        assert one.add(bundle(0, 2), up_to(2)) == up_to(2)
        assert other.add(bundle(0, 5), up_to(5)) == up_to(2)  # nothing beyond it may be committed
        assert other.add(bundle(2, 5), up_to(5)) == up_to(5)
        assert one.refresh() == up_to(5)
        assert numbers(one) == [1, 2, 3, 4, 5]

    def test_what_has_expired_is_told_from_what_is_missing(self) -> None:
        store: Any = Store()
        archive = Archive(store, "fleet", 2)
        archive.open()
        archive.add(bundle(0, 2), up_to(2))
        archive.add(bundle(2, 3), up_to(3))
        first, second = (one.entry for one in archive.entries(1, archive.now()))
        store.publish_all(archive_topic("fleet"), [b"foreign"])
        store.publish(index_topic("fleet"), b"foreign")
        pieces = store.stored[archive_topic("fleet")]
        pieces.pop(1)
        with pytest.raises(ReadFailed, match="not whole"):
            archive.rows(second)
        pieces.pop(0)
        assert archive.rows(first) is None
        assert archive.refresh() == up_to(3)


def entry(start: Tip, end: int, name: str = "one") -> Entry:
    return entry_of(bundle(start.position[WRITER], end), name, start.bundle, up_to(end))


@given(st.integers(0, 2**32 - 1))
def test_everybody_agrees_on_what_counts_wherever_he_begins(seed: int) -> None:
    """Archivers write with what they knew some time ago, and look before they go on."""
    rng = random.Random(seed)
    log: list[Entry] = []
    tips = [NOTHING] * 3  # what each archiver believes
    pending: list[Entry | None] = [None, None, None]

    def truth() -> Tip:
        counted = list(counting(log, NOTHING))
        return log[counted[-1]].tip if counted else NOTHING

    for step in range(rng.randint(1, 25)):
        who = rng.randrange(3)
        late = pending[who]
        if late is None:
            end = tips[who].position[WRITER] + rng.randint(1, 3)
            pending[who] = entry(tips[who], end, f"{step} of {who}")
        else:  # what it wrote is stored only now, whatever came meanwhile; then it looks
            log.append(late)
            pending[who], tips[who] = None, truth()
    counted = list(counting(log, NOTHING))
    spans = [log[n] for n in counted]
    # Every number once, without a hole.
    assert sum(one.items for one in spans) == truth().position[WRITER]
    for begin in range(len(log) + 1):
        window = log[begin:]
        found = reached(window, whole=False)
        assert found is None or found == truth()
        if found is not None:
            assert set(counting(window, None)) <= {n - begin for n in counted}
    assert reached(log, whole=True) == truth()


class TestEntries:
    def test_survive_the_wire(self) -> None:
        found = placed(entry(NOTHING, 3), 7, 9)
        assert decode_entry(encode_entry(found)) == found
        assert (found.items, found.slices, found.senders) == (3, (0,), ("s",))
        assert found.tip == Tip("one", up_to(3))
        for damaged in (b"", b"{}", b"[]", encode_entry(found)[:-1]):
            with pytest.raises(DecodeError):
                decode_entry(damaged)

    def test_list_only_some_slices(self) -> None:
        many = rows([(number, WRITER, 1) for number in range(300)])
        assert entry_of([many], "a", "", up_to(1)).slices is None

    @pytest.mark.parametrize(
        ("wanted", "may"),
        [
            (Selection(), True),
            (Selection(slices=frozenset({3})), True),
            (Selection(slices=frozenset({4, 5})), False),
            (Selection(senders=frozenset({"s"})), True),
            (Selection(senders=frozenset({"t"})), False),
            (Selection(oldest=0, newest=0), True),
            (Selection(oldest=1), False),
            (Selection(newest=-1), False),
        ],
    )
    def test_may_have_what_is_wanted(self, wanted: Selection, may: bool) -> None:
        some = rows([(3, WRITER, 1), (4_000, WRITER, 2)])
        found = entry_of([some], "a", "", up_to(2))
        assert may_be_in(wanted, found) is may
        kept = selected(wanted, pa.Table.from_batches([some]))
        assert bool(kept.num_rows) is may


def test_two_selections_are_one() -> None:
    one = Selection(frozenset({1, 2}), None, 5, None)
    other = Selection(frozenset({2, 3}), frozenset({"a"}), 3, 9)
    assert one.narrowed(other) == Selection(frozenset({2}), frozenset({"a"}), 5, 9)
