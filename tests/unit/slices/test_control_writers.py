"""Control writers: one for each channel and recipient, closed when the recipient is gone."""

from __future__ import annotations

import pytest

from evenflow.domain.channels import ACKS, CACHE, ORDERS, Channel
from evenflow.model.messages import Ack, CacheChunk, Step
from evenflow.slices import control_writers
from evenflow.slices.actions import Send
from evenflow.slices.control_writers import ControlWriters

ACK = Ack("items", "a", 1, Step.ADD, True, "", 0, 0, 0)
CHUNK = CacheChunk("items", 1, "a", "b", 0, 1, 0, (), (), (), (), (), b"")


class Writer:
    """A writer whose reader is found after it was looked for some times."""

    def __init__(self, looks: int) -> None:
        self.looks = looks
        self.written: list[object] = []
        self.closed = False

    def matched(self) -> int:
        self.looks -= 1
        return int(self.looks < 0)

    def write(self, message: object) -> bool:
        self.written.append(message)
        return True

    def close(self) -> None:
        self.closed = True


class Participant:
    def __init__(self, looks: int = 0) -> None:
        self.looks = looks
        self.opened: dict[tuple[str, str], Writer] = {}

    def writer(self, channel: Channel, partition: str) -> Writer:
        key = (channel.name, partition)
        assert key not in self.opened, "opened twice"
        self.opened[key] = Writer(self.looks)
        return self.opened[key]


def writers_of(participant: Participant) -> ControlWriters:
    return ControlWriters(participant)  # type: ignore[arg-type]


def test_a_writer_is_opened_once() -> None:
    participant = Participant()
    writers = writers_of(participant)
    writers.prepare(ACKS, "")
    assert writers.send(Send(ACK))
    assert writers.send(Send(ACK))
    assert participant.opened[ACKS.name, ""].written == [ACK, ACK]


def test_what_nobody_keeps_waits_for_its_reader() -> None:
    participant = Participant(looks=3)
    writers_of(participant).send(Send(CHUNK, to="b"))
    writer = participant.opened[CACHE.name, "b"]
    assert (writer.looks, writer.written) == (-1, [CHUNK])


def test_a_reader_that_is_not_found_is_waited_for_only_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(control_writers, "MEET_S", 0.0)
    participant = Participant(looks=1_000_000)
    writers_of(participant).send(Send(CHUNK, to="b"))
    assert participant.opened[CACHE.name, "b"].written == [CHUNK]


def test_the_writers_to_a_recipient_that_is_gone_are_closed_and_no_others() -> None:
    participant = Participant()
    writers = writers_of(participant)
    for channel, to in ((ORDERS, "a"), (CACHE, "a"), (ORDERS, "b")):
        writers.prepare(channel, to)
    writers.forget("a")
    assert [writer.closed for writer in participant.opened.values()] == [True, True, False]
