"""What the balancer knows of bridges: whose loads are whose, and when that can be said."""

from __future__ import annotations

from evenflow.bridge.balancing.view import BridgeView
from evenflow.bridge.ring.arc_table import arc_table
from evenflow.bridge.ring.identifiers import hashed
from evenflow.model.messages import BridgeReport


def report(
    bridge: str, arcs: dict[int, int] | None = None, *, points: int = 4, leaving: bool = False
) -> BridgeReport:
    own = arcs or {}
    return BridgeReport(
        bridge, (), points, "", 0, "", 0, sum(own.values()), tuple(own), tuple(own.values()),
        0, 0, leaving,
    )  # fmt: skip


def ends(bridge: str, points: int = 4) -> list[int]:
    return [int(end) for end in hashed()(bridge, points)]


def test_what_an_arc_carries_counts_for_its_owner_whoever_serves_it() -> None:
    view = BridgeView()
    mine, other = ends("a")[0], ends("b")[0]
    view.on_report(report("a", {mine: 5, other: 2}))
    view.on_report(report("b", {other: 3}))
    assert view.arcs() == {"a": {mine: 5.0}, "b": {other: 5.0}}
    view.on_table(arc_table({mine: "b"}, 1, 1))
    assert view.arcs() == {"a": {}, "b": {mine: 5.0, other: 5.0}}
    view.on_table(arc_table({}, 1, 0))
    assert view.arcs()["a"] == {}, "an older table counts no more"


def test_devices_count_for_the_mean_of_their_bridge_if_loads_were_measured() -> None:
    view = BridgeView()
    mine, other = ends("a")[0], ends("b")[0]
    view.on_report(report("a", {mine: 4}))
    view.on_report(report("b", {other: 5}))
    assert view.arcs({"a": 100.0}) == {"a": {mine: 100.0}, "b": {other: 0.0}}


def test_arcs_that_are_none_any_more_count_where_they_end_now() -> None:
    view = BridgeView()
    gone = ends("gone")[0]
    view.on_report(report("a", {gone: 7}))
    (own,) = view.arcs().values()
    assert own == {view.circle.arc_of(gone): 7.0}


def test_a_draining_bridge_carries_nothing_and_what_it_serves_is_its_successors() -> None:
    view = BridgeView()
    end = ends("b")[1]
    view.on_report(report("a", points=0, arcs={end: 3}))
    assert view.arcs() == {}
    view.on_report(report("b"))
    assert view.arcs() == {"b": {end: 3.0}}


def test_it_is_settled_when_all_have_reported_since_the_last_change() -> None:
    view = BridgeView()
    assert view.is_settled
    view.on_report(report("a"))
    assert view.is_settled
    view.on_report(report("b"))
    assert not view.is_settled, "a has not said what it has since b came"
    view.on_report(report("a"))
    assert view.is_settled
    view.on_report(report("b", points=0))
    assert not view.is_settled
    view.on_report(report("a"))
    view.on_gone("b")
    assert not view.is_settled
    view.on_report(report("a"))
    assert view.is_settled
    view.on_gone("b")
    assert view.is_settled, "it was gone before"
    view.on_report(report("a", leaving=True))
    assert not view.bridges
