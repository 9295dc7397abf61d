"""In how many topics the paper's rule for a returning primary copies nothing."""

from __future__ import annotations

import pytest

from evenflow_experiments.sedax.costs.returns import holders


@pytest.mark.parametrize("nodes", [10, 100])
def test_at_the_secondarys_own_coordinate_three_of_four_topics_are_copied(nodes: int) -> None:
    found = holders(nodes, 10)
    parts = [found["nothing_copied"], found["copied_to_primary"], found["copied_to_another"]]
    assert abs(sum(parts) - 1) < 0.01
    assert 0.2 < parts[0] < 0.3
    assert 0.35 < parts[1] < 0.5


@pytest.mark.parametrize("nodes", [10, 100])
def test_at_a_chosen_coordinate_most_topics_are_not_copied(nodes: int) -> None:
    found = holders(nodes, 10)
    assert 0.6 < found["nothing_copied_chosen"] <= 1


def test_of_three_nodes_somebody_always_has_it_already_or_is_the_primary() -> None:
    assert holders(3, 20)["copied_to_another"] == 0
