"""Debts to nodes: paid once, in order, cut to what is wanted, when the node is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from queue import Queue

import numpy as np
import pytest

from evenflow.clock import SystemClock
from evenflow.domain import channels
from evenflow.errors import ConfigError
from evenflow.model.messages import ReplayAnswer
from evenflow.model.sample import Sample
from evenflow.slices.publisher.retention import Lacking, Retained
from evenflow.slices.publisher.sending.replayer import Replayer
from evenflow.testing.samples import encode_items

from .fakes import LIMIT_S, FakeParticipant
from .items import SLICES, item

REPLAY = channels.replay("items")
FLOORS = np.zeros(SLICES, np.int64)
"""What is committed, of every test."""


@pytest.fixture
def participant() -> FakeParticipant:
    return FakeParticipant()


@pytest.fixture(autouse=True)
def floors() -> np.ndarray:
    """What is committed; nothing at first."""
    FLOORS[:] = 0
    return FLOORS


@pytest.fixture
def failures() -> Queue[BaseException]:
    return Queue()


@pytest.fixture
def replayer(participant: FakeParticipant, failures: Queue[BaseException]) -> Iterator[Replayer]:
    opened = Replayer(participant, "items", SystemClock(), failures.put)  # type: ignore[arg-type]
    yield opened
    opened.close()


def retained(serial: int, runs: dict[int, tuple[int, int]]) -> Retained:
    """A sample with some items of slices: the number of the first, and how many."""
    items = {s: (first, [item(n) for n in range(count)]) for s, (first, count) in runs.items()}
    sample = Sample(encode_items(1, serial, 1, items))
    firsts = sample.firsts.astype(np.int64)
    return Retained(serial, 1, sample.encoded, sample.slices.astype(np.int64), firsts, sample.lasts)


def lacking(*numbers: int) -> tuple[Lacking, ...]:
    """Samples of one item of slice 0 each, numbered like their serials."""
    return tuple(Lacking(retained(n, {0: (n, 1)}), np.array([True]), FLOORS) for n in numbers)


def numbers(written: Sequence[bytes]) -> list[int]:
    return [int(Sample(encoded).firsts[0]) for encoded in written]


def test_a_request_repeated_while_under_way_adds_nothing(
    replayer: Replayer, participant: FakeParticipant
) -> None:
    owed = lacking(*range(1, 201))
    replayer.resend("a", owed[:150])
    replayer.resend("a", owed)
    replayer.resend("a", owed[50:])
    writer = participant.of(REPLAY, "a")
    writer.readers = 1
    assert numbers(writer.wait_for(200)) == list(range(1, 201))
    replayer.close()
    assert (len(writer.written), replayer.replayed) == (200, 200)


def test_what_is_committed_meanwhile_is_left_out(
    replayer: Replayer, participant: FakeParticipant, floors: np.ndarray
) -> None:
    replayer.resend("a", lacking(1, 2, 3, 4))
    floors[0] = 2
    writer = participant.of(REPLAY, "a")
    writer.readers = 1
    assert numbers(writer.wait_for(2)) == [3, 4]


def test_a_sample_of_which_little_is_wanted_is_cut_to_that(
    replayer: Replayer, participant: FakeParticipant, floors: np.ndarray
) -> None:
    sample = retained(7, {0: (1, 5), 1: (4, 2), 2: (9, 5), 3: (1, 1)})
    replayer.resend("a", (Lacking(sample, np.array([False, True, False, False]), FLOORS),))
    replayer.resend("a", (Lacking(sample, np.array([False, False, False, True]), FLOORS),))
    floors[3] = 1
    writer = participant.of(REPLAY, "a")
    writer.readers = 1
    [sent] = map(Sample, writer.wait_for(1))
    assert (sent.serial, sent.epoch, sent.writer) == (7, 1, 1)
    assert (sent.slices.tolist(), sent.firsts.tolist(), sent.counts.tolist()) == ([1], [4], [2])
    assert list(sent.rows) == [item(0), item(1)]


def test_what_is_asked_for_twice_is_sent_together(
    replayer: Replayer, participant: FakeParticipant
) -> None:
    sample = retained(1, {0: (1, 1), 1: (1, 1), 2: (1, 9)})
    replayer.resend("a", (Lacking(sample, np.array([True, False, False]), FLOORS),))
    replayer.resend("a", (Lacking(sample, np.array([False, True, False]), FLOORS),))
    writer = participant.of(REPLAY, "a")
    writer.readers = 1
    [sent] = map(Sample, writer.wait_for(1))
    assert sent.slices.tolist() == [0, 1]


def test_a_sample_that_is_wanted_mostly_is_sent_as_it_is(
    replayer: Replayer, participant: FakeParticipant
) -> None:
    sample = retained(1, {0: (1, 5), 1: (1, 2)})
    replayer.resend("a", (Lacking(sample, np.array([True, False]), FLOORS),))
    writer = participant.of(REPLAY, "a")
    writer.readers = 1
    assert writer.wait_for(1) == [sample.encoded]


def test_a_node_without_room_does_not_hold_up_another(
    replayer: Replayer, participant: FakeParticipant
) -> None:
    for node in "ab":
        participant.writer(REPLAY, node).readers = 1
    stuck = participant.of(REPLAY, "a")
    stuck.full = True
    replayer.resend("a", lacking(1, 2))
    assert stuck.tried.wait(LIMIT_S)
    replayer.resend("b", lacking(3, 4))
    assert numbers(participant.of(REPLAY, "b").wait_for(2)) == [3, 4]
    stuck.full = False
    assert numbers(stuck.wait_for(2)) == [1, 2]


def test_answers_do_not_wait_for_the_samples(
    replayer: Replayer, participant: FakeParticipant
) -> None:
    answer = ReplayAnswer("items", 1, "a", 7, (), (), (), (), ())
    replayer.resend("a", lacking(1))
    replayer.answer("a", answer)
    assert participant.of(channels.ANSWERS, "a").wait_for(1) == [answer]


def test_a_node_with_an_impossible_name_is_refused(replayer: Replayer) -> None:
    with pytest.raises(ConfigError):
        replayer.resend("*", lacking(1))


def test_a_fault_of_its_own_is_told_to_the_publisher(
    replayer: Replayer, participant: FakeParticipant, failures: Queue[BaseException]
) -> None:
    participant.writer(REPLAY, "a").readers = 1
    broken = lacking(1)[0]._replace(floors=None)  # type: ignore[arg-type]
    replayer.resend("a", (broken,))
    assert isinstance(failures.get(timeout=LIMIT_S), TypeError)
