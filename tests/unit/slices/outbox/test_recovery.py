"""What is on disk after any crash: all that was sent, and nothing else under its numbers."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.slices.publisher.items import SLICES, table_of

from evenflow.errors import OutboxDamaged, OutboxRefused
from evenflow.slices.outbox.records import Kind, Tail, encode_record, scan
from evenflow.slices.outbox.recovery import SegmentData, recover
from evenflow.slices.outbox.state import State, encode_note

from .paper import IDENTITY, Life, Paper, numbered, uncommitted


def records(*bodies: bytes, group: int | None = None) -> bytes:
    data = b""
    for body in bodies:
        start = len(data) if group is None else group
        data += b"".join(encode_record(Kind.SAMPLE, body, start))
    return data


class TestScan:
    def test_reads_what_was_written(self) -> None:
        found = scan(memoryview(records(b"a", b"", b"12345678") + bytes(100)))
        assert [bytes(one.body) for one in found.records] == [b"a", b"", b"12345678"]
        assert found.tail is Tail.CLEAN

    @given(st.lists(st.binary(max_size=40), max_size=5), st.data())
    def test_any_prefix_is_a_prefix_of_what_was_written(
        self, bodies: list[bytes], data: st.DataObject
    ) -> None:
        whole = records(*bodies)
        cut = data.draw(st.integers(0, len(whole)))
        found = scan(memoryview(whole[:cut] + bytes(data.draw(st.integers(0, 50)))))
        read = [bytes(one.body) for one in found.records]
        assert read == bodies[: len(read)]
        assert found.tail is not Tail.DAMAGED
        assert found.end == len(records(*read))

    def test_a_bad_record_before_a_later_group_is_damage(self) -> None:
        data = bytearray(records(b"first", b"second"))
        data[26] ^= 1
        assert scan(memoryview(data)).tail is Tail.DAMAGED

    def test_a_bad_record_in_the_last_group_is_a_torn_tail(self) -> None:
        data = bytearray(records(b"first", b"second", group=0))
        data[26] ^= 1
        assert scan(memoryview(data)) == ([], 0, Tail.TORN)


class Schedule:
    """Lives of one writer, in which anything happens, and what nodes know of it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.paper = Paper()
        self.life = Life(self.paper)
        self.sent: dict[tuple[int, int], int] = {}
        """The id of each (slice, number) that a node may have."""
        self.floors = np.zeros(SLICES, np.int64)
        self.unit = self.ids = 0

    def publish(self, unit: int | None = None) -> None:
        self.ids += 100
        count = self.random.randrange(0 if unit else 1, 12)
        slices = [self.random.randrange(SLICES) for _ in range(count)]
        self.life.seal([(s, self.ids + n) for n, s in enumerate(slices)], unit)

    def publish_unit(self) -> None:
        self.unit += 1
        self.publish(self.unit)

    def write(self) -> None:
        for key, number in numbered(self.life.write()).items():
            assert self.sent.setdefault(key, number) == number, "a number was used twice"

    def commit(self) -> None:
        """Nodes commit what they were sent, and nothing else."""
        for slice_id in range(SLICES):
            newest = max((n for s, n in self.sent if s == slice_id), default=0)
            floor = self.random.randint(int(self.floors[slice_id]), newest)
            self.floors[slice_id] = floor
        newly = self.life.core.retention.commit(np.arange(SLICES), self.floors)
        self.life.core.counts.committed += newly.items

    def end_epoch(self) -> None:
        self.life.end_epoch()

    def crash(self) -> None:
        """Die, perhaps in the middle of a write, and come back."""
        before = self.life.state.epoch, self.life.state.unit
        if self.random.random() < 0.7:
            self.life.write(torn=self.random)
        self.life = life = Life(self.paper)
        kept = uncommitted(life.core)
        for key, number in self.sent.items():
            if key in kept or key[1] > self.floors[key[0]]:
                assert kept[key] == number
        assert life.core.epoch > before[0]
        assert before[1] <= life.state.unit <= self.unit


@given(st.integers(0, 1 << 32))
def test_whatever_happens_what_was_sent_is_kept_under_its_numbers_until_it_is_committed(
    seed: int,
) -> None:
    schedule = Schedule(seed)
    steps = (
        schedule.publish,
        schedule.publish_unit,
        schedule.write,
        schedule.write,
        schedule.commit,
        schedule.end_epoch,
        schedule.crash,
    )
    for _ in range(schedule.random.randrange(5, 60)):
        schedule.random.choice(steps)()
    schedule.crash()


def test_a_unit_without_its_end_is_not_there_and_its_numbers_are_free() -> None:
    paper = Paper()
    life = Life(paper)
    life.seal([(0, 1), (1, 2)])
    life.write()
    life.seal([(0, 3), (0, 4), (2, 5)], unit=1)
    life.write()
    index, start, end = paper.last_write
    for cut in range(start, end - 32):
        torn = Paper()
        torn.segments = {n: bytearray(b) for n, b in paper.segments.items()}
        torn.segments[index][cut:end] = bytes(end - cut)
        again = Life(torn)
        whole = again.state.unit == 1
        assert uncommitted(again.core).keys() == (
            {(0, 1), (1, 1), (0, 2), (0, 3), (2, 1)} if whole else {(0, 1), (1, 1)}
        )
        again.seal([(0, 9)])
        assert numbered(again.write()) == {(0, 4 if whole else 2): 9}
    assert Life(paper).state.unit == 1


def test_segments_go_when_they_are_committed_and_their_numbers_stay() -> None:
    paper = Paper()
    life = Life(paper)
    for turn in range(40):
        rows = [(turn % SLICES, turn * 100 + n) for n in range(30)]
        life.core.add_table(*table_of(rows, size=10_000))
        life.journal.append(life.core.seal(0.0))
        life.write()
        if turn % 3 == 2:
            newly = life.core.retention.commit(range(SLICES), life.core.retention.newest)
            life.core.counts.committed += newly.items
            life.write()
    assert min(paper.segments) > 1
    newest = life.core.retention.newest.copy()
    again = Life(paper)
    assert (again.core.retention.newest == newest).all()
    assert again.core.counts.committed == life.core.counts.committed


class TestDamage:
    @pytest.fixture
    def paper(self) -> Paper:
        paper = Paper()
        life = Life(paper)
        for number in range(3):
            life.seal([(0, number), (1, number)])
            life.write()
        return paper

    def test_says_what_can_be_read_and_what_to_do(self, paper: Paper) -> None:
        data = paper.segments[1]
        found = scan(memoryview(bytes(data)))
        data[found.records[2].start + 30] ^= 1
        with pytest.raises(OutboxDamaged, match=r"2 items in 1 sample .* from a copy") as caught:
            paper.recover()
        assert caught.value.items == 2

    def test_a_missing_segment_is_noticed(self, paper: Paper) -> None:
        Life(paper)
        del paper.segments[1]
        with pytest.raises(OutboxDamaged, match="earlier segments"):
            paper.recover()

    def test_a_gap_between_segments_is_noticed(self, paper: Paper) -> None:
        Life(paper)
        Life(paper)
        del paper.segments[2]
        with pytest.raises(OutboxDamaged, match="does not follow segment 1"):
            paper.recover()

    def test_a_file_that_is_none_is_told(self) -> None:
        with pytest.raises(OutboxDamaged, match="its beginning cannot be read"):
            recover("folder", [SegmentData(1, memoryview(b"nonsense"))], IDENTITY)

    def test_the_outbox_of_another_topic_is_refused(self, paper: Paper) -> None:
        data = SegmentData(1, memoryview(bytes(paper.segments[1])))
        for other in (
            IDENTITY._replace(topic="others"),
            IDENTITY._replace(slice_count=5),
            IDENTITY._replace(domain=8),
        ):
            with pytest.raises(OutboxRefused, match="give another folder"):
                recover("folder", [data], other)


def test_notes_of_before_say_nothing_of_what_was_left_out() -> None:
    life = Life(Paper())
    life.core.counts.thinned = 7
    note = encode_note(life.state, life.progress())
    assert note is not None
    life.state.apply(memoryview(note))
    assert State.decode(memoryview(life.state.encode())).thinned == 7
    life.state.apply(memoryview(note[:-8]))
    assert life.state.thinned == 7
