"""The Entity Manager: requests in any order and number, one entity each."""

from __future__ import annotations

import pytest
from tests.unit.bridge.harness import GUID, TYPE, Bench

from evenflow.bridge import events as ev
from evenflow.bridge.protocol import datagrams as dg
from evenflow.bridge.protocol.device_types import parse_type
from evenflow.bridge.protocol.kinds import Fault, Role
from evenflow.bridge.settings import BridgeSettings


def test_a_publisher_is_made_by_three_requests() -> None:
    bench = Bench()
    bench.connect()
    create, topic = dg.Create(0, Role.PUBLISHER), dg.SetTopic(0, reliable=True, topic="t")
    assert bench.tell(create, number=1) == [dg.Datagram(GUID, 1, 1, dg.Done(Fault.NONE))]
    assert bench.tell(topic, number=2) == [dg.Datagram(GUID, 1, 2, dg.Done(Fault.NONE))]
    assert bench.tell(dg.SetType(0, TYPE), number=3) == []
    assert bench.did(ev.MakeEntity) == [ev.MakeEntity(GUID, 0, Role.PUBLISHER, "t", True, TYPE)]
    bench.handle(ev.EntityMade(GUID, 0))
    assert bench.said() == [dg.Datagram(GUID, 1, 3, dg.Done(Fault.NONE))]
    (published,) = bench.did(ev.PublishRecord)
    assert published.record.types == (str(TYPE),)


def test_items_need_no_type() -> None:
    bench = Bench()
    bench.set_up(Role.ITEMS)
    assert bench.bodies() == [dg.Done(Fault.NONE)]
    assert bench.tell(dg.SetType(0, TYPE), number=3)[0].body == dg.Done(Fault.DIFFERENT)


def test_requests_that_come_again_change_nothing() -> None:
    bench = Bench()
    bench.set_up()
    create, topic = dg.Create(0, Role.PUBLISHER), dg.SetTopic(0, reliable=True, topic="t")
    for body in (create, topic, dg.SetType(0, TYPE)):
        assert bench.tell(body)[0].body == dg.Done(Fault.NONE)
        assert len(bench.actions) == 1


def test_a_request_that_is_under_way_is_made_once() -> None:
    bench = Bench()
    bench.connect()
    bench.tell(dg.Create(0, Role.PUBLISHER))
    bench.tell(dg.SetTopic(0, reliable=True, topic="t"))
    bench.tell(dg.SetType(0, TYPE))
    assert bench.tell(dg.SetType(0, TYPE)) == []
    assert bench.actions == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (dg.Create(0, Role.SUBSCRIBER), Fault.DIFFERENT),
        (dg.SetTopic(0, reliable=False, topic="t"), Fault.DIFFERENT),
        (dg.SetTopic(0, reliable=True, topic="u"), Fault.DIFFERENT),
        (dg.SetType(0, parse_type("Other(a u8)")), Fault.DIFFERENT),
        (dg.Create(2, Role.PUBLISHER), Fault.NO_SUCH_ENTITY),
        (dg.SetTopic(1, reliable=True, topic="t"), Fault.NO_SUCH_ENTITY),
        (dg.SetType(1, TYPE), Fault.NO_SUCH_ENTITY),
        (dg.Create(9, Role.PUBLISHER), Fault.TOO_MANY),
    ],
)
def test_what_contradicts_is_refused(body: dg.Body, fault: Fault) -> None:
    bench = Bench()
    bench.set_up()
    assert bench.tell(body)[0].body == dg.Done(fault)
    session = bench.core.sessions.get(GUID)
    assert session is not None
    assert len(session.entities) == 1


def test_what_cannot_be_made_is_tried_again_when_asked_again() -> None:
    bench = Bench()
    bench.connect()
    bench.tell(dg.Create(0, Role.ITEMS))
    topic = dg.SetTopic(0, reliable=True, topic="none")
    bench.tell(topic, number=2)
    bench.handle(ev.EntityMade(GUID, 0, "no such topic"))
    assert bench.bodies() == [dg.Done(Fault.NOT_MADE)]
    assert bench.refused == {"not_made": 1}
    assert not bench.did(ev.PublishRecord)  # it is not there
    bench.tell(topic, number=2)
    assert bench.did(ev.MakeEntity)
    bench.handle(ev.EntityMade(GUID, 0))
    assert bench.bodies() == [dg.Done(Fault.NONE)]


def test_a_device_has_a_bounded_number_of_entities() -> None:
    bench = Bench(BridgeSettings(most_entities=2))
    bench.connect()
    faults = [bench.tell(dg.Create(index, Role.ITEMS))[0].body for index in range(3)]
    assert faults == [dg.Done(Fault.NONE), dg.Done(Fault.NONE), dg.Done(Fault.TOO_MANY)]


def test_a_device_has_one_source_of_items_for_a_topic() -> None:
    """Both would count from 1: the items of one would be taken for those of the other."""
    bench = Bench()
    bench.set_up(Role.ITEMS)
    bench.tell(dg.Create(1, Role.ITEMS), number=4)
    again = dg.SetTopic(1, reliable=True, topic="t")
    assert bench.tell(again, number=5)[0].body == dg.Done(Fault.DIFFERENT)
    assert not bench.did(ev.MakeEntity)
    other = dg.SetTopic(1, reliable=True, topic="u")
    bench.tell(other, number=5)
    assert bench.did(ev.MakeEntity)
