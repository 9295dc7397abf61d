"""The operator's tables: together they make sense, or are refused at the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenflow.autonomic.analyze.balancer_events import BalancerEvent
from evenflow.autonomic.analyze.composite_events import Composite, Operand, Way
from evenflow.autonomic.analyze.distributed_events import Aggregate, Quorum
from evenflow.autonomic.design import Design, design
from evenflow.autonomic.plan.planning import Place, Verb
from evenflow.config import Config, TopicConfig
from evenflow.errors import ConfigError, ExpressionError

EXAMPLE = Path(__file__).parents[3] / "docs" / "autonomic.toml"


def designed(tmp_path: Path, text: str) -> Design:
    file = tmp_path / "site.toml"
    file.write_text(text, encoding="utf-8")
    return design(Config.load(file))


def test_without_tables_each_topic_has_its_planner_and_its_rule() -> None:
    plan = design(Config(topics=(TopicConfig("a"), TopicConfig("b"))))
    assert plan.places == {
        "a": Place("weighted", {"topic": "a"}),
        "b": Place("weighted", {"topic": "b"}),
    }
    for topic in "ab":
        events = {rule.event for rule in plan.rules if rule.planner == topic}
        assert events == {event.of(topic) for event in BalancerEvent}
    assert not plan.local
    assert not plan.distributed


def test_the_example_of_the_docs_is_sound() -> None:
    plan = design(Config.load(EXAMPLE))
    assert {event.id for event in plan.local} >= {"overload"}
    assert {type(event) for event in plan.distributed} == {Quorum, Aggregate, Composite}
    assert {rule.verb for rule in plan.rules} == set(Verb)
    assert "elastic" in {place.planner for place in plan.places.values()}


def test_combinations_name_events_and_where_they_happen(tmp_path: Path) -> None:
    events = """
        groups.north.nodes = "north-*"
        events.hot.expression = "cpu > 90"
        events.outer.any_of = ["chain", "hot@query/*/*"]
        events.chain = {sequence = ["hot@north", "hot@south-1"], within_s = 60}
    """
    found = {each.id: each for each in designed(tmp_path, events).distributed}
    assert found["chain"] == Composite(
        "chain", Way.SEQUENCE, (Operand("hot", "north-*"), Operand("hot", "south-1")), 60.0
    )
    assert found["outer"] == Composite(
        "outer", Way.ANY, (Operand("chain"), Operand("hot", "query/*/*"))
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("events.x.all_of = ['y']", r"events\.x\.all_of = 'y': no such thing"),
        ("events.x.all_of = ['x']", "no such thing"),
        ("events.x.sequence = ['hot', 'hot']", "needs a window"),
        ("events.x = {all_of = ['hot'], any_of = ['hot']}", "cannot stand beside 'any_of'"),
        ("events.x = {all_of = ['hot'], group = 'all'}", "cannot stand beside 'group'"),
        ("events.x.all_of = ['y']\nevents.y.any_of = ['x']", "in a circle"),
    ],
)
def test_a_faulty_combination_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        designed(tmp_path, f"events.hot.expression = 'cpu > 90'\n{text}")


def test_a_property_of_a_program_is_declared_by_its_ranges(tmp_path: Path) -> None:
    text = "[events.fast]\nexpression = 'speed > 3'\n"
    with pytest.raises(ExpressionError, match="unknown property 'speed'"):
        designed(tmp_path, text)
    assert "speed" in designed(tmp_path, text + "[monitor.ranges]\nspeed = []").properties


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[events.x]\nexpression = 'cpu >'", "line 1, column 6"),
        ("[events.x]\nexpression = 'cpu > 70 && memry > 3'", "did you mean 'memory'?"),
        ("[events.x]\nexpression = 'mean_cpu > 70'", "unknown property 'mean_cpu'"),
        ("[events.x]\ngroup = 'all'\nexpression = 'cpu > 70'", "unknown property 'cpu'"),
    ],
)
def test_a_faulty_expression_is_refused_with_its_place(
    tmp_path: Path, text: str, place: str
) -> None:
    with pytest.raises(ExpressionError, match=r"event.x.expression") as caught:
        designed(tmp_path, text)
    assert place in str(caught.value)


@pytest.mark.parametrize(
    ("text", "key", "allowed"),
    [
        ("[events.x]\ngroup = 'nort'\nexpression = 'mean_cpu > 1'\n[groups.north]",
         "events.x.group", "did you mean 'north'?"),
        ("[events.x]\nevents = ['overload']", "events.x.events", "known: none"),
        ("[events.x]\nevents = ['y']\nexpression = 'mean_cpu > 1'\n[events.y]\nexpression='cpu>1'",
         "events.x.expression", "without 'events'"),
        ("[[rules]]\nevent = 'x'\nplanner = 'items'", "rules.event", "imbalance-items"),
        ("[[rules]]\nevent = 'imbalance-items'\nplanner = 'itms'", "rules.planner", "'items'?"),
    ],
)  # fmt: skip
def test_a_name_of_nothing_is_refused(tmp_path: Path, text: str, key: str, allowed: str) -> None:
    with pytest.raises(ConfigError) as caught:
        designed(tmp_path, text)
    assert caught.value.key == key
    assert allowed in caught.value.allowed


def test_a_planner_in_the_place_of_a_topic_is_for_that_topic(tmp_path: Path) -> None:
    plan = designed(
        tmp_path,
        """
        [topics.first]
        [topics.second]
        [events.late]
        expression = "cpu < 5"
        [planners.second]
        planner = "weighted"
        tolerance = 0.2
        [planners.other]
        planner = "elastic"
        grow_on = "late"
        [[rules]]
        event = "late"
        planner = "second"
        verb = "swap"
        by = "saver"
        """,
    )
    assert plan.places["second"] == Place("weighted", {"topic": "second", "tolerance": 0.2})
    assert plan.places["other"] == Place("elastic", {"grow_on": "late"})
    assert plan.rules[-1].settings == {"topic": "second"}
