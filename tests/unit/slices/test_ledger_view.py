"""What a process knows of the ledger when balancers take turns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenflow.model.messages import CutStage, Ledger, WriterCut
from evenflow.slices import ledger_view
from evenflow.slices.ledger_view import MOST_TOLD, LedgerView

WRITER, TERM = 7, 5
CUT = WriterCut("items", WRITER, TERM, 3, (), (), (), 0)


def ledger(version: int, stage: CutStage | None) -> Ledger:
    rows = ((WRITER,), (TERM,), (int(stage),)) if stage is not None else ((), (), ())
    return Ledger("items", version, *rows, (), ())


def view(*stages: CutStage | None) -> LedgerView:
    one = LedgerView()
    one.on_cut(CUT)
    for version, stage in enumerate(stages, 1):
        assert one.on_ledger(ledger(version, stage))
    return one


def test_what_is_only_decided_freezes_and_is_void_when_a_newer_ledger_does_not_name_it() -> None:
    one = view(CutStage.DECIDED)
    assert one.cut(WRITER) is None
    assert one.is_frozen(WRITER)
    assert one.known(to_all=True) == ((TERM,), (), [CUT])
    one.on_ledger(ledger(9, None))
    assert not one.is_frozen(WRITER)
    assert one.known(to_all=True) == ((), (), [])


def test_a_decision_is_named_when_its_numbers_are_not_here_yet() -> None:
    one = LedgerView()
    one.on_ledger(ledger(1, CutStage.DECIDED))
    assert one.complete_version == 0
    assert one.known(to_all=True) == ((TERM,), (), [])
    one.on_cut(CUT)
    assert one.complete_version == 1
    assert one.known(to_all=True) == ((TERM,), (), [CUT])


def test_a_complete_cut_is_told_to_a_balancer_that_does_not_name_it() -> None:
    one = view(CutStage.COMPLETE)
    assert one.known(to_all=True) == ((), (TERM,), [CUT])
    assert one.known(to_all=False) == ((), (), [])
    one.on_ledger(ledger(9, None))
    assert one.known(to_all=False) == ((), (TERM,), [CUT])


def test_a_cleared_cut_is_told_to_a_balancer_that_does_not_know_it() -> None:
    one = view(CutStage.CLEARED)
    assert one.known(to_all=False) == ((), (), [])
    one.on_ledger(ledger(9, None))
    assert one.known(to_all=False) == ((), (TERM,), [CUT])


def test_of_very_many_cuts_some_are_told_at_once_and_all_in_turn() -> None:
    one, writers = LedgerView(), tuple(range(1, 2 * MOST_TOLD + 20))
    for writer in writers:
        one.on_cut(replace(CUT, writer=writer))
    stages = (int(CutStage.COMPLETE),) * len(writers)
    one.on_ledger(Ledger("items", 1, writers, (TERM,) * len(writers), stages, (), ()))
    told = [one.known(to_all=True).cuts for _ in range(3)]
    assert [len(cuts) for cuts in told] == [MOST_TOLD] * 3
    assert {cut.writer for cuts in told for cut in cuts} == set(writers)


def test_what_every_node_knows_stays_decided() -> None:
    assert view(CutStage.COMPLETE, None).cut(WRITER) is CUT
    assert view(CutStage.COMPLETE, CutStage.DECIDED).stage(WRITER) is CutStage.COMPLETE


OTHER = replace(CUT, term=TERM + 1, epoch=9)
"""What another part of a divided domain has decided of the same writer."""


def other_ledger(version: int, stage: CutStage) -> Ledger:
    return Ledger("items", version, (WRITER,), (OTHER.term,), (int(stage),), (), ())


def test_a_complete_cut_holds_against_another_that_is_decided() -> None:
    one = view(CutStage.COMPLETE)
    assert not one.on_cut(OTHER)
    one.on_ledger(other_ledger(9, CutStage.DECIDED))
    assert not one.on_cut(OTHER)
    assert one.cut(WRITER) is CUT
    assert one.known(to_all=False) == ((), (TERM,), [CUT])
    one.on_ledger(ledger(10, CutStage.DECIDED))
    assert one.known(to_all=False) == ((), (), [])


def test_a_complete_cut_whose_numbers_never_came_holds_up_no_other() -> None:
    one = LedgerView()
    one.on_ledger(ledger(1, CutStage.COMPLETE))
    one.on_ledger(other_ledger(9, CutStage.DECIDED))
    assert one.on_cut(OTHER)
    assert one.complete_version == 9


def test_of_two_complete_cuts_the_newest_ledgers_counts() -> None:
    one = view(CutStage.COMPLETE)
    one.on_ledger(other_ledger(9, CutStage.COMPLETE))
    assert one.complete_version == 0
    assert one.on_cut(OTHER)
    assert one.cut(WRITER) is OTHER


def test_a_balancer_that_does_not_know_a_writer_to_be_cleared_is_to_be_told() -> None:
    one = view(CutStage.CLEARED, CutStage.COMPLETE)
    assert one.is_over(WRITER)
    assert one.ahead == {WRITER}
    one.on_ledger(ledger(9, CutStage.CLEARED))
    assert one.ahead == set()


def test_the_oldest_ends_are_forgotten_with_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_view, "MOST_ENDED", 3)
    one = LedgerView()
    for writer in range(1, 6):
        one.on_cut(replace(CUT, writer=writer, term=writer))
        stages = (int(CutStage.COMPLETE),) * writer
        writers = tuple(range(1, writer + 1))
        one.on_ledger(Ledger("items", writer, writers, writers, stages, (), ()))
    assert list(one.entries) == list(one.cuts) == [3, 4, 5]
