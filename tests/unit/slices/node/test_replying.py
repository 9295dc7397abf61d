"""Replies to mobile nodes, and to publishers that do not listen, or go."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from evenflow.errors import ClosedError, UsageError
from evenflow.model.batch import Item
from evenflow.slices.node.application import replying
from evenflow.slices.node.application.replies import Answer
from evenflow.slices.node.application.replying import Replying

ITEM = Item("car-7", 1, 2, b"x")
NO_WRITERS: Any = None
NO_BATCH: Any = None


class Messenger:
    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes]] = []

    def send_many(self, messages: Iterable[tuple[str, bytes]], /) -> int:
        self.sent += messages
        return len(self.sent)


def sent(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> list[tuple[str, bytes]]:
    monkeypatch.setattr(replying, "answers", lambda *_: [answer])
    messenger = Messenger()
    Replying("items", "node", NO_WRITERS, messenger).send(NO_BATCH, 1)
    return messenger.sent


def test_a_reply_goes_to_the_items_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sent(monkeypatch, Answer(ITEM, 1, b"yes")) == [("car-7", b"yes")]


def test_headers_that_a_mobile_node_would_not_get_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(UsageError, match="a reply to a mobile node has no headers"):
        sent(monkeypatch, Answer(ITEM, 1, b"yes", (("schema", b"7"),)))


class Writer:
    """A DDS writer that finds its reader when it has looked so often; None: it is closed then."""

    def __init__(self, found_after: int | None) -> None:
        self._found_after = found_after
        self.asked = 0
        self.written: list[Any] = []

    def matched(self) -> int:
        self.asked += 1
        if self._found_after is None and self.asked > 3:
            raise ClosedError("writer")
        return self._found_after is not None and self.asked > self._found_after

    def write(self, message: Any) -> bool:
        self.written.append(message)
        return True


class Writers:
    """What is open towards one publisher."""

    def __init__(self, now: Writer) -> None:
        self.now = now

    def prepare(self, *_: object) -> Writer:
        return self.now


def answering(monkeypatch: pytest.MonkeyPatch, writer: Writer) -> tuple[Replying, Writers]:
    monkeypatch.setattr(replying, "answers", lambda *_: [Answer(ITEM, 1, b"yes")])
    monkeypatch.setattr(replying, "MEET_S", 0.1)
    writers: Any = Writers(writer)
    return Replying("items", "node", writers), writers


BATCH: Any = SimpleNamespace(writer=7, slice=1)


def test_who_does_not_listen_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one, writers = answering(monkeypatch, Writer(found_after=1 << 30))
    one.send(BATCH, 1)
    assert writers.now.asked > 3
    asked = writers.now.asked
    one.send(BATCH, 1)
    assert (writers.now.asked - asked, one.replied, one.unheard) == (1, 0, 2)


def test_a_publisher_that_goes_while_it_is_waited_for_fails_no_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, _ = answering(monkeypatch, Writer(found_after=None))
    one.send(BATCH, 1)
    assert (one.replied, one.unheard) == (0, 1)
