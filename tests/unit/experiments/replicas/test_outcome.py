"""What is counted of a run in which a process was killed."""

from __future__ import annotations

import pytest

from evenflow_experiments.replicas.outcome import figures, longest_gap, overtaken


def test_a_gap_is_the_longest_time_between_results_whatever_their_order() -> None:
    assert longest_gap([5.0, 1.0, 2.0, 2.5]) == 2.5
    assert longest_gap([1.0]) == longest_gap([]) == 0.0


@pytest.mark.parametrize(
    ("order", "late"),
    [
        ([1, 2, 3, 4, 5, 6], 0),
        ([2, 1, 4, 3], 0),  # of different slices
        ([3, 1, 2], 1),
        ([5, 1, 3, 2], 2),  # both came after 5, which they precede
    ],
)
def test_overtaken_is_who_comes_after_a_later_one_of_its_slice(order: list[int], late: int) -> None:
    assert overtaken(order, slices=2) == late


def test_lost_is_what_never_came() -> None:
    found = figures(4, {1: 0.0, 2: 0.1, 4: 0.9}, 7, slices=1)
    assert found == {"published": 4, "gap_s": 0.8, "lost": 1, "repeated": 7, "overtaken": 0}
