"""The way of samples to nodes: order, readers to come, congestion, recovery, what is unsent."""

from __future__ import annotations

from threading import Thread

import pytest

from evenflow.domain import channels
from evenflow.slices.publisher.retention import Retained
from evenflow.slices.publisher.sealing import SealedSample
from evenflow.slices.publisher.sending.owner_writer import FEW_UNSENT, MATCH_S, OwnerWriters, Unsent

from .fakes import FakeParticipant, FakeWriter
from .items import retained

DATA = channels.data("items")


def sample(serial: int) -> Retained:
    return retained(serial, {0: (1, serial)})


class Owners:
    """The writers of a publisher whose samples stay retained until a test forgets them."""

    def __init__(self, readers: int = 1) -> None:
        self.participant = FakeParticipant(readers)
        self.forgotten: set[int] = set()
        self.writers = OwnerWriters(
            self.participant,  # type: ignore[arg-type]
            "items",
            lambda serial: serial > 0 and serial not in self.forgotten,
        )

    def put(self, node: str, *serials: int, now: float = 0.0) -> None:
        sealed = [SealedSample(node, sample(serial)) for serial in serials]
        self.writers.drain(self.writers.put(sealed, now), now)

    def writer(self, node: str) -> FakeWriter:
        return self.participant.of(DATA, node)

    def written(self, node: str) -> list[int]:
        """The serial numbers of what was written, by which the test's samples are as long."""
        return list(map(len, self.writer(node).written))


def test_writes_to_each_node_in_order() -> None:
    owners = Owners()
    owners.put("a", 1, 3)
    owners.put("b", 2)
    owners.put("a", 4)
    assert (owners.written("a"), owners.written("b")) == ([1, 3, 4], [2])
    assert (owners.writers.samples, owners.writers.skipped, owners.writers.congested) == (4, 0, 0)
    assert not owners.writers.needs_care
    assert sorted(owners.writers.take_written()) == ["a", "b"]
    assert owners.writers.take_written() == []


@pytest.mark.parametrize("nobody", ["", "*", "a b"])
def test_what_nobody_can_own_is_unsent(nobody: str) -> None:
    owners = Owners()
    owners.put(nobody, 1)
    owners.put("a", 2)
    assert (owners.writers.nodes, owners.writers.skipped) == (["a"], 1)
    assert not owners.writers.are_safe(1)
    owners.forgotten.add(1)
    assert owners.writers.are_safe(2)


def test_a_full_writer_is_not_tried_again_until_its_node_has_caught_up() -> None:
    owners = Owners()
    owners.put("a", 1)
    owners.writer("a").full, owners.writer("a").caught_up = True, False
    owners.put("a", 2)
    owners.writer("a").full = False
    owners.put("a", 3)
    owners.writers.tend(0.0)
    owners.put("a", 4)
    assert (owners.writers.congested, owners.writers.skipped) == (1, 3)
    assert owners.writers.needs_care
    owners.writer("a").caught_up = True
    owners.writers.tend(0.0)
    owners.put("a", 5)
    assert (owners.writers.congested, owners.writers.skipped) == (0, 3)
    assert (owners.written("a"), owners.writers.needs_care) == ([1, 5], False)


def test_a_congested_node_is_not_waited_for_and_costs_the_others_nothing() -> None:
    owners = Owners()
    owners.put("a", 1)
    owners.put("b", 2)
    owners.writer("a").full = True
    owners.writer("a").caught_up = owners.writer("b").caught_up = False
    owners.put("a", 3)
    owners.put("b", 4)
    assert (owners.written("a"), owners.written("b")) == ([1], [2, 4])
    assert [owners.writers.needs_no_wait(node) for node in "ab"] == [True, False]
    owners.writer("b").caught_up = True
    assert owners.writers.needs_no_wait("b")
    assert owners.writers.needs_no_wait("nobody")


def test_samples_wait_for_the_reader_of_a_new_node() -> None:
    owners = Owners(readers=0)
    owners.writers.meet("a", 10.0)
    owners.put("a", 1, 2, now=10.0)
    assert (owners.written("a"), owners.writers.needs_care) == ([], True)
    assert not owners.writers.are_safe(2)
    assert owners.writers.needs_no_wait("a")
    owners.writer("a").readers = 1
    owners.writers.tend(10.5)
    assert (owners.written("a"), owners.writers.skipped) == ([1, 2], 0)
    assert (owners.writers.needs_care, owners.writers.are_safe(2)) == (False, True)


def test_samples_do_not_wait_for_a_reader_that_does_not_come() -> None:
    owners = Owners(readers=0)
    owners.put("a", 1, now=10.0)
    owners.writers.tend(10.0 + MATCH_S)
    owners.put("a", 2, now=11.5)
    assert (owners.writers.skipped, owners.writers.congested) == (2, 0)
    assert not owners.writers.needs_care


def test_samples_do_not_wait_for_a_reader_that_is_gone() -> None:
    owners = Owners()
    owners.put("a", 1)
    owners.writer("a").readers = 0
    owners.put("a", 2)
    assert (owners.written("a"), owners.writers.skipped, owners.writers.congested) == ([1], 1, 0)


def test_a_congested_node_that_is_gone_is_congested_no_more() -> None:
    owners = Owners()
    owners.put("a", 1)
    owners.writer("a").full = True
    owners.put("a", 2)
    owners.writer("a").readers = 0
    owners.put("a", 3)
    assert owners.writers.congested == 0


def test_what_was_written_to_a_node_is_safe_when_it_has_acknowledged() -> None:
    owners = Owners()
    owners.put("a", 1)
    owners.writer("a").caught_up = False
    assert not owners.writers.are_safe(1)
    owners.writer("a").caught_up = True
    assert owners.writers.are_safe(1)


def test_what_was_written_to_a_node_that_is_gone_is_safe_when_it_is_committed() -> None:
    owners = Owners()
    owners.put("a", 1)
    owners.writer("a").readers = 0
    assert not owners.writers.are_safe(1)
    owners.writers.part("a")
    assert owners.writers.nodes == []
    assert not owners.writers.are_safe(1)
    owners.forgotten.add(1)
    assert owners.writers.are_safe(1)


@pytest.mark.parametrize("parted", [False, True])
def test_of_what_was_written_to_a_node_that_is_gone_the_newest_is_not_all(*, parted: bool) -> None:
    owners = Owners()
    owners.put("a", *range(1, FEW_UNSENT + 10))
    owners.forgotten.update(range(1, 5), range(6, FEW_UNSENT + 10))
    owners.writer("a").readers = 0
    if parted:
        owners.writers.part("a")
    assert not owners.writers.are_safe(FEW_UNSENT + 9)
    owners.forgotten.add(5)
    assert owners.writers.are_safe(FEW_UNSENT + 9)


def test_a_sample_that_is_being_written_is_not_safe() -> None:
    owners = Owners()
    owners.put("a", 1)
    safe = []

    def write(encoded: bytes) -> bool:
        safe.append(owners.writers.are_safe(2))
        return True

    owners.writer("a").write_encoded = write  # type: ignore[method-assign]
    owners.put("a", 2)
    assert (safe, owners.writers.are_safe(2)) == ([False], True)


def test_a_write_that_fails_leaves_its_sample_unsent_and_does_not_stop_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owners = Owners()
    owners.put("a", 1)

    def fail(_: bytes) -> bool:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(owners.writer("a"), "write_encoded", fail)
        with pytest.raises(RuntimeError):
            owners.put("a", 2)
    owners.put("a", 3)
    assert (owners.written("a"), owners.writers.skipped) == ([1, 3], 1)
    assert not owners.writers.are_safe(3)


def test_a_node_that_is_gone_loses_its_writer_and_may_come_back() -> None:
    owners = Owners()
    owners.put("a", 1)
    owners.put("b", 2)
    first = owners.writer("a")
    owners.writers.part("ab")
    assert owners.writers.nodes == ["a", "b"], "they read"
    first.readers = 0
    owners.writers.part(["a", "nobody"])
    assert (owners.writers.nodes, first.closed, owners.writers.samples) == (["b"], True, 2)
    assert owners.writers.readers == {"b"}
    owners.put("a", 3)
    assert (owners.written("a"), owners.writers.samples) == ([3], 3)


def test_a_writer_that_samples_wait_for_is_not_closed() -> None:
    owners = Owners(readers=0)
    owners.put("a", 1)
    owners.writers.part("a")
    assert owners.writers.nodes == ["a"]


def test_a_writer_that_is_being_written_to_is_not_closed() -> None:
    owners = Owners()
    owners.put("a", 1)
    writer = owners.writer("a")

    def write(encoded: bytes) -> bool:
        writer.readers = 0
        other = Thread(target=owners.writers.part, args=("a",))
        other.start()
        other.join()
        return True

    writer.write_encoded = write  # type: ignore[method-assign]
    owners.put("a", 2)
    assert (owners.writers.nodes, writer.closed) == (["a"], False)


def test_a_closed_writer_has_no_reader() -> None:
    owners = Owners()
    owners.put("a", 1)
    owners.writers.close()
    assert (owners.writers.readers, owners.writer("a").closed) == (frozenset(), True)


def test_notes_of_unsent_samples_go_when_these_are_forgotten() -> None:
    kept = set(range(1, 10 * FEW_UNSENT))
    unsent = Unsent(kept.__contains__)
    for serial in sorted(kept):
        unsent.skip(serial)
    assert len(unsent._serials) == len(kept)
    kept.clear()
    for serial in range(10 * FEW_UNSENT, 30 * FEW_UNSENT):
        unsent.skip(serial)
    assert len(unsent._serials) <= FEW_UNSENT
    assert unsent.skipped == 30 * FEW_UNSENT - 1


def test_only_samples_up_to_the_asked_one_count_as_unsent() -> None:
    unsent = Unsent(lambda _: True)
    unsent.skip(5)
    assert [unsent.has(upto) for upto in (4, 5, 6)] == [False, True, True]


def test_what_was_unsent_goes_to_its_owner_once() -> None:
    owners = Owners()
    owners.put("", 1, 2)
    owners.put("a", 3)
    asked: list[int] = []

    def addressed(serial: int) -> list[SealedSample]:
        asked.append(serial)
        return [SealedSample("a", sample(serial))]

    for upto in (1, 2, 2):
        owners.writers.drain(owners.writers.put_unsent(upto, addressed, 0.0), 0.0)
    assert (asked, owners.written("a")) == ([1, 2], [3, 1, 2])
    assert owners.writers.are_safe(3)


@pytest.mark.parametrize("trouble", ["congested", "gone", "another's"])
def test_what_was_unsent_stays_so_while_an_owner_cannot_take_it(trouble: str) -> None:
    owners = Owners()
    owners.put("", 1)
    owners.put("a", 2)
    if trouble == "congested":
        owners.writer("a").full, owners.writer("a").caught_up = True, False
        owners.put("a", 3)
    elif trouble == "gone":
        owners.writer("a").readers = 0
    parts = [SealedSample("a", sample(1))]
    if trouble == "another's":
        parts.append(SealedSample("b", sample(1)))
    skipped = owners.writers.skipped
    assert owners.writers.put_unsent(9, lambda _: parts, 0.0) == []
    assert (owners.writers.skipped, owners.writers.are_safe(9)) == (skipped, False)
