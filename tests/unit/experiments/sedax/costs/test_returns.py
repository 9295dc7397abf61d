"""In how many topics the paper's rule for a returning primary copies nothing."""

from __future__ import annotations

from evenflow_experiments.sedax.costs.returns import holders


def test_in_three_of_four_topics_the_interim_data_would_be_copied_anyway() -> None:
    for nodes in (10, 100):
        found = holders(nodes, 10)
        parts = [found["nothing_copied"], found["copied_to_primary"], found["copied_to_another"]]
        assert abs(sum(parts) - 1) < 0.01
        assert 0.2 < parts[0] < 0.3
        assert 0.35 < parts[1] < 0.5


def test_of_three_nodes_somebody_always_has_it_already_or_is_the_primary() -> None:
    assert holders(3, 20)["copied_to_another"] == 0
