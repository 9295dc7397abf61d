from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenflow.config import TopicConfig
from evenflow.slices.node.application.giving_up import GivenUp, give_up

from .alone import batch

if TYPE_CHECKING:
    from evenflow.model.batch import Batch

ERROR = ValueError("no")


class Office:
    """Remembers what is put aside."""

    def __init__(self) -> None:
        self.letters: list[tuple[int, Exception, int]] = []

    def put_aside(self, item: Batch, error: Exception, tries: int) -> None:
        self.letters.append((item.first, error, tries))


def test_what_may_be_skipped_is_skipped() -> None:
    assert give_up(TopicConfig("t", on_error="skip"), None, batch(), ERROR, 3) is GivenUp.SKIPPED


def test_an_item_is_put_aside_where_there_is_a_place() -> None:
    office = Office()
    topic = TopicConfig("t", on_error="dead")
    assert give_up(topic, office, batch(first=7), ERROR, 3) is GivenUp.DEAD
    assert office.letters == [(7, ERROR, 3)]


def test_else_the_node_stops_and_says_what_could_be_done(caplog: pytest.LogCaptureFixture) -> None:
    assert give_up(TopicConfig("fleet"), None, batch(first=7), ERROR, 3) is GivenUp.STOP
    assert 'topics.fleet.on_error = "dead"' in caplog.text
