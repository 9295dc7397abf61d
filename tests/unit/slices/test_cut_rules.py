"""Each rule of a cut is needed: without it, what it is for happens in the simulated cluster.

A rule is taken out of the code, and a schedule in which it matters
(:mod:`evenflow.testing.silences`, :mod:`evenflow.testing.planning`,
:mod:`evenflow.testing.crossings.decisions`) must end in a violation; with the rule in place it
must not. So neither the rules nor the hunt for their violation can go soft unnoticed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from evenflow.model.messages import CutStage
from evenflow.slices.consumer.core import ConsumerCore
from evenflow.slices.ending import inherited
from evenflow.slices.ending.cutting import Cutting
from evenflow.slices.ending.preparation import Preparation
from evenflow.slices.ending.registrations import Registrations
from evenflow.slices.ledger_view import LedgerView
from evenflow.slices.node.writers import Writers
from evenflow.testing.crossings.decisions import (
    decision_is_taken_back,
    old_ledgers_come_late,
    publisher_hears_a_decision,
)
from evenflow.testing.planning import consumers_plan_when_asked, owner_dies_with_plans
from evenflow.testing.silences import (
    answers_cross_samples,
    newcomer_hears_no_ledger,
    numbers_come_late,
    one_node_knows_a_cut,
)

from .rule_checks import Rule, check_needed_and_enough

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.ids import Position
    from evenflow.model.messages import Ledger, NodeReport, WriterCut
    from evenflow.slices.ending.preparation import Blocked

_hear, _served_cut = Writers._hear, Preparation.served_cut
_on_ledger, _latest = LedgerView.on_ledger, ConsumerCore.latest
_advance = Cutting._advance


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


def believe_every_ledger(self: LedgerView, ledger: Ledger) -> bool:
    if ledger.version < self.version:
        self.version = 0
    return _on_ledger(self, ledger)


def numbers_of_decided(self: LedgerView, writer: int) -> WriterCut | None:
    stage = self.stage(writer)
    return self._numbers(writer) if stage is not None and stage >= CutStage.DECIDED else None


def complete_at_once(self: Cutting, nodes: dict[str, NodeReport], now: float) -> None:
    told = {n: replace(one, ledger=self.decided_version) for n, one in nodes.items()}
    _advance(self, told, now)


RULES = {
    "who has answered takes in nothing more": Rule(
        Writers, "_hear", hear_though_frozen, answers_cross_samples
    ),
    "slices move to nodes that know every cut": Rule(
        Cutting, "admit", lambda *_: None, newcomer_hears_no_ledger
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
        inherited, "counting", whatever_was_decided, one_node_knows_a_cut, served=True
    ),
    "a balancer waits for the numbers of cuts that nodes know": Rule(
        Cutting, "lacking", lambda *_: set(), numbers_come_late, own_disks=True
    ),
    "the newest ledger counts, whichever comes last": Rule(
        LedgerView, "on_ledger", believe_every_ledger, old_ledgers_come_late
    ),
    "nothing is dropped before a cut is complete": Rule(
        LedgerView, "cut", numbers_of_decided, decision_is_taken_back
    ),
    "a cut is complete when every node has it": Rule(
        Cutting, "_advance", complete_at_once, publisher_hears_a_decision, own_disks=True
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_needed_and_enough(name: str) -> None:
    check_needed_and_enough(RULES[name])
