"""count: even numbers, fewest moves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenflow.balance.count import Count, assign_unowned
from evenflow.model.plan import Move
from evenflow.testing.sample_clusters import NAMED, cluster, random_cluster


def counts(held: dict[str, list[float]], **options: object) -> dict[str, float]:
    return dict(Count().analyze_load(cluster(held, **options)).expected)  # type: ignore[arg-type]


def test_before_and_after() -> None:
    one = [1.0]
    assert counts({"a": one * 10, "b": []}) == {"a": 5, "b": 5}
    assert counts({"a": one * 5, "b": one * 5, "c": []}) == {"a": 4, "b": 3, "c": 3}
    assert counts({"a": one * 3, "b": one * 3, "c": one * 4}) == {"a": 3, "b": 3, "c": 4}
    assert counts({"a": one * 1, "b": one * 2, "c": one * 9}) == {"a": 4, "b": 4, "c": 4}
    assert counts({"a": one * 4, "b": one * 4}, leaving=frozenset("b")) == {"a": 8, "b": 0}
    assert counts({"a": one * 2, "b": []}, leaving=frozenset("ab")) == {"a": 2, "b": 0}


def test_moves_are_joined_for_each_pair() -> None:
    plan = Count().analyze_load(cluster({"a": [1.0] * 6, "b": [], "c": []}))
    assert plan.moves == (Move((0, 1), "a", "b"), Move((2, 3), "a", "c"))


def test_those_that_moved_longest_ago_go_first() -> None:
    snapshot = cluster({"a": [1.0] * 4, "b": []}, moved_at={0: 50.0, 1: 10.0})
    assert Count().analyze_load(snapshot).moves == (Move((2, 3), "a", "b"),)


def test_settle_time_holds_slices_except_on_a_leaving_node() -> None:
    assert not Count(settle_s=30).analyze_load(NAMED["everything has just moved"])
    assert Count(settle_s=30).analyze_load(NAMED["leaving although just moved"])


@given(st.integers(min_value=0, max_value=10_000))
def test_every_node_gets_its_quota_with_the_fewest_moves(seed: int) -> None:
    snapshot = random_cluster(seed)
    plan = Count().analyze_load(snapshot)
    staying = [node.name for node in snapshot.active]
    if not staying:
        assert not plan
        return
    sizes = sorted(plan.expected[name] for name in staying)
    assert sizes[-1] - sizes[0] <= 1
    assert all(plan.expected[node.name] == 0 for node in snapshot.nodes if node.leaving)
    held = snapshot.holdings()
    least: float = sum(len(held[node.name]) for node in snapshot.nodes if node.leaving)
    ranked = zip(
        sorted((len(held[name]) for name in staying), reverse=True), sizes[::-1], strict=True
    )
    least += sum(max(0, size - quota) for size, quota in ranked)
    assert sum(len(move.slices) for move in plan.moves) == least
    assert len(plan.moves) <= max(0, len(snapshot.nodes) - 1)


@given(st.integers(min_value=0, max_value=10_000))
def test_assign_unowned_places_each_slice_once_and_evens_out(seed: int) -> None:
    snapshot = random_cluster(seed)
    given_out = assign_unowned(snapshot)
    placed = [slice_id for ids in given_out.values() for slice_id in ids]
    if not snapshot.active:
        assert given_out == {}
        return
    assert sorted(placed) == [each.id for each in snapshot.unowned]
    held = snapshot.holdings()
    before = {node.name: len(held[node.name]) for node in snapshot.active}
    after = {name: size + len(given_out.get(name, ())) for name, size in before.items()}
    takers = [after[name] for name in given_out]
    assert all(size <= min(after.values()) + 1 for size in takers)
