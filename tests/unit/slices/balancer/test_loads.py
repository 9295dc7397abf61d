"""The balancer's book of loads."""

from __future__ import annotations

import pytest

from evenflow.model.load import LoadWeights
from evenflow.model.messages import SliceLoads
from evenflow.slices.balancer.loads import Loads


def told(node, *rows, term=1, arrived=None):
    """A report of (slice, items, busy seconds); all that arrived is done unless it is said."""
    slices, items, busy = zip(*rows, strict=True)
    micros = tuple(int(seconds * 1e6) for seconds in busy)
    return SliceLoads(
        "items", node, slices, (term,) * len(rows), items, tuple(100 * n for n in items), micros,
        items if arrived is None else arrived,
    )  # fmt: skip


def test_a_load_is_the_difference_of_two_reports():
    loads = Loads()
    loads.observe(told("a", (3, 100, 0.0)), now=10.0)
    assert loads.of(3) == 0.0
    loads.observe(told("a", (3, 160, 0.0)), now=12.0)
    assert loads.of(3) == pytest.approx(30.0)


def test_a_slice_keeps_its_load_while_it_changes_hands():
    loads = Loads()
    loads.observe(told("a", (3, 0, 0.0)), now=0.0)
    loads.observe(told("a", (3, 50, 0.0)), now=1.0)
    loads.observe(told("b", (3, 0, 0.0), term=2), now=2.0)
    assert loads.of(3) == pytest.approx(50.0)
    loads.observe(told("b", (3, 20, 0.0), term=2), now=3.0)
    assert loads.of(3) == pytest.approx(20.0)


def test_a_node_that_owns_a_slice_anew_counts_anew():
    loads = Loads()
    loads.observe(told("a", (3, 1000, 0.0), term=1), now=0.0)
    loads.observe(told("a", (3, 10, 0.0), term=5), now=1.0)
    assert loads.of(3) == 0.0


def test_strength_is_learned_from_what_busy_nodes_achieve():
    loads = Loads()
    for second in range(20):
        loads.observe(told("strong", (0, 200 * second, 0.5 * second)), now=float(second))
        loads.observe(told("weak", (1, 50 * second, 0.5 * second)), now=float(second))
    capacities = loads.capacities(["strong", "weak"])
    assert capacities["strong"] == pytest.approx(4 * capacities["weak"], rel=0.01)


def test_an_older_report_that_comes_late_changes_nothing():
    loads = Loads()
    loads.observe(told("a", (3, 0, 0.0)), now=0.0)
    loads.observe(told("a", (3, 10, 0.1)), now=1.0)
    loads.observe(told("a", (3, 4, 0.0)), now=2.0)
    assert loads.of(3) > 0
    before = loads.of(3)
    loads.observe(told("a", (3, 30, 0.3)), now=3.0)
    assert loads.of(3) == pytest.approx(before)


def test_a_report_repeated_at_the_same_time_changes_nothing():
    loads = Loads()
    loads.observe(told("a", (3, 0, 0.0)), now=0.0)
    loads.observe(told("a", (3, 10, 0.0)), now=1.0)
    loads.observe(told("a", (3, 10, 0.0)), now=1.0)
    assert loads.of(3) == pytest.approx(10.0)


def test_the_operator_says_what_load_is():
    loads = Loads(LoadWeights(item=0.0, octet=0.01, busy=5.0))
    loads.observe(told("a", (3, 0, 0.0)), now=0.0)
    loads.observe(told("a", (3, 50, 0.5)), now=1.0)
    assert loads.of(3) == pytest.approx(50 * 100 * 0.01 + 0.5 * 5.0)


def test_an_overloaded_node_does_less_than_its_slices_ask():
    loads = Loads(LoadWeights(item=1.0, octet=1.0, busy=1.0))
    loads.observe(told("a", (3, 0, 0.0), arrived=(0,)), now=0.0)
    loads.observe(told("a", (3, 50, 1.0), arrived=(150,)), now=1.0)
    assert loads.of(3) == pytest.approx(3 * (50 + 5_000 + 1.0))


def test_strength_is_what_a_node_does_not_what_it_is_asked():
    loads = Loads()
    for second in range(20):
        report = told("a", (0, 50 * second, 1.0 * second), arrived=(500 * second,))
        loads.observe(report, now=float(second))
    assert loads.capacities(["a"])["a"] == pytest.approx(50.0)


def test_a_node_that_works_off_what_has_piled_up_is_asked_no_more_than_what_arrives():
    loads = Loads()
    loads.observe(told("a", (3, 0, 0.0), arrived=(1_000,)), now=0.0)
    loads.observe(told("a", (3, 900, 1.0), arrived=(1_020,)), now=1.0)
    assert loads.of(3) == pytest.approx(20.0)


def test_a_node_that_does_nothing_is_asked_what_its_slices_have_cost():
    loads = Loads(LoadWeights(item=0.0, octet=0.0, busy=1.0))
    loads.observe(told("a", (3, 0, 0.0), arrived=(0,)), now=0.0)
    loads.observe(told("a", (3, 100, 0.5), arrived=(100,)), now=1.0)
    loads.observe(told("a", (3, 100, 0.5), arrived=(300,)), now=2.0)
    assert loads.of(3) == pytest.approx(1.0)


def test_a_season_is_learned_when_the_operator_says_how_long_it_is():
    loads = Loads(season_s=240.0)
    count = 0
    for second in range(0, 960, 2):
        count += 200 if (second % 240) < 120 else 20
        loads.observe(told("a", (3, count, 0.0)), now=float(second))
    outlook = loads.outlook(3)
    assert outlook.period_s == 240.0
    assert outlook.at(1_020.0) > 3 * outlook.at(1_140.0)
    assert Loads().outlook(3) is None
