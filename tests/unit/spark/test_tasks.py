"""More tasks than nodes: every slice in one of them, and none of them much dearer than others."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.ids import NOWHERE
from evenflow.slices.consumer.reading import Share
from evenflow.slices.consumer.ticket import Range
from evenflow.spark.tasks import at_least


def share(address: str, slices: Sequence[int]) -> Share:
    return Share("items", address, (), Range(tuple(slices), NOWHERE, NOWHERE, {}), 1.0)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.integers(1, 40))
def test_every_slice_is_read_once_from_its_owner(sizes: list[int], tasks: int) -> None:
    shares = [
        share(str(node), range(100 * node, 100 * node + size)) for node, size in enumerate(sizes)
    ]
    found = at_least(shares, tasks, lambda slices: float(sum(s % 7 for s in slices)))
    assert sorted(s for one in found for s in one.asked.slices) == sorted(
        s for one in shares for s in one.asked.slices
    )
    assert all(int(one.address) == s // 100 for one in found for s in one.asked.slices)
    assert len(found) >= min(tasks, len(sizes))
    assert len(found) == max(len(sizes), min(tasks, sum(max(1, size) for size in sizes)))


def test_what_is_dear_is_cut_first() -> None:
    costs = {0: 10.0, 1: 10.0, 2: 1.0, 3: 1.0}
    found = at_least(
        [share("a", (0, 1)), share("b", (2, 3))], 3, lambda of: sum(costs[s] for s in of)
    )
    assert sorted(one.asked.slices for one in found) == [(0,), (1,), (2, 3)]


def test_without_knowledge_slices_are_divided_evenly() -> None:
    found = at_least([share("a", range(8))], 4, lambda _: 0.0)
    assert [len(one.asked.slices) for one in found] == [2, 2, 2, 2]
