"""Where dead letters are kept."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.slices.publisher.fakes import FakeParticipant

from evenflow.config import Config
from evenflow.errors import StorageError
from evenflow.slices.dead_letters.office import _open


def test_a_place_that_cannot_be_written_is_told_in_words() -> None:
    settings = {"topics.items.on_error": "dead", "node.dead_dir": "/dev/null/letters"}
    config = Config.load(None, settings)
    participant: Any = FakeParticipant(readers=1)
    with pytest.raises(StorageError, match="cannot be an outbox: Not a directory"):
        _open(config.topic("items"), config, participant)
