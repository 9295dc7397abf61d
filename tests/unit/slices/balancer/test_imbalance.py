"""When uneven loads are worth an event."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenflow.autonomic.analyze.local_events import Phase
from evenflow.autonomic.execute.actions import Action, ActionPlan
from evenflow.balance.weighted import Weighted
from evenflow.model.snapshot import LoadSnapshot
from evenflow.slices.balancer.core import BalancerCore
from evenflow.slices.balancer.imbalance import LOOKS, MEASURED_WITHIN_S, ImbalanceWatch, seen
from evenflow.slices.balancer.planner import SlicePlanner
from evenflow.slices.balancer.settings import BalancerSettings
from evenflow.testing.knowledge import asked
from evenflow.testing.sample_clusters import cluster

UNEVEN = cluster({"a": [5.0, 5.0, 5.0, 5.0], "b": [1.0]})
EVEN = cluster({"a": [5.0, 5.0], "b": [5.0, 5.0]})


def watch(least_gain: float = 0.1) -> ImbalanceWatch:
    core = BalancerCore("items", 5, BalancerSettings(), 0.0, 1_000.0)
    return ImbalanceWatch(core, least_gain)


def plan_for(snapshot: LoadSnapshot) -> ActionPlan | None:
    return SlicePlanner(Weighted(), "items").analyze_load(asked(snapshot))


def test_two_looks_in_a_row_begin_it_and_an_even_one_ends_it() -> None:
    looking = watch()
    plan = plan_for(UNEVEN)
    assert plan is not None
    phases = [looking.look(plan, UNEVEN) for _ in range(2 * LOOKS)]
    assert phases == [None, Phase.RAISED, None, Phase.RAISED]
    assert looking.look(None, EVEN) is Phase.CLEARED
    assert looking.look(None, EVEN) is None


def test_a_peak_of_one_look_is_nothing() -> None:
    looking = watch()
    for _ in range(5):
        assert looking.look(plan_for(UNEVEN), UNEVEN) is None
        assert looking.look(None, EVEN) is None


@pytest.mark.parametrize(("least_gain", "raised"), [(0.5, True), (0.99, False)])
def test_what_moves_must_be_worth_a_part_of_a_nodes_load(least_gain: float, raised: bool) -> None:
    looking = watch(least_gain)
    plan = plan_for(UNEVEN)
    phases = [looking.look(plan, UNEVEN) for _ in range(LOOKS)]
    assert (Phase.RAISED in phases) is raised


def test_what_a_planner_of_others_does_besides_moving_always_counts() -> None:
    looking = watch(least_gain=1.0)
    plan = ActionPlan((Action("a", "b", "work-less"),))
    assert [looking.look(plan, UNEVEN) for _ in range(LOOKS)][-1] is Phase.RAISED


def test_a_quiet_or_unmeasured_topic_is_not_looked_at() -> None:
    looking = watch()
    loud = replace(UNEVEN, time=MEASURED_WITHIN_S + 1)
    assert not looking.worth_a_look(loud, 0.0), "nothing was measured"
    looking._core.owners.give([0], "a", 1, 0.0)
    looking._core.loads._loads[0] = 5.0
    assert looking.worth_a_look(loud, 0.0)
    assert not looking.worth_a_look(replace(loud, quiet=True), 0.0)


def test_it_is_told_with_the_loads_that_were_seen() -> None:
    assert seen(UNEVEN) == {
        "load a": 20.0,
        "load b": 1.0,
        "max_over_mean": pytest.approx(1.905, 0.01),
    }
    assert seen(cluster({})) == {"max_over_mean": 0.0}
