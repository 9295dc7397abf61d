"""Each rule about owners is needed: without it, an item is processed or committed twice.

A rule is taken out of the code, and a schedule in which it matters
(:mod:`evenflow.testing.crossings.takeovers`) must end in a violation; with the rule in place it
must not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import settings

from evenflow.model.messages import Step
from evenflow.slices.balancer.session import Session, Stage
from evenflow.slices.node.delivery import Delivery
from evenflow.slices.node.giver_taker import Taker
from evenflow.slices.node.orders import Orders
from evenflow.slices.node.writers import Writers
from evenflow.slices.publisher.exchange import Exchange
from evenflow.slices.publisher.fencing import Fencing
from evenflow.testing.crossings.schedule import crossed_schedule
from evenflow.testing.crossings.takeovers import (
    answers_come_late,
    caches_come_late,
    commits_come_late,
    giver_is_slow,
    orders_come_late,
    taker_dies_unheard,
)

from .rule_checks import Rule, check_needed_and_enough

if TYPE_CHECKING:
    from evenflow.model.messages import ReplayAnswer, ReplayRequest
    from evenflow.slices.actions import Send

THOROUGH = settings().max_examples >= 80

_replay, _on_replay_answer = Exchange.replay, Writers.on_replay_answer
_take, _refusal = Orders._take, Orders._refusal


def admit_everybody(_self: Fencing, slices: Any, _terms: Any) -> Any:
    return np.ones(len(slices), bool)


def answer_without_fencing(self: Exchange, message: ReplayRequest, routing: Any) -> Any:
    before = self.fencing.newest.copy()
    found = _replay(self, message, routing)
    self.fencing.restore(before)
    return found


def believe_every_answer(self: Writers, answer: ReplayAnswer, now: float) -> None:
    for held in self.cache.held.values():
        held.asked_before = 0
    _on_replay_answer(self, answer, now)


def take_and_go_on(self: Orders, term: int, slices: frozenset[int], now: float) -> list[Send]:
    held = [self._cache.held[s] for s in slices if s in self._cache.held]
    known = [track for one in held for track in one.tracks.values() if track.known]
    actions = _take(self, term, slices, now)
    for track in known:
        track.known = True
    self._cache.wake_all(slices)
    return actions


def return_at_once(self: Session, reason: str, now: float) -> None:
    if not self.over:
        self.reason = reason
        self._enter(Stage.RETURNED, now)


def obey_everybody(self: Orders, step: Step, slices: frozenset[int], term: int) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(self._ownership, "seen_term", 0)
        return _refusal(self, step, slices, term)


RULES = {
    "a publisher refuses the commits of an older term": Rule(
        Fencing, "admit", admit_everybody, commits_come_late
    ),
    "by being asked, a publisher shuts the former owner out": Rule(
        Exchange, "replay", answer_without_fencing, commits_come_late
    ),
    "an answer counts only if it answers a request of the present term": Rule(
        Writers, "on_replay_answer", believe_every_answer, answers_come_late
    ),
    "who gets a slice back asks how far another has come": Rule(
        Orders, "_take", take_and_go_on, taker_dies_unheard
    ),
    "a taker is asked before the giver gets its slices back": Rule(
        Session, "cancel", return_at_once, taker_dies_unheard
    ),
    "a giver declares its positions when it has nothing in hand": Rule(
        Delivery, "is_busy_with", lambda *_: False, giver_is_slow
    ),
    "a newer term for one of the slices ends a session": Rule(
        Taker, "cancel", lambda _self: None, caches_come_late
    ),
    "nothing is begun on the word of an older balancer": Rule(
        Orders, "_refusal", obey_everybody, orders_come_late
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_needed_and_enough(name: str) -> None:
    check_needed_and_enough(RULES[name])


def test_steps_in_which_rules_matter_one_after_the_other() -> None:
    """More of them: ``python -m evenflow.testing.crossings.schedule FIRST COUNT``."""
    for seed in range(100 if THOROUGH else 20):
        try:
            crossed_schedule(seed)
        except Exception as error:
            error.add_note(f"crossed_schedule({seed})")
            raise
