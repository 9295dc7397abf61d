"""Who comes before and after a bridge, and how many it can know."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenflow.bridge.ring.identifiers import Identifiers
from evenflow.bridge.ring.neighbours import MOST_BRIDGES, Neighbours, around
from evenflow.model.messages import BridgeReport


def report(bridge: str, *, leaving: bool = False) -> BridgeReport:
    return BridgeReport(bridge, (), 1, "", 0, "", 0, 0, (), (), 0, 0, leaving)


def test_a_ring_has_so_many_bridges_and_no_more() -> None:
    known = Neighbours("a", doubt_s=2.0)
    for number in range(MOST_BRIDGES):
        assert known.on_report(report(f"b{number}"), 0.1)
    assert not known.on_report(report("late"), 0.1)
    assert known.on_report(report("b1"), 0.1), "who is known is heard"
    assert len(known.serving()) == MOST_BRIDGES
    known.on_report(report("b0", leaving=True), 0.2)
    assert known.on_report(report("late"), 0.3)


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3), min_size=1))
def test_successors_and_predecessors_are_one_ring_also_where_places_are_equal(
    places: dict[str, int],
) -> None:
    def placing(name: str, points: int) -> Identifiers:
        return np.array([places[name]] * points, dtype=np.uint64)

    found = {name: around(name, set(places) - {name}, placing) for name in places}
    if len(places) == 1:
        assert set(found.values()) == {("", "")}
        return
    for name, (successor, predecessor) in found.items():
        assert found[successor][1] == name
        assert found[predecessor][0] == name
    at, seen = min(places), set()
    while at not in seen:
        seen.add(at)
        at = found[at][0]
    assert seen == set(places)
