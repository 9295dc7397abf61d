"""Replies to mobile nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from evenflow.errors import UsageError
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
