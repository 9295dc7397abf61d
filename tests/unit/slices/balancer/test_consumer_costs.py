"""What consumers say their slices cost, and what that makes of loads."""

from __future__ import annotations

import pytest

from evenflow.model.load import LoadWeights
from evenflow.model.messages import SliceCosts, SliceLoads
from evenflow.slices.balancer.loads import GRACE_S, Costs, Loads


def told(consumer="spark", **seconds):
    """Work in seconds a second: ``s3=0.5`` is that of slice 3."""
    slices = tuple(int(name[1:]) for name in seconds)
    return SliceCosts("items", consumer, slices, tuple(int(s * 1e9) for s in seconds.values()))


def test_a_slice_costs_what_was_said_of_it_and_others_nothing():
    costs = Costs()
    assert not costs.known
    costs.learn(told(s3=0.05))
    assert costs.known
    assert costs.busy(3) == pytest.approx(0.05)
    assert costs.busy(4) == 0.0


def test_consumers_cost_what_they_cost_together_and_nothing_when_they_are_gone():
    costs = Costs()
    costs.learn(told("a", s3=0.05))
    costs.learn(told("b", s3=0.03, s4=0.01))
    assert costs.busy(3) == pytest.approx(0.08)
    costs.learn(told("a", s3=0.02))
    assert costs.busy(3) == pytest.approx(0.05)
    costs.gone("b", 10.0)
    costs.gone("never heard of", 10.0)
    assert costs.forget_gone(10.0 + GRACE_S)
    assert costs.busy(3) == pytest.approx(0.02)
    assert costs.busy(4) == 0.0
    costs.gone("a", 100.0)
    assert costs.forget_gone(200.0)
    assert not costs.known


def test_a_consumer_that_was_silent_for_a_moment_is_not_forgotten():
    costs = Costs()
    costs.learn(told("a", s3=0.05))
    costs.gone("a", 10.0)
    assert not costs.forget_gone(9.0 + GRACE_S)
    costs.learn(told("a", s3=0.06))
    assert not costs.forget_gone(100.0)
    assert costs.busy(3) == pytest.approx(0.06)


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
    loads.learn_costs(told(s3=0.05, s4=0.01))
    assert loads.of(3) == pytest.approx(0.05)
    assert loads.of(4) == pytest.approx(0.01)
    assert loads.outlook(3) is None
    loads.consumer_gone("spark", 60.0)
    loads.observe(counted((61_000, 61_000)), now=61.0)
    assert loads.of(3) == pytest.approx(0.05)
    loads.observe(counted((100_000, 100_000)), now=100.0)
    assert loads.of(3) == pytest.approx(1_000)


def test_the_operators_weights_count_with_the_work_of_consumers():
    loads = running(Loads(LoadWeights(item=0.001, octet=0.0, busy=10.0)))
    loads.learn_costs(told(s3=0.05, s4=0.01))
    assert loads.of(3) == pytest.approx(1.0 + 0.5)


def test_bursts_at_the_node_do_not_show_as_changes_of_the_work():
    loads = Loads()
    loads.learn_costs(told(s3=0.05, s4=0.01))
    count = 0
    for tick in range(40):
        count += 1_000 if tick % 4 == 0 else 0
        loads.observe(counted((count, count)), now=tick / 4)
        assert loads.of(3) in (0.0, pytest.approx(0.05))
    assert loads.of(3) == pytest.approx(0.05)


def test_strengths_of_nodes_stay_equal_when_the_work_is_done_elsewhere():
    loads = Loads()
    loads.learn_costs(told(s3=0.05, s4=0.01))
    running(loads)
    assert loads.capacities(["a", "b"]) == {"a": 1.0, "b": 1.0}
