"""Items of devices: in order, without gaps, a bounded number, and from this session alone."""

from __future__ import annotations

from tests.unit.bridge.harness import GUID, Bench

from evenflow.bridge import events as ev
from evenflow.bridge.protocol import datagrams as dg
from evenflow.bridge.protocol.kinds import Role
from evenflow.bridge.settings import BridgeSettings


def bench_with_items(**settings: int) -> Bench:
    bench = Bench(BridgeSettings(**settings))  # type: ignore[arg-type]
    bench.set_up(Role.ITEMS)
    return bench


def send(bench: Bench, number: int, safe: int = 0, salt: int = 1000) -> list[int]:
    """An item; return the numbers that were taken."""
    bench.tell(dg.Item(0, number, 0, salt, b"x"), number=number - safe)
    return [item.number for item in bench.did(ev.TakeItem)]


def test_items_are_taken_in_order() -> None:
    bench = bench_with_items()
    assert [send(bench, number) for number in (1, 2, 3)] == [[1], [2], [3]]
    (item,) = bench.did(ev.TakeItem)
    assert item == ev.TakeItem(GUID, "d", 5, 1, "t", 3, 0, b"x")


def test_what_overtakes_is_not_taken_before() -> None:
    bench = bench_with_items()
    assert [send(bench, number) for number in (2, 1, 3, 2, 3)] == [[], [1], [], [2], [3]]
    assert bench.refused == {"early": 2}


def test_a_session_begins_behind_what_the_device_knows_to_be_safe() -> None:
    bench = bench_with_items()
    assert send(bench, 12, safe=10) == []
    assert send(bench, 11, safe=10) == [11]


def test_safe_is_told_and_told_again() -> None:
    bench = bench_with_items()
    for number in (1, 2, 3):
        send(bench, number)
    bench.handle(ev.ItemSafe(GUID, 5, "t", 2))
    assert bench.bodies() == [dg.Safe(0, 2)]
    assert send(bench, 1) == []
    assert bench.bodies() == [dg.Safe(0, 2)]
    assert send(bench, 3) == []
    assert bench.bodies() == []  # it is on its way
    assert bench.refused == {"repeated": 2}


def test_what_is_on_its_way_is_bounded() -> None:
    bench = bench_with_items(most_items=2)
    assert [send(bench, number) for number in (1, 2, 3)] == [[1], [2], []]
    bench.handle(ev.ItemSafe(GUID, 5, "t", 1))
    assert send(bench, 3) == [3]


def test_items_of_another_salt_are_refused() -> None:
    bench = bench_with_items()
    assert send(bench, 1, salt=999) == []
    assert bench.refused == {"other_session": 1}


def test_what_is_safe_of_a_former_session_is_not_told() -> None:
    bench = bench_with_items()
    send(bench, 1)
    bench.connect(session=2)
    bench.handle(ev.ItemSafe(GUID, 5, "t", 1))
    assert bench.bodies() == []


def test_a_device_asks_how_far_a_bridge_is() -> None:
    bench = bench_with_items()
    bench.tell(dg.Settle(0, "b"))
    assert bench.actions == [ev.AskSettled(GUID, 5, 1, "t", "b")]
    bench.handle(ev.ItemSettled(GUID, 5, 1, "t", "b", 7))
    assert bench.bodies() == [dg.Settled(0, "b", 7)]
    bench.handle(ev.ItemSettled(GUID, 5, 2, "t", "b", 7))
    assert bench.bodies() == []  # the question of another session


def test_a_distance_that_makes_no_sense_is_refused() -> None:
    bench = bench_with_items()
    bench.tell(dg.Item(0, 3, 0, 1000, b"x"), number=0)
    bench.tell(dg.Item(0, 3, 0, 1000, b"x"), number=4)
    assert bench.actions == []
    assert bench.refused == {"malformed": 2}
