"""Rules: which planner answers, changed settings, swapped planners."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from evenflow.autonomic.analyze.local_events import EventNotification, Phase
from evenflow.autonomic.execute.actions import Action, ActionPlan, staged
from evenflow.autonomic.knowledge.knowledge import Knowledge
from evenflow.autonomic.plan.planning import Place, PlanningService, Rule, Verb
from evenflow.errors import ConfigError, PlanError, UnknownName
from evenflow.testing.knowledge import knowing


@dataclass
class Echo:
    """Plans one action that says who planned it with which settings."""

    size: float = 1.0

    def analyze_load(self, knowledge: Knowledge) -> ActionPlan | None:
        return ActionPlan((Action("a", "x", f"{type(self).__name__} {self.size}"),))

    def on_new_processing_node(self, knowledge: Knowledge) -> ActionPlan | None:
        return ActionPlan((Action("a", "x", f"for {knowledge.event.source_id}"),))


class Other(Echo):
    pass


class Refusing(Echo):
    def analyze_load(self, knowledge: Knowledge) -> ActionPlan | None:
        raise PlanError("nothing is known yet")


class Clumsy(Echo):
    def analyze_load(self, knowledge: Knowledge) -> ActionPlan | None:
        raise KeyError("cpu")


PLANNERS = {"clumsy": Clumsy, "echo": Echo, "other": Other, "refusing": Refusing}


def event(event_id: str, phase: Phase = Phase.RAISED) -> EventNotification:
    return EventNotification(event_id, "node-1", (), phase, 0.0)


def service(*rules: Rule, planner: str = "echo") -> PlanningService:
    return PlanningService(rules, {"slices": Place(planner)}, PLANNERS, knowing(), run="r")


def kinds(planning: PlanningService, event_id: str, phase: Phase = Phase.RAISED) -> list[str]:
    decisions = planning.handle(event(event_id, phase), 0.0)
    return [each.plan.actions[0].kind for each in decisions if each.plan is not None]


def test_the_rule_chooses_the_planner() -> None:
    planning = service(Rule("overload", "slices"))
    assert kinds(planning, "overload") == ["Echo 1.0"]
    assert kinds(planning, "overload", Phase.CLEARED) == []
    assert kinds(planning, "unheard-of") == []


def test_a_join_is_the_planners_own_question() -> None:
    planning = service(Rule("node-joined-fleet", "slices"))
    assert kinds(planning, "node-joined-fleet") == ["for node-1"]


def test_no_two_plans_have_the_same_id() -> None:
    planning = service(
        Rule("overload", "slices"), Rule("overload", "slices", Verb.SWAP, by="other")
    )
    decisions = [each for _ in range(2) for each in planning.handle(event("overload"), 0.0)]
    plans = [each.plan for each in decisions if each.plan is not None]
    assert [plan.plan_id for plan in plans] == ["slices-r-1", "slices-r-2"]
    assert {plan.event_id for plan in plans} == {"overload"}


def test_a_planner_of_others_that_raises_anything_is_told() -> None:
    planning = service(Rule("overload", "slices"), planner="clumsy")
    [decision] = planning.handle(event("overload"), 0.0)
    assert decision.failure == "KeyError: 'cpu'"
    assert planning.consult("slices", event("overload"), 0.0) is None


def test_settings_of_a_rule_hold_for_one_plan() -> None:
    planning = service(Rule("overload", "slices", settings={"size": 5.0}), Rule("idle", "slices"))
    assert kinds(planning, "overload") == ["Echo 5.0"]
    assert kinds(planning, "idle") == ["Echo 1.0"]


def test_adjusted_settings_stay() -> None:
    planning = service(
        Rule("tight", "slices", Verb.ADJUST, settings={"size": 7.0}), Rule("overload", "slices")
    )
    assert kinds(planning, "tight") == []
    assert kinds(planning, "overload") == ["Echo 7.0"]
    assert planning.places["slices"] == Place("echo", {"size": 7.0})


def test_planners_are_swapped_while_running() -> None:
    planning = service(
        Rule("night", "slices", Verb.SWAP, by="other", settings={"size": 2.0}),
        Rule("night", "slices", Verb.SWAP, Phase.CLEARED, by="echo"),
        Rule("overload", "slices"),
    )
    planning.handle(event("night"), 0.0)
    assert kinds(planning, "overload") == ["Other 2.0"]
    planning.handle(event("night", Phase.CLEARED), 0.0)
    assert kinds(planning, "overload") == ["Echo 1.0"]


def test_a_refused_change_leaves_the_old_planner_at_work() -> None:
    planning = service(
        Rule("tight", "slices", Verb.ADJUST, settings={"nonsense": 7.0}), Rule("overload", "slices")
    )
    (decision,) = planning.handle(event("tight"), 0.0)
    assert "nonsense" in decision.failure
    assert kinds(planning, "overload") == ["Echo 1.0"]


def test_a_planner_that_fails_does_not_stop_the_others() -> None:
    planning = PlanningService(
        (Rule("overload", "first"), Rule("overload", "second")),
        {"first": Place("refusing"), "second": Place("echo")},
        PLANNERS,
        knowing(),
    )
    failed, planned = planning.handle(event("overload"), 0.0)
    assert "nothing is known yet" in failed.failure
    assert planned.plan is not None


def test_unknown_names_are_refused_at_the_start() -> None:
    with pytest.raises(UnknownName, match="slises"):
        service(Rule("overload", "slises"))
    with pytest.raises(UnknownName, match="echho"):
        service(Rule("night", "slices", Verb.SWAP, by="echho"))
    with pytest.raises(UnknownName, match="nobody"):
        service(planner="nobody")
    with pytest.raises(ConfigError, match="swap"):
        Rule("night", "slices", Verb.SWAP)
    with pytest.raises(ConfigError, match="swap"):
        Rule("night", "slices", by="other")


def test_actions_that_share_nothing_share_a_stage() -> None:
    pairs = ["ab", "cd", "ae", "cf", "bd"]
    assert staged(frozenset(pair) for pair in pairs) == [0, 0, 1, 1, 1]


def test_two_actions_of_one_id_are_refused() -> None:
    with pytest.raises(PlanError, match="same id"):
        ActionPlan((Action("a", "x", "k"), Action("a", "y", "k")))
