"""Where dead letters are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.slices.publisher.fakes import FakeParticipant, leave_at_once

from evenflow.config import Config
from evenflow.errors import StorageError
from evenflow.slices.dead_letters.office import _open
from evenflow.slices.publisher.publisher import Publisher


def test_a_place_that_cannot_be_written_is_told_in_words() -> None:
    settings = {"topics.items.on_error": "dead", "node.dead_dir": "/dev/null/letters"}
    config = Config.load(None, settings)
    participant: Any = FakeParticipant(readers=1)
    with pytest.raises(StorageError, match="cannot be an outbox: Not a directory"):
        _open(config.topic("items"), config, participant)


def test_letters_of_before_the_topic_was_cut_otherwise_are_not_passed_over_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:

    def opened(slices: int) -> Publisher:
        topics = {
            "items": {"on_error": "dead"},
            "items.dead": {"served": True, "slices": slices},
        }
        config = Config.load(None, {"topics": topics, "node.dead_dir": str(tmp_path)})
        participant: Any = FakeParticipant(readers=1)
        return _open(config.topic("items"), config, participant)

    first = opened(4)
    second = opened(4)
    assert not caplog.records, "another node has the first folder"
    for one in (first, second):
        leave_at_once(one)
    leave_at_once(opened(8))
    assert [record.message.count("outbox-") for record in caplog.records] == [1, 1]
    assert "4 slices" in caplog.text
