"""Looking at a served topic as nobody: what cannot begin leaves nothing behind."""

from __future__ import annotations

from typing import Any

import pytest

from evenflow.config import Config
from evenflow.errors import DomainError
from evenflow.slices.consumer import watching
from evenflow.slices.consumer.watching import Watcher


class Refusing:
    """A follower that is entered, and then fails."""

    closed = 0

    def enter(self, *, alone: bool) -> None:
        assert not alone

    def remembered(self) -> None:
        raise DomainError("topic 'fleet'", "a test")

    def close(self) -> None:
        self.closed += 1


def test_one_that_cannot_begin_leaves_the_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    follower: Any = Refusing()
    monkeypatch.setattr(watching, "Follower", lambda *_, **__: follower)
    with pytest.raises(DomainError):
        Watcher("fleet", Config(), name="audit")
    assert follower.closed == 1
