"""Distributed events: counting nodes, and expressions over a group."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.autonomic.analyze.distributed_events import (
    Aggregate,
    CompositeDetector,
    Quorum,
    aggregated,
)
from evenflow.autonomic.analyze.local_events import EventNotification, Phase
from evenflow.errors import ConfigError, ExpressionError

NODES = tuple(f"node-{number}" for number in range(1, 6))


def detector(*definitions: Quorum | Aggregate, stale_s: float = 30.0) -> CompositeDetector:
    watched = CompositeDetector(definitions, ("cpu",), stale_s=stale_s)
    for node in NODES:
        assert watched.heard(node, {"cpu": 10.0}, 0.0) == []
    return watched


def tell(
    watched: CompositeDetector, node: str, now: float, phase: Phase = Phase.RAISED
) -> list[Phase]:
    told = EventNotification("overload", node, (), phase, now)
    return [each.phase for each in watched.notified(told, now)]


def test_three_of_five_nodes_overloaded_for_ten_seconds() -> None:
    watched = detector(Quorum("hot", ("overload",), need=3, duration_s=10.0))
    assert tell(watched, "node-1", 1.0) == []
    assert tell(watched, "node-2", 2.0) == []
    assert tell(watched, "node-2", 3.0) == []
    assert tell(watched, "node-3", 4.0) == []
    assert watched.look(13.0) == []
    (raised,) = watched.look(14.0)
    assert (raised.event_id, raised.source_id, raised.phase) == ("hot", "*", Phase.RAISED)
    assert {each.name: each.value for each in raised.properties} == {"nodes": 5.0, "count": 3.0}
    assert watched.look(20.0) == []
    assert tell(watched, "node-1", 21.0, Phase.CLEARED) == [Phase.CLEARED]


def test_all_any_and_groups() -> None:
    watched = detector(
        Quorum("all", ("overload",), need="all", group="node-[12]"),
        Quorum("any", ("overload", "other"), need="any"),
    )
    assert [each.event_id for each in watched.notified(_overload("node-1", 1.0), 1.0)] == ["any"]
    assert [each.event_id for each in watched.notified(_overload("node-2", 2.0), 2.0)] == ["all"]


def test_queries_are_not_among_the_nodes() -> None:
    watched = detector(
        Quorum("all", ("overload",), need="all"),
        Quorum("late", ("overload",), need="any", group="query/*/*"),
    )
    watched.heard("query/items/spark", {"cpu": 90.0}, 1.0)
    for node in NODES[:-1]:
        assert tell(watched, node, 2.0) == []
    assert tell(watched, NODES[-1], 2.0) == [Phase.RAISED]
    found = watched.notified(_overload("query/items/spark", 3.0), 3.0)
    assert [each.event_id for each in found] == ["late"]


def _overload(node: str, now: float) -> EventNotification:
    return EventNotification("overload", node, (), Phase.RAISED, now)


def test_within_a_window_cleared_events_count() -> None:
    watched = detector(Quorum("flicker", ("overload",), need=2, window_s=10.0))
    assert tell(watched, "node-1", 1.0) == []
    assert tell(watched, "node-1", 2.0, Phase.CLEARED) == []
    assert tell(watched, "node-2", 9.0) == [Phase.RAISED]
    assert [each.phase for each in watched.look(11.5)] == [Phase.CLEARED]


def test_all_of_nobody_is_not_all() -> None:
    watched = CompositeDetector([Quorum("all", ("overload",))], ("cpu",))
    assert watched.look(0.0) == []


def test_a_node_that_leaves_or_falls_silent_does_not_count() -> None:
    watched = detector(Quorum("any", ("overload",), need="any"), stale_s=30.0)
    assert tell(watched, "node-1", 1.0) == [Phase.RAISED]
    assert [each.phase for each in watched.gone("node-1", 2.0)] == [Phase.CLEARED]
    assert tell(watched, "node-2", 3.0) == [Phase.RAISED]
    assert [each.phase for each in watched.look(40.0)] == [Phase.CLEARED]


def test_mean_and_maximum_over_a_group() -> None:
    watched = detector(Aggregate("busy", "mean_cpu > 50 && max_cpu > 80 && nodes >= 5"))
    assert watched.heard("node-1", {"cpu": 90.0}, 1.0) == []
    assert watched.heard("node-2", {"cpu": 79.0}, 2.0) == []
    assert watched.heard("node-3", {"cpu": 50.0}, 3.0) == []
    (raised,) = watched.heard("node-4", {"cpu": 62.0}, 4.0)
    assert {each.name: each.value for each in raised.properties}["mean_cpu"] == pytest.approx(58.2)


def test_faulty_definitions_are_refused() -> None:
    with pytest.raises(ConfigError, match="need"):
        Quorum("hot", ("overload",), need=0)
    with pytest.raises(ConfigError, match="need"):
        Quorum("hot", ("overload",), need="most")
    with pytest.raises(ConfigError, match="at least one event"):
        Quorum("hot", ())
    with pytest.raises(ConfigError, match="window_s"):
        Quorum("hot", ("overload",), window_s=-1.0)
    with pytest.raises(ExpressionError, match="average_cpu"):
        detector(Aggregate("busy", "average_cpu > 50"))
    with pytest.raises(ConfigError, match="two events"):
        detector(Quorum("hot", ("overload",)), Quorum("hot", ("overload",)))


VALUES = st.floats(min_value=0.0, max_value=100.0)


@given(st.lists(st.dictionaries(st.sampled_from(["cpu", "memory"]), VALUES), max_size=6))
def test_aggregates_lie_where_they_must(members: list[dict[str, float]]) -> None:
    seen = aggregated(list(members))
    assert seen["nodes"] == len(members)
    for name in {name for member in members for name in member}:
        low, mean, high = (seen[f"{kind}_{name}"] for kind in ("min", "mean", "max"))
        assert low - 1e-9 <= mean <= high + 1e-9
        assert seen[f"sum_{name}"] >= high - 1e-9


@given(st.lists(st.tuples(st.sampled_from(NODES), st.booleans()), max_size=40), st.integers(1, 5))
def test_raised_exactly_while_enough_nodes_are_on(steps: list[tuple[str, bool]], need: int) -> None:
    watched = detector(Quorum("hot", ("overload",), need=need))
    on: set[str] = set()
    raised = False
    for step, (node, begins) in enumerate(steps, start=1):
        on = on | {node} if begins else on - {node}
        phase = Phase.RAISED if begins else Phase.CLEARED
        told = tell(watched, node, step / 10, phase)
        if raised == (len(on) >= need):
            assert told == []
        else:
            raised = not raised
            assert told == [Phase.RAISED if raised else Phase.CLEARED]
