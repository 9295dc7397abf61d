"""One slice's way out: order, congestion, recovery."""

from __future__ import annotations

from evenflow.slices.publisher.slice_writer import SliceWriter, SliceWriters


class FullableWriter:
    """A writer that can be full, and whose readers may not have caught up."""

    def __init__(self) -> None:
        self.full = False
        self.caught_up = True
        self.written: list[bytes] = []

    def write_encoded(self, encoded: bytes) -> bool:
        if not self.full:
            self.written.append(encoded)
        return not self.full

    def wait_acked(self, timeout_s: float) -> bool:
        return self.caught_up


def put(slice_writer: SliceWriter, *numbers: int) -> None:
    for number in numbers:
        slice_writer.put(number, b"%d" % number)
    slice_writer.drain()


def test_writes_in_order() -> None:
    writer = FullableWriter()
    slice_writer = SliceWriter(writer)  # type: ignore[arg-type]
    put(slice_writer, 1, 2)
    put(slice_writer, 3)
    assert writer.written == [b"1", b"2", b"3"]
    assert (slice_writer.written, slice_writer.congested, slice_writer.skipped) == (True, False, 0)


def test_a_full_writer_is_not_tried_again_until_its_readers_caught_up() -> None:
    writer = FullableWriter()
    slice_writer = SliceWriter(writer)  # type: ignore[arg-type]
    put(slice_writer, 1)
    writer.full, writer.caught_up = True, False
    put(slice_writer, 2)
    writer.full = False
    put(slice_writer, 3)
    slice_writer.recover()
    put(slice_writer, 4)
    assert (slice_writer.congested, slice_writer.hole, slice_writer.skipped) == (True, 4, 3)
    writer.caught_up = True
    slice_writer.recover()
    put(slice_writer, 5)
    assert (slice_writer.congested, slice_writer.hole, slice_writer.skipped) == (False, 4, 3)
    assert writer.written == [b"1", b"5"]


class Participant:
    """Opens writers that a test can reach, by partition."""

    def __init__(self) -> None:
        self.writers: list[FullableWriter] = []

    def writer(self, _channel: object, _partition: str) -> FullableWriter:
        self.writers.append(FullableWriter())
        return self.writers[-1]


def test_a_congested_slice_is_not_waited_for_and_costs_the_others_nothing() -> None:
    participant = Participant()
    writers = SliceWriters(participant, "items", 3)  # type: ignore[arg-type]
    participant.writers[1].full = True
    for slice_id in (0, 1):
        writers[slice_id].put(1, b"1")
    writers.drain([0, 1])
    assert (writers.congested, writers.skipped, writers.needs_recovery) == (1, 1, True)
    assert (writers.take_written(), writers.take_written()) == ([0], [])
    participant.writers[0].caught_up = participant.writers[1].caught_up = False
    assert [writers.need_no_wait(slice_id) for slice_id in (0, 1)] == [False, True]
    participant.writers[1].caught_up = True
    writers.recover()
    assert (writers.congested, writers.skipped, writers.needs_recovery) == (0, 1, False)
