"""Orders of plans, as a gateway's executors take and answer them."""

from __future__ import annotations

import json

import pytest

from evenflow.autonomic.execute.executors import ExecutorHost, Surroundings
from evenflow.autonomic.knowledge.history import History
from evenflow.config import Config
from evenflow.mobile.gateway.events import (
    AlternativesOrder,
    Drain,
    Forget,
    HandoverOrder,
    HandoverReceipt,
    Ordered,
)
from evenflow.mobile.gateway.shell.executors import gateway_executors
from evenflow.mobile.gateway.shell.handover_history import HandoverHistory
from evenflow.model.messages import ActionOrder


class Orders:
    """The executors of gateway g1, and what they tell it."""

    def __init__(self) -> None:
        self.told: list[object] = []
        makers, self.answer = gateway_executors("g1", self.told.append, {})
        self.host = ExecutorHost(Surroundings("g1", Config()), makers)

    def order(self, kind: str, args: object, attempt: int = 1, *, undo: bool = False):
        encoded = args if isinstance(args, bytes) else json.dumps(args).encode()
        order = ActionOrder("p", "a", attempt, "g1", kind, encoded, undo=undo)
        return self.host.handle(order, 1.0)


def test_a_handover_is_answered_when_the_gateway_has():
    orders = Orders()
    args = {"nodes": ["car-1"], "addresses": ["quic://g2:1"], "within_s": 3}
    assert orders.order("mobile.handover", args) == []
    (told,) = orders.told
    assert told == HandoverOrder("p/a/1", ("car-1",), ("quic://g2:1",), 3.0, True, 0.0)
    orders.answer(Ordered("drain/1/0", True, "", ()))
    assert orders.host.poll(1.0) == []
    orders.answer(Ordered("p/a/1", True, "1 of 1 node moved", ()))
    (outcome,) = orders.host.poll(1.0)
    assert (outcome.ok, outcome.reason) == (True, "1 of 1 node moved")


def test_undoing_a_handover_leaves_the_nodes_where_they_are():
    orders = Orders()
    (outcome,) = orders.order("mobile.handover", b"", undo=True)
    assert outcome.ok
    assert orders.told == []


def test_what_takes_no_time_is_answered_at_once():
    orders = Orders()
    for kind, args, event in (
        ("mobile.alternatives", {"addresses": ["tls://g2:1"]}, AlternativesOrder(("tls://g2:1",))),
        ("mobile.drain", {}, Drain(on=True)),
        ("mobile.drain", {"on": False}, Drain(on=False)),
        ("mobile.forget", {"gateway": "g9"}, Forget("g9")),
    ):
        orders = Orders()
        (outcome,) = orders.order(kind, args)
        assert outcome.ok
        assert orders.told == [event]


@pytest.mark.parametrize(
    ("kind", "args", "reason"),
    [
        ("mobile.handover", {"nodes": [], "addresses": ["quic://g2:1"]}, "nodes"),
        ("mobile.handover", {"nodes": ["car-1"]}, "addresses"),
        ("mobile.handover", b"no json", "mobile.handover"),
        ("mobile.alternatives", {}, "addresses"),
        ("mobile.forget", {"gateway": "g1"}, "cannot forget itself"),
    ],
)
def test_what_cannot_be_understood_is_refused_in_words(kind, args, reason):
    orders = Orders()
    (outcome,) = orders.order(kind, args)
    assert not outcome.ok
    assert reason in outcome.reason
    assert orders.told == []


def test_a_handover_order_is_a_deed_of_the_history_with_its_figures(tmp_path):
    moved = HandoverReceipt("p/a/1", "car-1", "g1", "g2", True, "", 12.5, 3, 0, 0)
    failed = HandoverReceipt("p/a/1", "car-2", "g1", "", False, "is not here", 0.0, 0, None, None)
    answer = Ordered("p/a/1", False, "1 of 2 nodes moved", (moved, failed))
    file = tmp_path / "history.sqlite3"
    with HandoverHistory("g1", file, keep=100) as history:
        history.add(answer, 1_700_000_000.0)
    with History(file, read_only=True) as written:
        (deed,) = written.deeds()
    assert (deed.plan_id, deed.what) == ("p", "1 node from g1 to g2")
    assert deed.outcome == "1 of 2 nodes moved"
    assert {name: deed.figures[name] for name in ("nodes", "moved", "in_flight", "lost")} == {
        "nodes": 2, "moved": 1, "in_flight": 3, "lost": 0,
    }  # fmt: skip
