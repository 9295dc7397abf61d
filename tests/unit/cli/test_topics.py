"""``evenflow topics`` shows what the domain does, also to who looks without the domain's file."""

from __future__ import annotations

import pytest

from evenflow.cli.consumers import ConsumersView
from evenflow.cli.topics.topics import as_row
from evenflow.config import TopicConfig
from evenflow.domain.observer import TopicView
from evenflow.model.messages import MapPage, NodeReport, Progress
from evenflow.model.slice_map import SliceMap


@pytest.mark.parametrize(("heard", "kind"), [(True, "served"), (False, "processed")])
def test_a_topic_that_nodes_serve_is_served(heard: bool, kind: str) -> None:
    readers = ConsumersView("items")
    if heard:
        readers.see(Progress("items", "node-1", "grpc://127.0.0.1:1", (), (), ()))
    row = as_row("items", TopicConfig("items"), TopicView(), {}, readers)
    assert (row["kind"], row["consumers"]) == (kind, [])


def test_a_topic_that_the_file_does_not_have() -> None:
    row = as_row("alerts", None, TopicView(), {}, None)
    assert (row["kind"], row["slices"]) == ("not configured", None)


def report(node: str, layout: str) -> NodeReport:
    counts = (0,) * 7
    return NodeReport(
        "items", node, 1, 1, False, (), (), (), *counts, 0.0, "here", 7, layout=layout
    )  # fmt: skip


def shown(topic: TopicConfig | None, view: TopicView) -> int | None:
    found: int | None = as_row("items", topic, view, {}, None)["slices"]
    return found


def test_slices_are_those_of_the_domain_where_somebody_is_heard() -> None:
    view = TopicView()
    assert shown(TopicConfig("items"), view) == 100
    assert shown(None, view) is None
    view.nodes["old~1"] = report("old~1", "")
    assert shown(TopicConfig("items"), view) == 100
    view.nodes["one~1"] = report("one~1", TopicConfig("items", slices=8).layout)
    assert shown(TopicConfig("items"), view) == 8
    assert shown(None, view) == 8
    view.map = SliceMap()
    view.map.apply(MapPage("items", 0, 1, 1, 4, ("one~1",), (0,) * 4, (1,) * 4))
    assert shown(TopicConfig("items"), view) == 4, "the balancer's word counts"
