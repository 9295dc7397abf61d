"""Orders to nodes: relayed at a pace, gathered, and counted."""

from __future__ import annotations

from typing import Any

from tests.unit.mobile.gateway.harness import WALL, Harness, closed, sent, written

from evenflow.mobile.gateway.alternatives import LATER_S
from evenflow.mobile.gateway.events import (
    AlternativesOrder,
    Drain,
    HandoverOrder,
    HandoverReceipt,
    Ordered,
)
from evenflow.mobile.link import frames
from evenflow.model.messages import Attachment, GatewayReport, NodeOutcome


def order(*nodes: str, pace: float = 0.0, within: float = 10.0) -> HandoverOrder:
    return HandoverOrder("p/a/1", nodes, ("quic://g2:1",), within, True, pace)


def of_kind(actions: list[Any], kind: type) -> list[Any]:
    return [one for one in actions if isinstance(one, kind)]


def moved(node: str, connection: int = 2) -> Attachment:
    return Attachment("g2", node, connection, True, "{}", WALL)


def outcome(node: str, *, left: int = 0, ok: bool = True, reason: str = "") -> NodeOutcome:
    return NodeOutcome("g2", node, "g1 p/a/1", ok, reason, 12.5, 3, ("items",), (left,))


def test_an_order_reaches_its_nodes_and_is_answered_when_all_have_an_outcome():
    gateway = Harness()
    links = [gateway.attach(f"car-{number}") for number in range(2)]
    actions = gateway.handle(order("car-0", "car-1"))
    for link in links:
        (handover,) = sent(actions, link)
        assert handover.addresses == ("quic://g2:1",)
        assert handover.order == "g1 p/a/1"
    assert not of_kind(gateway.hear(outcome("car-0")), Ordered)
    (answer,) = of_kind(gateway.hear(outcome("car-1")), Ordered)
    assert answer.ok
    assert answer.reason == "2 of 2 nodes moved"
    assert {one.target for one in answer.receipts} == {"g2"}
    assert {one.milliseconds for one in answer.receipts} == {12.5}


def test_lost_and_repeated_are_counted():
    for left, lost, repeated in ((2, 0, 0), (3, 1, 0), (0, 0, 2)):
        gateway = Harness()
        link = gateway.attach("car-1")
        gateway.publish(link, 1, b"a", b"b")
        gateway.settle()
        gateway.handle(order("car-1"))
        (receipt,) = of_kind(gateway.hear(outcome("car-1", left=left)), HandoverReceipt)
        assert (receipt.lost, receipt.repeated) == (lost, repeated)


def test_a_node_that_says_nothing_is_known_by_its_new_gateway():
    gateway = Harness()
    gateway.attach("car-1")
    gateway.handle(order("car-1"))
    gateway.now += 0.3
    gateway.hear(moved("car-1"))
    (answer,) = of_kind(gateway.wait(1.1), Ordered)
    (receipt,) = answer.receipts
    assert (receipt.ok, receipt.target) == (True, "g2")
    assert round(receipt.milliseconds) == 300
    assert receipt.lost is None or receipt.lost == 0


def test_who_does_not_answer_or_is_not_here_is_told_so():
    gateway = Harness()
    gateway.attach("car-1")
    gateway.handle(order("car-1", "car-9", within=2.0))
    (answer,) = of_kind(gateway.wait(3.0), Ordered)
    assert not answer.ok
    assert {one.node: one.reason for one in answer.receipts} == {
        "car-9": "is not attached here",
        "car-1": "has not answered in time",
    }


def test_a_refusal_of_the_node_is_passed_on():
    gateway = Harness()
    link = gateway.attach("car-1")
    gateway.handle(order("car-1"))
    said = frames.Outcome("g1 p/a/1", False, "nobody takes me", 0.0, 0)
    (answer,) = of_kind(gateway.say(link, said), Ordered)
    assert answer.reason == "0 of 1 node moved; car-1 nobody takes me"


def test_an_outcome_of_another_gateways_order_is_passed_on_to_it():
    gateway = Harness("g2")
    gateway.hear(GatewayReport("g1", ("quic://g1:1",), 0, 10, False, ()))
    link = gateway.attach("car-1")
    said = frames.Outcome("g1 p/a/1", True, "", 12.5, 3, {"items": 4})
    (told,) = written(gateway.say(link, said), NodeOutcome)
    assert told == NodeOutcome("g2", "car-1", "g1 p/a/1", True, "", 12.5, 3, ("items",), (4,))
    unknown = frames.Outcome("nobody p/a/1", True, "", 12.5, 3, {"items": 4})
    assert not written(gateway.say(link, unknown), NodeOutcome)


def test_orders_are_paced():
    gateway = Harness()
    links = [gateway.attach(f"car-{number}") for number in range(10)]
    actions = gateway.handle(order(*(f"car-{number}" for number in range(10)), pace=10.0))
    told = sum(len(sent(actions, link)) for link in links)
    assert told == 1
    actions = gateway.wait(0.5)
    assert sum(len(sent(actions, link)) for link in links) == 5


def test_alternatives_of_a_plan_are_told_and_replace_those_that_are_heard():
    gateway = Harness()
    gateway.hear(GatewayReport("g2", ("quic://g2:1", "tls://g2:2"), 5, 10, False, ()))
    gateway.hear(GatewayReport("g3", ("quic://g3:1",), 2, 10, False, ()))
    gateway.hear(GatewayReport("g4", ("quic://g4:1",), 0, 10, True, ()))
    link = gateway.attach()
    (welcome,) = sent(gateway.log, link, frames.Welcome)
    assert welcome.alternatives == ("quic://g3:1", "quic://g2:1", "tls://g2:2")
    assert not sent(gateway.handle(AlternativesOrder(("quic://g2:1",))), link)
    assert sent(gateway.wait(LATER_S), link) == [frames.Alternatives(("quic://g2:1",))]
    assert not sent(gateway.wait(LATER_S), link)


def test_nodes_that_the_same_plan_sends_elsewhere_are_spared_its_alternatives():
    gateway = Harness()
    gateway.hear(GatewayReport("g2", ("quic://g2:1",), 0, 10, False, ()))
    goes, stays = gateway.attach("car-1"), gateway.attach("car-2")
    gateway.handle(AlternativesOrder(("quic://g2:1",)))
    actions = gateway.handle(order("car-1"))
    assert [type(frame) for frame in sent(actions, goes)] == [frames.Handover]
    gateway.hear(Attachment("g2", "car-1", 99, True, "{}", 0.0))
    actions = gateway.wait(LATER_S)
    assert not sent(actions, goes, frames.Alternatives)
    assert sent(actions, stays, frames.Alternatives)


def test_a_draining_gateway_spreads_its_nodes_and_takes_no_new_ones():
    gateway = Harness(drain_per_s=1e6)
    for name in ("g2", "g3"):
        gateway.hear(GatewayReport(name, (f"quic://{name}:1",), 0, 10, False, ()))
    links = [gateway.attach(f"car-{number}") for number in range(4)]
    actions = gateway.handle(Drain())
    assert not any(sent(actions, link) for link in links)
    actions = [*gateway.wait(2.0), *gateway.wait()]
    firsts = [sent(actions, link, frames.Handover)[0].addresses[0] for link in links]
    assert sorted(firsts) == ["quic://g2:1"] * 2 + ["quic://g3:1"] * 2
    late = gateway.attach("car-9")
    refused = closed(gateway.log, late)
    assert refused is not None
    assert refused.retry
    assert written(gateway.wait(1.0), GatewayReport)[-1].draining


def test_a_draining_gateway_leaves_those_to_a_plan_that_it_has_planned_for():
    gateway = Harness(drain_per_s=1e6)
    gateway.hear(GatewayReport("g2", ("quic://g2:1",), 0, 10, False, ()))
    planned, other = gateway.attach("car-1"), gateway.attach("car-2")
    gateway.handle(Drain())
    gateway.handle(order("car-1"))
    actions = [*gateway.wait(2.0), *gateway.wait()]
    assert not sent(actions, planned, frames.Handover)
    assert sent(actions, other, frames.Handover)
