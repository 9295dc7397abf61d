"""Where the stream of a writer ends, from what nodes and consumers say; and who has to say it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from evenflow.model.messages import CutAnswer, CutStage, Ledger, WriterCut, WriterSilence
from evenflow.slices.actions import Send
from evenflow.slices.ending.cutting import Cutting
from evenflow.slices.ending.preparation import Blocked, Owned, Preparation
from evenflow.slices.terms import Terms

OWNERS = {0: Owned("node-1", 1), 1: Owned("node-1", 1)}


def prepared(*, lose: bool, epoch: int = 0, close: tuple[int, ...] = ()) -> Preparation:
    """One node has two items of each of two slices; some of them lie in an epoch not closed yet."""
    slices = tuple(range(len(close)))
    found = Preparation(5, 1, 10.0, lose)
    rows = ((0, 1), (1, 1), (2, 2), (2, 3))
    found.on_answer(CutAnswer("items", 5, 1, "node-1", False, "", *rows, 0, epoch, slices, close))
    return found


def test_a_cut_before_what_a_consumer_has_planned_is_none() -> None:
    assert isinstance(prepared(lose=False).served_cut("items", {"query": 3}), Blocked)


def test_who_gives_up_what_is_missing_waits_for_no_number_beyond_the_last_epoch() -> None:
    """What nodes have may lie behind the epoch of the cut, and is dropped by it."""
    cut = prepared(lose=True).served_cut("items", {"query": 3})
    assert isinstance(cut, WriterCut)
    assert (cut.epoch, cut.slices, cut.upto, cut.beyond) == (3, (), (), 1)


def test_who_gives_up_what_is_missing_keeps_what_is_whole() -> None:
    cut = prepared(lose=True, epoch=2, close=(1, 1)).served_cut("items", {"query": 3})
    assert isinstance(cut, WriterCut)
    assert (cut.epoch, cut.slices, cut.upto) == (3, (0, 1), (1, 1))


def test_a_node_without_slices_is_asked_too() -> None:
    """It may hear the writer."""
    assert not prepared(lose=False).lacks(["node-1"], OWNERS)
    assert prepared(lose=False).lacks(["node-1", "node-2"], OWNERS)


def test_an_answer_counts_for_slices_that_the_node_owns_under_that_term() -> None:
    for newer in (Owned("node-1", 2), Owned("node-2", 1)):
        assert prepared(lose=False).lacks(["node-1"], OWNERS | {1: newer})


def test_what_may_have_been_processed_elsewhere_is_not_cut_until_it_is_given_up() -> None:
    for lose, kind in ((False, Blocked), (True, WriterCut)):
        found = prepared(lose=lose)
        found.nodes["node-1"] = replace(found.nodes["node-1"], uncertain=1)
        assert isinstance(found.application_cut("items"), kind)


def test_an_answer_to_another_preparation_of_the_same_writer_does_not_count() -> None:
    answer = prepared(lose=False).nodes["node-1"]
    cutting = Cutting("items", Terms(1.0))
    cutting.preparing[5] = one = Preparation(5, answer.term + 1, 10.0, lose=False)
    cutting.on_answer(answer)
    assert not one.nodes
    cutting.on_answer(replace(answer, term=one.term))
    assert one.nodes


def in_preparation() -> Cutting:
    """A balancer that has the answer of the only node, and has not decided yet."""
    cutting = Cutting("items", Terms(1.0))
    cutting.preparing[5] = prepared(lose=False)
    return cutting


def report(**told: object) -> Any:
    return SimpleNamespace(**{"ledger": 0, "ledger_heard": 0, "decided": (), "complete": ()} | told)


def stages(actions: list[Send]) -> list[tuple[int, ...]]:
    return [one.message.stages for one in actions if isinstance(one.message, Ledger)]


def test_when_a_node_is_gone_what_it_has_answered_is_void() -> None:
    """Who owns its slices next answers for them, too: a cut has each slice once."""
    cutting = in_preparation()
    cutting.on_node_gone("node-1", 2.0)
    assert not cutting.preparing
    owners = {0: Owned("node-2", 2), 1: Owned("node-2", 2)}
    assert stages(cutting.poll(2.0, {"node-2": report()}, lambda: owners)) == [()]
    assert not cutting.ended


def test_while_slices_change_hands_nothing_is_prepared_or_decided() -> None:
    cutting = in_preparation()
    cutting.on_silence(WriterSilence("items", "node-1", (6,), ()))
    assert stages(cutting.poll(2.0, {"node-1": report()}, lambda: None)) == [()]
    assert not cutting.preparing
    assert not cutting.ended


def test_a_node_that_was_away_tells_a_balancer_that_has_settled_what_is_complete() -> None:
    cutting = Cutting("items", Terms(1.0))
    cutting.on_copy(WriterCut("items", 5, 7, 0, (0,), (2,), (1,), 0))
    cutting.poll(2.0, {"node-1": report(complete=(8,))}, lambda: OWNERS)
    assert not cutting.ended  # of another cut, whose numbers are not here
    cutting.poll(3.0, {"node-1": report(complete=(7,))}, lambda: OWNERS)
    assert (cutting.ended[5].stage, cutting.ended[5].term) == (CutStage.DECIDED, 7)


FIRST, SECOND = (WriterCut("items", 5, term, 0, (0,), (2,), (1,), 0) for term in (7, 8))


def deciding() -> Cutting:
    """A balancer that has decided a cut of writer 5, which its node has."""
    cutting = in_preparation()
    cutting.poll(2.0, {"node-1": report()}, lambda: OWNERS)
    assert cutting.ended[5].stage is CutStage.DECIDED
    return cutting


def test_a_complete_cut_takes_the_place_of_another_that_is_decided() -> None:
    """The domain was in two parts, and a balancer in each of them ended the writer."""
    cutting = deciding()
    away = report(ledger=cutting.decided_version, complete=(FIRST.term,))
    cutting.poll(3.0, {"node-2": away}, lambda: OWNERS)
    assert cutting.ended[5].stage is CutStage.DECIDED, "its numbers are on their way"
    cutting.on_copy(FIRST)
    cutting.poll(4.0, {"node-2": away}, lambda: OWNERS)
    assert cutting.ended[5].cut is FIRST
    cutting.poll(5.0, {"node-2": report(ledger=cutting.decided_version)}, lambda: OWNERS)
    assert (cutting.ended[5].stage, cutting.ended[5].cut) == (CutStage.COMPLETE, FIRST)


def test_of_two_complete_cuts_the_first_that_is_told_counts() -> None:
    cutting = deciding()
    for cut in (FIRST, SECOND):
        cutting.on_copy(cut)
    for complete in (FIRST.term, SECOND.term, FIRST.term):
        cutting.poll(3.0, {"node-2": report(complete=(complete,))}, lambda: OWNERS)
        assert cutting.ended[5].cut is FIRST
