"""What cannot be opened leaves nothing behind in the domain."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from evenflow.config import Config
from evenflow.errors import ConfigError, DomainError
from evenflow.mobile.messenger import messenger
from evenflow.mobile.messenger.messenger import Messenger
from evenflow.slices.subscriber import subscriber
from evenflow.slices.subscriber.replies import Replies
from evenflow.slices.subscriber.subscriber import Subscriber


class Domain:
    """A participant that opens some readers, and then no more."""

    def __init__(self, readers: int) -> None:
        self.closed: list[str] = []
        self._left = readers

    def waiter(self) -> Any:
        return SimpleNamespace(
            attach=lambda _: None, wake=lambda: None, close=lambda: self.closed.append("waiter")
        )

    def reader(self, *_: object) -> Any:
        if not self._left:
            raise DomainError("reader", "a test")
        self._left -= 1
        return SimpleNamespace(close=lambda: self.closed.append("reader"))

    def close(self) -> None:
        self.closed.append("participant")


def test_a_subscriber_without_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = Domain(2)
    monkeypatch.setattr(subscriber, "enter", lambda _: domain)
    with pytest.raises(DomainError):
        Subscriber("items", config=Config())
    assert domain.closed == ["waiter", "reader", "reader", "participant"]


@pytest.mark.parametrize(
    ("argument", "value", "said"),
    [
        ("senders", "car-7", "a list of names"),
        ("senders", [7], "a list of names"),
        ("senders", 7, "a list of names"),
        ("slices", 3, "a list of numbers"),
        ("slices", ["3"], "below 100"),
        ("slices", [1.5], "below 100"),
        ("slices", [100], "below 100"),
        ("queue_bytes", "1", "a whole number"),
        ("queue_bytes", 0, "a whole number"),
    ],
)
def test_what_a_subscriber_cannot_use_is_told_before_it_enters_the_domain(
    argument: str, value: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriber, "enter", lambda _: pytest.fail("it entered"))
    with pytest.raises(ConfigError, match=said):
        Subscriber("items", config=Config(), **{argument: value})


def test_a_subscriber_in_a_participant_of_the_programs_own() -> None:
    domain: Any = Domain(2)
    with pytest.raises(DomainError):
        Subscriber("items", config=Config(), participant=domain)
    assert domain.closed == ["waiter", "reader", "reader"]


def test_replies_without_a_reader() -> None:
    domain = Domain(0)
    publisher: Any = SimpleNamespace(topic="items", writer=7, domain=domain)
    with pytest.raises(DomainError):
        Replies(publisher)
    assert domain.closed == ["waiter"]


def test_a_messenger_without_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = Domain(1)
    monkeypatch.setattr(messenger, "enter", lambda _: domain)
    with pytest.raises(DomainError):
        Messenger("office", config=Config())
    assert "participant" in domain.closed
