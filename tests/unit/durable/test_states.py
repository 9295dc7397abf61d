"""States at the store: what is written is read again, and never for slices of other items."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from tests.unit.durable.stores import Store

from evenflow.config import Config
from evenflow.durable import states
from evenflow.durable.states import StateSnapshots
from evenflow.errors import ConfigError
from evenflow.slices.node.application.snapshots import Row
from evenflow.slices.node.application.state_log import StateRecord

CLAIM = StateRecord("one~1", 1, (3,), (5,))
SNAPSHOT = StateRecord("one~1", 2, (3,), (5,), "one~1/2")
ROW = Row(3, 5, {7: 40}, b"forty")


class Opening:
    """Opens the states of a topic, as nodes do that differ in how they slice it."""

    def __init__(self) -> None:
        self.store = Store()

    def __call__(self, slices: int = 8, assignment: str = "modulo:id") -> StateSnapshots:
        config = Config()
        topic = replace(config.topics[0], slices=slices, assignment=assignment, durable=True)
        store = replace(config.store, brokers=("127.0.0.1:1",))
        return StateSnapshots(topic.name, replace(config, topics=(topic,), store=store))


@pytest.fixture
def opening(monkeypatch: pytest.MonkeyPatch) -> Opening:
    found = Opening()

    def client(_brokers: object) -> Any:
        return found.store

    monkeypatch.setattr(states, "Client", client)
    return found


def test_what_one_node_stores_another_reads(opening: Opening) -> None:
    writer, reader = opening(), opening()
    writer.append(CLAIM, [])
    writer.append(SNAPSHOT, [ROW])
    claim, snapshot = reader.read_on()
    assert claim[:5] == CLAIM[:5]
    assert snapshot[:5] == SNAPSHOT[:5]
    assert reader.fetch(snapshot, [3]) == [ROW]
    assert reader.read_on() == []


@pytest.mark.parametrize("other", [{"slices": 4}, {"assignment": "hash:sender"}])
def test_states_of_other_slices_are_refused_in_words(
    opening: Opening, other: dict[str, Any]
) -> None:
    opening().append(SNAPSHOT, [ROW])
    reader = opening(**other)
    for _ in range(2):  # and again: what was refused does not count as read
        with pytest.raises(ConfigError, match="from 8 slices by modulo:id, and the file has"):
            reader.read_on()
    assert len(opening().read_on()) == 1, "with the old ones all is as before"


def test_a_log_that_does_not_say_how_it_was_sliced_is_refused_in_words(opening: Opening) -> None:
    before = ("one~1", 2, (3,), (5,), "one~1/2", 10, 20)
    opening.store.publish("state-log/items", msgspec.msgpack.encode(before))
    with pytest.raises(ConfigError, match="earlier version"):
        opening().read_on()


def test_what_is_no_record_is_counted_and_skipped(opening: Opening) -> None:
    opening.store.publish("state-log/items", b"something else")
    opening().append(CLAIM, [])
    reader = opening()
    assert len(reader.read_on()) == 1
    assert reader.damaged == 1
