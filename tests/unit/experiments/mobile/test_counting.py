"""What the mobile experiments count: lost, repeated and disordered reports."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from evenflow_experiments.mobile.counting import _Counter
from evenflow_experiments.mobile.handover import PAPER_MS, _paper


def batch(*numbers: int, sender: str = "vehicle-001") -> Any:
    now = time.time_ns() // 1_000
    return [
        SimpleNamespace(sender=sender, payload=b'{"n":%d,"route":1}' % number, time=now - 5_000)
        for number in numbers
    ]


def test_each_report_counts_once_for_its_vehicle() -> None:
    counter = _Counter()
    counter.take(batch(1, 2, 2, 4, 3))
    counter.take(batch(1, sender="vehicle-002"))
    found = counter.answer()
    assert (found.reports, found.distinct, found.disordered) == (6, 5, 1)
    assert min(found.delays_ms) >= 5.0
    assert not counter.answer().delays_ms
    assert counter.answer().reports == 6


@pytest.mark.parametrize(
    ("mode", "rate_hz", "figure"),
    [
        ("break-before-make", 0.1, PAPER_MS),
        ("make-before-break", 0.1, None),
        ("break-before-make", 10.0, None),
    ],
)
def test_the_papers_figure_stands_beside_what_it_did(
    mode: str, rate_hz: float, figure: float | None
) -> None:
    assert _paper({"mode": mode, "rate_hz": rate_hz}) == figure
