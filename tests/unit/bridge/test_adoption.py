"""Devices that change their bridge: make before break, and the device is the judge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.bridge.harness import GUID, TYPE, Bench, record

from evenflow.bridge import events as ev
from evenflow.bridge.protocol import datagrams as dg
from evenflow.bridge.sessions import Stage
from evenflow.bridge.settings import BridgeSettings

ADOPT = dg.Adopt("a", 5, 1000, 2)


def offering() -> Bench:
    """Bridge a owns the device that b serves, has made its entities and offers."""
    bench = Bench()
    bench.handle(ev.RecordHeard(record()))
    for entity in (0, 1):
        bench.handle(ev.EntityMade(GUID, entity))
    return bench


def test_the_owner_makes_the_entities_and_then_offers() -> None:
    bench = Bench()
    bench.handle(ev.RecordHeard(record()))
    assert [made.topic for made in bench.did(ev.MakeEntity)] == ["up", "down"]
    assert bench.said() == []
    bench.handle(ev.EntityMade(GUID, 0))
    assert bench.said() == []
    bench.handle(ev.EntityMade(GUID, 1))
    assert bench.said() == [dg.Datagram(GUID, 4, 0, ADOPT)]
    assert not bench.did(ev.PublishRecord)  # it does not serve it yet


def test_who_does_not_own_it_offers_nothing() -> None:
    bench = Bench()
    bench.ring.owned = False
    assert bench.handle(ev.RecordHeard(record())) == []
    bench.ring.owned = True
    bench.handle(ev.RingChanged())
    assert bench.did(ev.MakeEntity)


def test_an_isolated_bridge_offers_nothing_and_releases_its_devices() -> None:
    bench = Bench()
    bench.connect()
    bench.ring.is_isolated = True
    bench.handle(ev.RingChanged())
    assert bench.bodies() == [dg.Moved("")]
    assert bench.tell(dg.Heartbeat(0, 0, 0, 1000, ""))[0].body == dg.Moved("")
    bench.handle(ev.RingChanged())
    assert bench.bodies() == []
    assert bench.handle(ev.RecordHeard(replace(record(), guid="0" * 24))) == []
    bench.ring.is_isolated = False
    assert bench.tell(dg.Heartbeat(0, 0, 0, 1000, ""))[0].body == dg.Alive(0, 0, 0)


def test_the_device_takes_the_offer() -> None:
    bench = offering()
    (answer,) = bench.tell(dg.Heartbeat(0, 0, 0, 1000, ""), session=4)
    assert answer.body == dg.Alive(0, 0, 2)
    (published,) = bench.did(ev.PublishRecord)
    assert published.record == replace(record(), bridge="a", session=4)
    assert not any(isinstance(body, dg.Adopt) for body in bench.bodies(bench.wait(2.0)))


def test_what_came_for_it_meanwhile_is_sent_when_it_comes() -> None:
    bench = offering()
    bench.handle(ev.SampleRead(GUID, 1, (7, "x"), 123))
    assert bench.said() == []
    bench.tell(dg.Heartbeat(0, 0, 0, 1000, ""), session=4)
    data, alive = bench.bodies()
    assert isinstance(data, dg.Data)
    assert TYPE.unpack(data.payload) == (7, "x")
    assert alive == dg.Alive(0, 1, 2)


def test_what_waits_for_a_device_is_bounded() -> None:
    bench = Bench(BridgeSettings(most_buffered=3))
    bench.handle(ev.RecordHeard(record()))
    for time in range(5):
        bench.handle(ev.SampleRead(GUID, 1, (time, "x"), time))
    session = bench.core.sessions.get(GUID)
    assert session is not None
    assert len(session.waiting) == 3
    assert bench.refused == {"buffer_full": 2}


def test_an_offer_is_repeated_and_given_up() -> None:
    bench = offering()
    done = bench.wait(2.5)
    adopts = [body for body in bench.bodies(done) if isinstance(body, dg.Adopt)]
    assert len(adopts) == 9
    assert [action for action in done if isinstance(action, ev.DropEntity)]
    assert bench.refused == {"offer_unanswered": 1}


def test_of_a_dead_bridge_a_device_that_does_not_answer_is_forgotten() -> None:
    bench = Bench()
    bench.ring.members = ("a",)
    bench.handle(ev.RecordHeard(record(roles=(), reliable=(), topics=(), types=())))
    bench.wait(3.0)
    assert len(bench.core.records) == 0
    assert len(bench.core.sessions) == 0


def test_a_device_that_is_served_is_left_where_it_is_for_a_while() -> None:
    bench = offering()
    bench.tell(dg.Served("b", 5), session=3)
    assert bench.did(ev.DropEntity) == [ev.DropEntity(GUID, 0), ev.DropEntity(GUID, 1)]
    assert bench.core.sessions.get(GUID) is None
    assert not any(isinstance(action, ev.MakeEntity) for action in bench.wait(0.9))
    assert any(isinstance(action, ev.MakeEntity) for action in bench.wait(0.3))


def test_the_giver_says_moved_to_who_asks_about_the_owner() -> None:
    bench = Bench()
    bench.connect()
    assert bench.tell(dg.Heartbeat(0, 0, 0, 1000, "b"))[0].body == dg.Alive(0, 0, 0)
    bench.ring.owned = False
    assert bench.tell(dg.Heartbeat(0, 0, 0, 1000, ""))[0].body == dg.Alive(0, 0, 0)
    assert bench.tell(dg.Heartbeat(0, 0, 0, 1000, "b"))[0].body == dg.Moved("b")


def test_the_giver_lets_go_when_it_hears_of_a_later_session() -> None:
    bench = Bench()
    bench.set_up()
    bench.ring.owned = False
    bench.handle(ev.RecordHeard(record(session=1)))
    assert bench.core.sessions.get(GUID) is not None
    bench.handle(ev.RecordHeard(record(session=2)))
    assert bench.core.sessions.get(GUID) is None
    assert bench.did(ev.DropEntity)
    assert bench.did(ev.WithdrawRecord)


def test_an_owner_that_does_not_offer_is_told_again() -> None:
    bench = Bench()
    bench.connect()
    bench.ring.owned = False
    bench.handle(ev.RingChanged())
    told = [action for action in bench.wait(2.9) if isinstance(action, ev.PublishRecord)]
    assert len(told) == 1


def test_an_offer_ends_when_the_device_is_not_owned_any_more() -> None:
    bench = offering()
    bench.ring.owned = False
    bench.handle(ev.RingChanged())
    assert bench.did(ev.DropEntity)
    assert bench.core.sessions.get(GUID) is None


def test_a_connect_takes_the_offer_too() -> None:
    bench = offering()
    (answer,) = bench.connect(session=4)
    assert answer.body == dg.Accepted("a", 5, 1000, 2)
    session = bench.core.sessions.get(GUID)
    assert session is not None
    assert session.stage is Stage.SERVED


def test_a_withdrawn_record_leaves_that_of_another() -> None:
    bench = Bench()
    bench.ring.owned = False
    bench.handle(ev.RecordHeard(record("b")))
    bench.handle(ev.RecordHeard(record("c")))
    bench.handle(ev.RecordWithdrawn("c", GUID))
    known = bench.core.records.get(GUID)
    assert known is not None
    assert known.bridge == "b"


@pytest.mark.parametrize(
    "change",
    [
        {"guid": "xyz"},
        {"address": "nowhere"},
        {"address": "10.0.0.1:99999"},
        {"heartbeat_ms": 1},
        {"roles": (1, 9)},
        {"types": (str(TYPE), "no type")},
        {"types": (str(TYPE), "")},
        {"topics": ("up", "")},
        {"run": (1 << 53) + 1},
        {"session": (1 << 32) - 1},
        {"counter": 1 << 63},
        {"roles": (3, 3), "topics": ("t", "t"), "types": ("", "")},
        {"roles": (3,) * 17, "reliable": (1,) * 17, "topics": ("t",) * 17, "types": ("",) * 17},
    ],
)
def test_a_record_that_makes_no_sense_is_counted(change: dict[str, Any]) -> None:
    bench = Bench()
    assert bench.handle(ev.RecordHeard(replace(record(), **change))) == []
    assert bench.refused == {"bad_record": 1}


def test_records_are_bounded() -> None:
    bench = Bench(BridgeSettings(most_records=1))
    bench.ring.owned = False
    bench.handle(ev.RecordHeard(record()))
    bench.handle(ev.RecordHeard(replace(record(), guid="0" * 24)))
    assert len(bench.core.records) == 1
    assert bench.refused == {"records_full": 1}
