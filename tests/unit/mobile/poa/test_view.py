from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from evenflow.mobile.poa.view import GatewayView
from evenflow.model.messages import Attachment, GatewayReport


def report(name: str, *addresses: str, draining: bool = False, nodes: int = 0) -> GatewayReport:
    where = addresses or (f"quic://{name}:1", f"tls://{name}:2")
    return GatewayReport(name, where, nodes, 100, draining, ())


def attachment(node: str, gateway: str, connection: int, *, attached: bool = True) -> Attachment:
    return Attachment(gateway, node, connection, attached, "{}", 0.0)


def held(view: GatewayView) -> dict[str, set[str]]:
    return {post.name: set(post.nodes) for post in view.posts()}


def test_a_node_is_where_its_largest_connection_is() -> None:
    view = GatewayView()
    for name in "ab":
        view.on_report(report(name))
    view.on_attachment(attachment("n", "a", 1), 5.0)
    view.on_attachment(attachment("n", "b", 2), 6.0)
    view.on_attachment(attachment("n", "a", 1, attached=False), 7.0)
    assert held(view) == {"a": set(), "b": {"n"}}
    view.on_attachment(attachment("n", "b", 2, attached=False), 8.0)
    assert held(view) == {"a": set(), "b": set()}


def test_a_node_whose_numbers_begin_from_below_is_there_when_the_larger_one_is_over() -> None:
    view = GatewayView()
    for name in "ab":
        view.on_report(report(name))
    view.on_attachment(attachment("n", "a", 900), 5.0)
    view.on_attachment(attachment("n", "b", 2), 6.0)
    assert held(view) == {"a": {"n"}, "b": set()}
    view.on_attachment(attachment("n", "a", 900, attached=False), 7.0)
    assert held(view) == {"a": set(), "b": {"n"}}
    assert view.posts()[1].nodes == {"n": 7.0}


@given(st.randoms(use_true_random=False))
def test_gateways_may_tell_in_any_order(rng: random.Random) -> None:
    """Each gateway's words come in their order; those of several in any: the end is the same."""
    view = GatewayView()
    queues: dict[str, list[Attachment]] = {name: [] for name in "abc"}
    for name in queues:
        view.on_report(report(name))
    at = ""
    for connection in range(1, 12):
        name = rng.choice("abc")
        if at:
            queues[at].append(attachment("n", at, connection - 1, attached=False))
        queues[name].append(attachment("n", name, connection))
        at = name
    while any(queues.values()):
        name = rng.choice([name for name, waiting in queues.items() if waiting])
        view.on_attachment(queues[name].pop(0), 0.0)
    assert {name for name, nodes in held(view).items() if nodes} == {at}


def test_a_node_that_comes_again_to_its_gateway_has_not_moved() -> None:
    view = GatewayView()
    view.on_report(report("a"))
    view.on_attachment(attachment("n", "a", 1), 5.0)
    view.on_attachment(attachment("n", "a", 2), 9.0)
    assert view.posts()[0].nodes == {"n": 5.0}


def test_a_gateway_that_is_not_heard_takes_no_part() -> None:
    view = GatewayView()
    assert view.on_report(report("a"))
    assert not view.on_report(report("a", nodes=3)), "how many it has is no news"
    assert view.on_report(report("a", draining=True))
    view.on_attachment(attachment("n", "a", 1), 5.0)
    assert view.on_gone("a")
    assert not view.on_gone("a")
    assert view.posts() == []
    view.on_attachment_gone("a", "n")
    view.on_report(report("a"))
    assert held(view) == {"a": set()}, "it may have lost its nodes meanwhile"
    view.on_attachment(attachment("n", "a", 1), 9.0)
    assert held(view) == {"a": {"n"}}


def test_what_is_gone_of_a_gateway_that_a_node_has_left_says_nothing() -> None:
    view = GatewayView()
    for name in "ab":
        view.on_report(report(name))
    view.on_attachment(attachment("n", "a", 1), 5.0)
    view.on_attachment(attachment("n", "b", 2), 6.0)
    view.on_attachment_gone("a", "n")
    view.on_attachment_gone("a", "unknown")
    assert held(view) == {"a": set(), "b": {"n"}}


def test_every_gateway_has_another_in_front() -> None:
    view = GatewayView()
    for name in "abc":
        view.on_report(report(name))
    view.on_report(report("d", draining=True))
    assert view.alternatives("a") == ("quic://b:1", "quic://c:1", "tls://b:2", "tls://c:2")
    assert view.alternatives("b")[:2] == ("quic://c:1", "quic://a:1")
    assert view.alternatives("c")[:2] == ("quic://a:1", "quic://b:1")
    assert view.alternatives("d")[:3] == ("quic://a:1", "quic://b:1", "quic://c:1")
    assert not any("d:" in address for name in "abcd" for address in view.alternatives(name))
