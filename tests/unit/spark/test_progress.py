"""The figures that a query shows in its progress."""

from __future__ import annotations

import json

from evenflow.model.ids import Position
from evenflow.spark.progress import Figures, NodeFigures, figures, report_of

FOUND = Figures(5_021, 1.5, 3, 7, 1, 0, {"node-1": NodeFigures(4, 2)})


def test_figures_come_back_from_a_progress_in_either_form() -> None:
    report = {"fleet": report_of(Position({7: 4}), FOUND), "plain": {"a": 1}}
    for form in (dict, json.dumps):
        sources = [
            {"latestOffset": form(report)},
            {"latestOffset": None},
            {"latestOffset": "["},
            {},
        ]
        assert figures({"sources": [*sources, {"latestOffset": '{"kafka": {"0": 3}}'}]}) == {
            "fleet": FOUND
        }
    assert figures({}) == {}


def test_a_report_says_how_far_publishers_are() -> None:
    report = report_of(Position({7: 4}), Figures())
    assert report["0000000000000007"] == 4
    assert report["figures"]["lag_items"] == 0
