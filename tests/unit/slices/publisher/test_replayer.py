"""Debts to nodes: paid once, in order, when the node is there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from evenflow.clock import SystemClock
from evenflow.errors import ConfigError
from evenflow.model.batch import Batch, Item, encode_item
from evenflow.model.messages import ReplayAnswer
from evenflow.slices.publisher.replayer import Replayer

LIMIT_S = 20.0


class FakeWriter:
    """Records what is written, when its node is there and has room."""

    def __init__(self) -> None:
        self.readers = 0
        self.has_room = True
        self.written: list[Any] = []
        self.tried = threading.Event()
        self.changed = threading.Condition()

    def write(self, message: Any) -> bool:
        with self.changed:
            self.written.append(message)
            self.changed.notify_all()
        return True

    def write_encoded(self, encoded: bytes) -> bool:
        self.tried.set()
        return self.has_room and self.write(encoded)

    def matched(self) -> int:
        self.tried.set()
        return self.readers

    def wait_for(self, count: int) -> list[Any]:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.written) >= count, LIMIT_S)
            return list(self.written)

    def close(self) -> None:
        pass


class FakeParticipant:
    def __init__(self) -> None:
        self.writers: dict[tuple[str, str], FakeWriter] = {}

    def writer(self, channel: Any, partition: str) -> FakeWriter:
        return self.writers.setdefault((channel.name, partition), FakeWriter())

    def replay(self, node: str) -> FakeWriter:
        return self.writers["evenflow/replay/items", node]


@pytest.fixture
def participant() -> FakeParticipant:
    return FakeParticipant()


@pytest.fixture
def floors() -> dict[int, int]:
    return {}


@pytest.fixture
def replayer(participant: FakeParticipant, floors: dict[int, int]) -> Iterator[Replayer]:
    opened = Replayer(
        participant,  # type: ignore[arg-type]
        "items",
        lambda slice_id: floors.get(slice_id, 0),
        SystemClock(),
    )
    yield opened
    opened.close()


def batches(*numbers: int) -> tuple[bytes, ...]:
    return tuple(encode_item(1, 0, 1, number, Item("", number, 0, b"")) for number in numbers)


def numbers(written: list[Any]) -> list[int]:
    return [Batch(encoded).first for encoded in written]


def test_a_request_repeated_while_under_way_adds_nothing(
    replayer: Replayer, participant: FakeParticipant
) -> None:
    owed = batches(*range(1, 201))
    replayer.resend("a", owed[:150])
    replayer.resend("a", owed)
    replayer.resend("a", owed[50:])
    writer = participant.replay("a")
    writer.readers = 1
    assert numbers(writer.wait_for(200)) == list(range(1, 201))
    replayer.close()
    assert (len(writer.written), replayer.replayed) == (200, 200)


def test_what_is_committed_meanwhile_is_left_out(
    replayer: Replayer, participant: FakeParticipant, floors: dict[int, int]
) -> None:
    replayer.resend("a", batches(1, 2, 3, 4))
    floors[0] = 2
    writer = participant.replay("a")
    writer.readers = 1
    assert numbers(writer.wait_for(2)) == [3, 4]


def test_a_node_without_room_does_not_hold_up_another(
    replayer: Replayer, participant: FakeParticipant
) -> None:
    for node in "ab":
        participant.writer(_Replay, node).readers = 1
    stuck = participant.replay("a")
    stuck.has_room = False
    replayer.resend("a", batches(1, 2))
    assert stuck.tried.wait(LIMIT_S)
    replayer.resend("b", batches(3, 4))
    assert numbers(participant.replay("b").wait_for(2)) == [3, 4]
    stuck.has_room = True
    assert numbers(stuck.wait_for(2)) == [1, 2]


class _Replay:
    name = "evenflow/replay/items"


def test_answers_do_not_wait_for_the_batches(
    replayer: Replayer, participant: FakeParticipant
) -> None:
    answer = ReplayAnswer("items", 1, "a", 7, (), (), (), (), ())
    replayer.resend("a", batches(1))
    replayer.answer("a", answer)
    assert participant.writers["evenflow/answers", "a"].wait_for(1) == [answer]


def test_a_node_with_an_impossible_name_is_refused(replayer: Replayer) -> None:
    with pytest.raises(ConfigError):
        replayer.resend("*", batches(1))
