"""Each rule of a cut is needed: without it, what it is for happens in the simulated cluster.

A rule is taken out of the code, and a schedule in which it matters
(:mod:`evenflow.testing.silences`, :mod:`evenflow.testing.planning`) must end in a violation; with
the rule in place it must not. So neither the rules nor the hunt for their violation can go soft
unnoticed.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from evenflow.model.messages import CutStage
from evenflow.slices.consumer.core import ConsumerCore
from evenflow.slices.ending import cutting
from evenflow.slices.ending.cutting import Cutting
from evenflow.slices.ending.preparation import Preparation
from evenflow.slices.ending.registrations import Registrations
from evenflow.slices.ledger_view import LedgerView
from evenflow.slices.node.settings import NodeSettings
from evenflow.slices.node.writers import Writers
from evenflow.testing.cluster import SimCluster
from evenflow.testing.invariants import Violation
from evenflow.testing.outages import PATIENCE, SILENCE
from evenflow.testing.planning import consumers_plan_when_asked, owner_dies_with_plans
from evenflow.testing.schedules import calm
from evenflow.testing.serving_cluster import ServingCluster
from evenflow.testing.silences import (
    answers_cross_samples,
    newcomer_hears_no_ledger,
    numbers_come_late,
    one_node_knows_a_cut,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evenflow.model.ids import Position
    from evenflow.model.messages import Ledger, NodeReport, WriterCut
    from evenflow.slices.ending.preparation import Blocked

SEEDS = range(8)


class Rule(NamedTuple):
    """A rule, how to take it out, and a step in which it matters."""

    where: Any
    name: str
    without: Callable[..., Any]
    step: Callable[[SimCluster, random.Random], None]
    served: bool = False
    own_disks: bool = False
    """Whether each balancer has a disk of its own."""


_hear, _served_cut = Writers._hear, Preparation.served_cut
_on_ledger, _latest = LedgerView.on_ledger, ConsumerCore.latest


def hear_though_frozen(self: Writers, writer: int, now: float) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LedgerView, "is_frozen", lambda *_: False)
        return _hear(self, writer, now)


def cut_without_plans(
    self: Preparation, topic: str, planned: dict[str, int]
) -> WriterCut | Blocked:
    return _served_cut(self, topic, dict.fromkeys(planned, 0))


def plan_though_frozen(self: ConsumerCore, start: Position) -> Position:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LedgerView, "is_frozen", lambda *_: False)
        return _latest(self, start)


def keep_what_was_decided(self: LedgerView, ledger: Ledger) -> bool:
    decided = {w: one for w, one in self.entries.items() if one.stage is CutStage.DECIDED}
    news = _on_ledger(self, ledger)
    if news:
        self.entries = decided | self.entries
    return news


def whatever_was_decided(nodes: Iterable[NodeReport]) -> list[int]:
    return [term for report in nodes for term in (*report.complete, *report.decided)]


RULES = {
    "who has answered takes in nothing more": Rule(
        Writers, "_hear", hear_though_frozen, answers_cross_samples
    ),
    "slices move to nodes that know every cut": Rule(
        Cutting, "admit", lambda self, _taker, now: self.abandon("", now=now),
        newcomer_hears_no_ledger,
    ),
    "slices are assigned to nodes that know every cut": Rule(
        Cutting, "ready", lambda _self, nodes: dict(nodes), newcomer_hears_no_ledger
    ),
    "no cut lies before what a consumer has planned": Rule(
        Preparation, "served_cut", cut_without_plans, owner_dies_with_plans, served=True
    ),
    "every registered consumer is asked": Rule(
        Registrations, "away", lambda *_: "", owner_dies_with_plans, served=True
    ),
    "who has answered plans nothing more": Rule(
        ConsumerCore, "latest", plan_though_frozen, consumers_plan_when_asked, served=True
    ),
    "what is only decided is void when a newer ledger does not name it": Rule(
        LedgerView, "on_ledger", keep_what_was_decided, one_node_knows_a_cut, served=True
    ),
    "of what was decided, the newest ledger says what counts": Rule(
        cutting, "counting", whatever_was_decided, one_node_knows_a_cut, served=True
    ),
    "a balancer waits for the numbers of cuts that nodes know": Rule(
        Cutting, "lacking", lambda *_: set(), numbers_come_late, own_disks=True
    ),
}  # fmt: skip


def run(rule: Rule, seed: int) -> None:
    settings = NodeSettings(deliver_items=2, serving=rule.served, writer_silence=SILENCE, lease=6.0)
    kind = ServingCluster if rule.served else SimCluster
    cluster = kind(4, node_settings=settings, balancer_settings=PATIENCE)
    cluster.balancers.own_disks = rule.own_disks
    cluster.start_balancer()
    for _ in range(2):
        cluster.start_node()
    calm(cluster, 1.0)
    rule.step(cluster, random.Random(seed))
    cluster.settle(120.0)
    if isinstance(cluster, ServingCluster):
        cluster.check()


def run_all(rule: Rule) -> None:
    for seed in SEEDS:
        run(rule, seed)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_needed_and_enough(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = RULES[name]
    run_all(rule)
    monkeypatch.setattr(rule.where, rule.name, rule.without)
    with pytest.raises(Violation, match=r"more often|repeated|committed it"):
        run_all(rule)
