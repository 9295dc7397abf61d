"""Few readers over many slices: opened together, folded when all is quiet."""

from __future__ import annotations

from evenflow.domain.channels import slice_partition
from evenflow.slices.node.slice_readers import MATCH_S, OVERLAP_S, QUIET_S, SliceReaders


class Reader:
    def __init__(self, partitions: list[str]) -> None:
        self.partitions = partitions
        self.writers = 0
        self.damaged = 0
        self.closed = False

    def matched(self) -> int:
        return self.writers

    def close(self) -> None:
        self.closed = True


class Domain:
    """Stands for the participant and the waiter."""

    def __init__(self) -> None:
        self.readers: list[Reader] = []

    def reader(self, _: object, partitions: list[str]) -> Reader:
        self.readers.append(Reader(partitions))
        return self.readers[-1]

    def attach(self, reader: Reader) -> None:
        assert reader is self.readers[-1]

    def open(self) -> list[list[str]]:
        return [reader.partitions for reader in self.readers if not reader.closed]


def partitions(*slices: int) -> list[str]:
    return [slice_partition(slice_id) for slice_id in slices]


def readers_of(domain: Domain) -> SliceReaders:
    return SliceReaders(domain, domain, "items")  # type: ignore[arg-type]


def test_new_slices_get_one_reader_together_and_known_ones_none() -> None:
    domain = Domain()
    readers = readers_of(domain)
    readers.subscribe(frozenset({3, 1}), 5, 0, 0.0)
    readers.subscribe(frozenset({1, 2}), 6, 0, 0.0)
    readers.subscribe(frozenset({1, 2, 3}), 7, 0, 0.0)
    assert domain.open() == [partitions(1, 3), partitions(2)]


def test_a_term_is_named_when_every_writer_of_every_slice_is_met() -> None:
    domain = Domain()
    readers = readers_of(domain)
    readers.subscribe(frozenset({1, 3}), 5, 2, 0.0)
    domain.readers[0].writers = 3
    assert (readers.matched(0.1), readers.waiting) == ([], True)
    domain.readers[0].writers = 4
    assert (readers.matched(0.1), readers.waiting) == ([5], False)


def test_a_writer_that_cannot_be_met_is_waited_for_only_so_long() -> None:
    readers = readers_of(Domain())
    readers.subscribe(frozenset({1}), 5, 1, 0.0)
    assert readers.matched(MATCH_S - 0.01) == []
    assert readers.matched(MATCH_S) == [5]


def test_readers_are_folded_into_one_when_all_is_quiet() -> None:
    domain = Domain()
    readers = readers_of(domain)
    readers.subscribe(frozenset({1, 3}), 5, 0, 0.0)
    readers.subscribe(frozenset({2}), 6, 0, 0.0)
    readers.unsubscribe(frozenset({3}), 1.0)
    readers.matched(1.0)
    readers.fold(1.0 + QUIET_S - 0.01)
    assert len(domain.open()) == 2
    folded = 1.0 + QUIET_S
    readers.fold(folded)
    assert domain.open() == [partitions(1, 3), partitions(2), partitions(1, 2)]
    readers.fold(folded + OVERLAP_S)
    assert domain.open() == [partitions(1, 2)]
    readers.fold(folded + 100.0)
    assert domain.open() == [partitions(1, 2)]


def test_nothing_is_folded_while_a_reader_waits_for_writers() -> None:
    domain = Domain()
    readers = readers_of(domain)
    readers.subscribe(frozenset({1}), 5, 0, 0.0)
    readers.subscribe(frozenset({2}), 6, 9, 0.0)
    readers.fold(100.0)
    assert len(domain.open()) == 2


def test_a_slice_wanted_again_while_its_reader_closes_gets_a_new_one() -> None:
    domain = Domain()
    readers = readers_of(domain)
    readers.subscribe(frozenset({1}), 5, 0, 0.0)
    readers.matched(0.0)
    readers.unsubscribe(frozenset({1}), 1.0)
    readers.fold(1.0 + QUIET_S)
    readers.subscribe(frozenset({1}), 6, 0, 1.1 + QUIET_S)
    assert domain.open() == [partitions(1), partitions(1)]


def test_damaged_samples_of_closed_readers_still_count() -> None:
    domain = Domain()
    readers = readers_of(domain)
    readers.subscribe(frozenset({1}), 5, 0, 0.0)
    readers.matched(0.0)
    domain.readers[0].damaged = 2
    readers.unsubscribe(frozenset({1}), 1.0)
    readers.fold(1.0 + QUIET_S)
    readers.fold(1.0 + QUIET_S + OVERLAP_S)
    assert (domain.open(), readers.count_damaged()) == ([], 2)
