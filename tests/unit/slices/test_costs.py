"""What consumers say their slices cost, and what that makes of loads."""

from __future__ import annotations

import pytest

from evenflow.model.load import LoadWeights, SliceLoad
from evenflow.model.messages import SliceCosts, SliceLoads
from evenflow.slices.costs import Costs
from evenflow.slices.loads import Loads

MICRO = 1_000_000
"""Picoseconds."""


def told(consumer="spark", *, usual=10, octet=0, **items):
    """Costs in microseconds: ``s3=50`` is an item of slice 3."""
    slices = tuple(int(name[1:]) for name in items)
    return SliceCosts(
        "items", consumer, usual * MICRO, octet * MICRO, slices,
        tuple(cost * MICRO for cost in items.values()), (octet * MICRO,) * len(slices),
    )  # fmt: skip


def test_a_slice_costs_what_was_said_of_it_and_others_what_is_usual():
    costs = Costs()
    assert not costs.known
    costs.learn(told(s3=50, usual=10))
    assert costs.known
    assert costs.busy(3, SliceLoad(1_000)) == pytest.approx(0.05)
    assert costs.busy(4, SliceLoad(1_000)) == pytest.approx(0.01)


def test_bytes_cost_too():
    costs = Costs()
    costs.learn(told(s3=50, usual=10, octet=1))
    assert costs.busy(3, SliceLoad(1_000, 50_000)) == pytest.approx(0.1)


def test_consumers_cost_what_they_cost_together_and_nothing_when_they_are_gone():
    costs = Costs()
    costs.learn(told("a", s3=50))
    costs.learn(told("b", usual=30))
    assert costs.busy(3, SliceLoad(1_000)) == pytest.approx(0.08)
    costs.learn(told("a", s3=20))
    assert costs.busy(3, SliceLoad(1_000)) == pytest.approx(0.05)
    costs.forget("b")
    costs.forget("never heard of")
    assert costs.busy(3, SliceLoad(1_000)) == pytest.approx(0.02)
    costs.forget("a")
    assert not costs.known


def counted(items, *, node="a"):
    octets = tuple(100 * n for n in items)
    return SliceLoads("items", node, (3, 4), (1, 1), items, octets, (0, 0), items)


def running(loads, seconds=60, rates=(1_000, 1_000)):
    for second in range(seconds):
        loads.observe(counted(tuple(rate * second for rate in rates)), now=float(second))
    return loads


def test_the_balancer_goes_by_work_when_it_is_known():
    loads = running(Loads())
    assert loads.of(3) == loads.of(4) == pytest.approx(1_000)
    loads.learn_costs(told(s3=50, s4=10))
    assert loads.of(3) == pytest.approx(0.05)
    assert loads.of(4) == pytest.approx(0.01)
    assert loads.outlook(3) is None
    loads.forget_costs("spark")
    assert loads.of(3) == pytest.approx(1_000)


def test_the_operators_weights_count_with_the_work_of_consumers():
    loads = running(Loads(LoadWeights(item=0.001, octet=0.0, busy=10.0)))
    loads.learn_costs(told(s3=50, s4=10))
    assert loads.of(3) == pytest.approx(1.0 + 0.5)


def test_bursts_at_the_node_do_not_show_as_changes_of_the_work():
    loads = Loads()
    loads.learn_costs(told(s3=50, s4=10))
    count = 0
    for tick in range(400):
        count += 1_000 if tick % 4 == 0 else 0
        loads.observe(counted((count, count)), now=tick / 4)
    assert loads.of(3) == pytest.approx(0.05, rel=0.15)


def test_strengths_of_nodes_stay_equal_when_the_work_is_done_elsewhere():
    loads = Loads()
    loads.learn_costs(told(s3=50, s4=10))
    running(loads)
    assert loads.capacities(["a", "b"]) == {"a": 1.0, "b": 1.0}
