"""Doors and clients under random schedules: each item by one door, once, in order."""

from __future__ import annotations

import pytest
from hypothesis import settings

from evenflow.edge.settling import Settling
from evenflow.edge.uplink import Uplink
from evenflow.testing.edge.disk import SimDisk
from evenflow.testing.edge.schedules import edge_schedule
from evenflow.testing.invariants import Violation

SEEDS = 60 if settings.default.max_examples > 50 else 30
"""``make test`` runs more than ``make unit``."""


@pytest.mark.parametrize("first", range(0, SEEDS, 10))
def test_whatever_dies_each_item_is_accepted_once_and_in_order(first):
    run(first, 10)


def run(first, count):
    for seed in range(first, first + count):
        edge_schedule(seed)


take = Uplink.take


@pytest.mark.parametrize(
    ("where", "rule", "broken"),
    [
        (Uplink, "take", lambda *args: take(*args[:7])),
        (Uplink, "has_any", lambda *_: False),
        (Settling, "_is_ready", lambda *_: True),
        (SimDisk, "recover", lambda _: None),
    ],
    ids=["the beginning is said", "welcome is final", "answers are final", "marks are taken back"],
)
def test_without_one_of_the_rules_a_violation_is_found(monkeypatch, where, rule, broken):
    monkeypatch.setattr(where, rule, broken)
    with pytest.raises(Violation):
        run(0, 30)
