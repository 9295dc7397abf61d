"""The Protocol Manager: samples both ways, and what is known of those that were lost."""

from __future__ import annotations

from tests.unit.bridge.harness import GUID, TYPE, Bench

from evenflow.bridge import events as ev
from evenflow.bridge.protocol import datagrams as dg
from evenflow.bridge.protocol.encoding import encode
from evenflow.bridge.protocol.kinds import Role
from evenflow.bridge.protocol_manager import difference


def beat(
    bench: Bench, sent: int = 0, received: int = 0, unsure: int = 0, offer: str = ""
) -> dg.Body:
    (answer,) = bench.tell(dg.Heartbeat(sent, received, unsure, 1000, offer))
    return answer.body


def test_a_sample_of_a_device_is_written() -> None:
    bench = Bench()
    bench.set_up()
    bench.tell(dg.Data(0, 1, TYPE.pack((7, "x"))))
    assert bench.actions == [ev.WriteSample(GUID, 0, (7, "x"))]


def test_what_comes_twice_or_late_is_written_once() -> None:
    bench = Bench()
    bench.set_up()
    for mark in (1, 3, 3, 2):
        bench.tell(dg.Data(0, mark, TYPE.pack((mark, "x"))))
    assert bench.core.relay.relayed_up == 2
    assert bench.refused == {"repeated": 2}


def test_marks_go_on_after_the_largest() -> None:
    assert difference(1, (1 << 32) - 1) == 2
    assert difference((1 << 32) - 1, 1) == -2
    assert difference(5, 5) == 0


def test_a_sample_that_is_none_of_the_type_is_counted() -> None:
    bench = Bench()
    bench.set_up()
    bench.tell(dg.Data(0, 1, b"rubbish"))
    assert bench.actions == []
    assert bench.refused == {"malformed": 1}


def test_a_sample_for_no_publisher_is_counted() -> None:
    bench = Bench()
    bench.set_up(Role.SUBSCRIBER)
    bench.tell(dg.Data(0, 1, TYPE.pack((7, "x"))))
    bench.tell(dg.Data(1, 1, TYPE.pack((7, "x"))))
    assert bench.refused == {"not_ready": 2}


def test_a_sample_of_the_domain_goes_to_the_device() -> None:
    bench = Bench()
    bench.set_up(Role.SUBSCRIBER)
    bench.handle(ev.SampleRead(GUID, 0, (7, "x"), 123))
    (body,) = bench.bodies()
    assert isinstance(body, dg.Data)
    assert TYPE.unpack(body.payload) == (7, "x")
    bench.handle(ev.SampleRead(GUID, 0, (7, "x"), 124))
    assert bench.bodies()[0].mark != body.mark  # type: ignore[union-attr]


def test_two_bridges_give_a_sample_the_same_mark() -> None:
    one, other = Bench(), Bench()
    for bench in (one, other):
        bench.set_up(Role.SUBSCRIBER)
        bench.handle(ev.SampleRead(GUID, 0, (7, "x"), 123))
    assert one.bodies() == other.bodies()


def test_a_sample_that_does_not_fit_the_declared_type_is_counted() -> None:
    bench = Bench()
    bench.set_up(Role.SUBSCRIBER)
    bench.handle(ev.SampleRead(GUID, 0, (7, "x" * 17), 123))
    assert bench.actions == []
    assert bench.refused == {"unfit": 1}


def test_what_was_lost_is_known_at_the_next_heartbeat() -> None:
    bench = Bench()
    bench.set_up()
    for mark in (1, 2, 4):
        bench.tell(dg.Data(0, mark, TYPE.pack((mark, "x"))))
    assert beat(bench, sent=4, unsure=2) == dg.Alive(3, 0, 1)
    session = bench.core.sessions.get(GUID)
    assert session is not None
    assert (session.lost_up, session.unsure) == (1, 2)
    bench.tell(dg.Goodbye(5, ""))
    assert dict(bench.core.sessions.lost) == {"up": 1, "down": 0, "unsure": 2}


def test_what_a_device_did_not_get_is_known_a_heartbeat_later() -> None:
    bench = Bench()
    bench.set_up(Role.SUBSCRIBER)
    for time in range(5):
        bench.handle(ev.SampleRead(GUID, 0, (7, "x"), time))
    assert beat(bench, received=3) == dg.Alive(0, 5, 1)
    session = bench.core.sessions.get(GUID)
    assert session is not None
    assert session.lost_down == 0  # they may be on their way
    beat(bench, received=4)
    assert session.lost_down == 1


def test_a_device_that_speaks_from_elsewhere_is_answered_there() -> None:
    bench = Bench()
    bench.set_up()
    data = dg.Heartbeat(0, 0, 0, 1000, "")
    bench.tell(data)
    from_there = ("10.0.0.8", 99)
    bench.receive(encode(GUID, 1, 0, data), from_there)
    (sent,) = bench.did(ev.Send)
    assert sent.target == from_there
    (published,) = bench.did(ev.PublishRecord)
    assert published.record.address == "10.0.0.8:99"
