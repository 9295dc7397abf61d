"""An archiver that starts finds the end of its archive, however far ahead brokers' clocks are."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.durable.test_frames import bundle

from evenflow.durable.archiver import last_position
from evenflow.durable.frames import encode_bundle
from evenflow.model.ids import Position
from evenflow.overlay.protocol.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterator


class Archive:
    """A store whose brokers' clocks are ahead of ours."""

    def __init__(self, ahead_s: float, payloads: list[bytes]) -> None:
        self._now = time.time_ns() + int(ahead_s * 1e9)
        self._stored = [
            Message(self._now - len(payloads) + number, 1, number + 1, payload)
            for number, payload in enumerate(payloads)
        ]

    def ensure(self, topic: str, **_: Any) -> None:
        """The topic is there."""

    def now(self, topic: str, **_: Any) -> int:
        return self._now

    def read(self, topic: str, start: int, end: int) -> Iterator[Message]:
        return (message for message in self._stored if start <= message.time < end)


@pytest.mark.parametrize("ahead_s", [0.0, 2.0, 60.0, -5.0])
def test_the_end_of_the_archive_is_found_though_clocks_are_ahead(ahead_s: float) -> None:
    end = Position({7: 3})
    archive: Any = Archive(ahead_s, list(encode_bundle([bundle(5)], end, "one")))
    assert last_position(archive, "durable/fleet", 2) == end
