"""Orders for agent entities: in order, and bounded by the entities that there are."""

from __future__ import annotations

from tests.unit.bridge.harness import GUID, TYPE

from evenflow.bridge.events import DropEntity, MakeEntity
from evenflow.bridge.protocol.kinds import Role
from evenflow.bridge.shell.orders import Orders

OTHER = bytes(12)


def make(topic: str, guid: bytes = GUID) -> MakeEntity:
    return MakeEntity(guid, 0, Role.PUBLISHER, topic, True, TYPE)


def test_orders_are_taken_in_their_order() -> None:
    orders = Orders()
    for order in (make("a"), make("b", OTHER), DropEntity(GUID, 1)):
        orders.put(order)
    assert [orders.get() for _ in range(3)] == [make("a"), make("b", OTHER), DropEntity(GUID, 1)]


def test_a_device_that_begins_anew_again_and_again_is_one_order() -> None:
    orders = Orders()
    for number in range(1000):
        orders.put(make(f"t{number}"))
        orders.put(DropEntity(GUID, 0))
    assert len(orders) == 1
    orders.put(make("last"))
    assert orders.get() == make("last")


def test_nothing_is_taken_after_the_end() -> None:
    orders = Orders()
    orders.put(make("a"))
    orders.close()
    assert orders.get() is None
