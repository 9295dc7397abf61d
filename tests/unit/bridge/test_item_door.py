"""Items of devices at a bridge's door: each accepted once, none dropped on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evenflow.bridge.events import AskSettled, ItemSafe, ItemSettled, TakeItem
from evenflow.bridge.item_door import ItemDoor, sender_name
from evenflow.bridge.protocol.guid import guid_of, guid_text
from evenflow.domain.channels import Gone
from evenflow.edge.actions import Accept, Complain, GiveUp, Write
from evenflow.edge.settings import EdgeSettings
from evenflow.edge.twins import NEAR_S, Life
from evenflow.model.messages import BridgeReport, SettleAnswer, SettleRequest

GUID = guid_of("therm")
CLIENT = guid_text(GUID)
TOPIC = "items"


class Stage:
    """A door, its disk in memory, and a time."""

    def __init__(self, name: str = "b1") -> None:
        self.marks: dict[tuple[str, str], dict[str, int]] = {}
        self.now = 100.0
        self.heard = {"b2"}
        self.accepted: list[tuple[str, int, int, bytes]] = []
        self.writing: list[Accept] = []
        self.told: list[Any] = []
        self.door = ItemDoor(
            name,
            {TOPIC: 0},
            lambda client, run: self.marks.get((client, run), {}),
            EdgeSettings(linger_s=0.0),
            is_heard=self.heard.__contains__,
            life=Life(1.0, "here", 1),
        )
        assert self.door.make(GUID, 0, TOPIC) == ""

    def do(self, actions: list[Any]) -> list[Any]:
        """Perform; return what was told besides units."""
        told = []
        for action in actions:
            if isinstance(action, Accept):
                self.writing.append(action)
            else:
                told.append(action)
        self.told += told
        return told

    def item(self, number: int, session: int = 1, run: int = 7, time: int = 0) -> list[Any]:
        item = TakeItem(GUID, "therm", run, session, TOPIC, number, time, b"%d" % number)
        return self.do(self.door.take(item, 5_000, self.now))

    def ask(self, bridge: str, session: int = 1) -> list[Any]:
        question = AskSettled(GUID, 7, session, TOPIC, bridge)
        return self.do(self.door.ask(question, 5_000, self.now))

    def sync(self) -> list[Any]:
        """The unit on its way is on disk."""
        unit = self.writing.pop(0)
        for client, mark in unit.marks.items():
            self.marks.setdefault(client, {})[unit.topic] = mark.number
        for chunk in unit.chunks:
            for at, payload in enumerate(chunk.payloads):
                self.accepted.append((chunk.sender, chunk.first + at, chunk.times[at], payload))
        return self.do(self.door.on_synced(unit.topic, unit.unit, 5_000, self.now))

    def hear(self, message: object) -> list[Any]:
        return self.do(self.door.hear(message, 5_000, self.now))

    def later(self, seconds: float) -> list[Any]:
        self.now += seconds
        return self.do(self.door.poll(5_000, self.now))


def report(bridge: str, since: float) -> BridgeReport:
    empty = BridgeReport(bridge, (), 1, "", 0, "", 0, 0, (), (), 0, 0)
    return replace(empty, host="there", pid=2, since=since)


def test_an_item_is_safe_when_it_is_on_disk_and_accepted_once() -> None:
    stage = Stage()
    assert stage.item(1, time=9) == []
    assert stage.item(2) == []
    assert stage.sync() == [ItemSafe(GUID, 7, TOPIC, 1)]
    assert stage.sync() == [ItemSafe(GUID, 7, TOPIC, 2)]
    assert stage.item(2) == [ItemSafe(GUID, 7, TOPIC, 2)], "what comes again is answered again"
    assert stage.accepted == [("therm", 1, 9, b"1"), ("therm", 2, 5_000, b"2")]
    assert stage.door.items == 2


def test_items_of_a_new_session_wait_for_those_of_the_former() -> None:
    stage = Stage()
    stage.item(1)
    assert stage.item(1, session=2) == []
    assert stage.item(2, session=2) == []
    assert len(stage.writing) == 1, "nothing is taken before the former ones are settled"
    stage.sync()
    stage.sync()
    assert [number for _, number, _, _ in stage.accepted] == [1, 2]


def test_who_asks_about_this_bridge_is_told_what_it_had_when_it_came() -> None:
    stage = Stage()
    stage.item(1)
    assert stage.ask("b1", session=2) == [], "it is not let in before that is on disk"
    stage.sync()
    assert stage.ask("b1", session=2) == [ItemSettled(GUID, 7, 2, TOPIC, "b1", 1)]


def test_another_bridge_is_asked_until_it_answers() -> None:
    stage = Stage()
    request = SettleRequest("bridge b1", CLIENT, "7", 2, TOPIC)
    assert stage.ask("b2", session=2) == [Write(request, "bridge b2")]
    assert stage.ask("b2", session=2) == []
    assert stage.later(1.1) == [Write(request, "bridge b2")]
    answer = SettleAnswer("bridge b2", CLIENT, "7", 2, TOPIC, 41)
    assert stage.hear(answer) == [ItemSettled(GUID, 7, 2, TOPIC, "b2", 41)]
    assert stage.hear(answer) == []


def test_a_bridge_that_was_not_there_is_asked_when_it_is_heard() -> None:
    stage = Stage()
    stage.heard.clear()
    assert stage.ask("b2") == []
    stage.heard.add("b2")
    (asked,) = stage.hear(report("b2", 1.0))
    assert asked.to == "bridge b2"
    assert stage.hear(report("b2", 1.0)) == []
    stage.hear(Gone(BridgeReport, ("b2",)))
    (again,) = stage.hear(report("b2", 1.0))
    assert again == asked


def test_a_question_ends_the_older_session_and_is_answered_from_disk() -> None:
    stage = Stage()
    stage.item(1)
    assert stage.hear(SettleRequest("bridge b2", CLIENT, "7", 2, TOPIC)) == []
    (answer,) = stage.sync()
    assert answer == Write(SettleAnswer("bridge b1", CLIENT, "7", 2, TOPIC, 1), "bridge b2")
    stage.item(2)
    assert stage.writing == [], "nothing of the older session is taken any more"
    assert stage.door.refused["old"] == 1


def test_a_device_that_leaves_and_comes_back_goes_on() -> None:
    stage = Stage()
    stage.item(1)
    stage.sync()
    stage.door.drop(GUID, 3)
    stage.door.drop(GUID, 0)
    assert stage.door.make(GUID, 0, TOPIC) == ""
    stage.item(2, session=2)
    stage.sync()
    assert [number for _, number, _, _ in stage.accepted] == [1, 2]
    assert "no topic" in stage.door.make(GUID, 1, "others")


def test_nothing_is_taken_while_another_bridge_has_the_name() -> None:
    stage = Stage()
    (complaint,) = stage.hear(report("b1", 2.0))
    assert isinstance(complaint, Complain)
    stage.item(1)
    assert stage.writing == []
    stage.later(NEAR_S + 1)
    assert len(stage.writing) == 1, "and nothing is lost by that"
    (end,) = stage.hear(report("b1", 0.5))
    assert isinstance(end, GiveUp)


@pytest.mark.parametrize("name", ["therm", "a b", "x/y"])
def test_the_sender_is_the_name_if_that_says_the_guid(name: str) -> None:
    assert sender_name(guid_of(name), name) == name
    assert sender_name(guid_of("other"), name) == f"{guid_text(guid_of('other'))} {name}"


def test_no_device_sends_in_the_name_of_another() -> None:
    forged = sender_name(guid_of("other"), "therm")
    assert sender_name(guid_of(forged), forged) != forged
