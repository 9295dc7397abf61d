"""What a process knows of the ledger when balancers take turns."""

from __future__ import annotations

from evenflow.model.messages import CutStage, Ledger, WriterCut
from evenflow.slices.ledger_view import LedgerView

WRITER, TERM = 7, 5
CUT = WriterCut("items", WRITER, TERM, 3, (), (), (), 0)


def ledger(version: int, stage: CutStage | None) -> Ledger:
    rows = ((WRITER,), (TERM,), (int(stage),)) if stage is not None else ((), (), ())
    return Ledger("items", version, *rows, (), ())


def view(*stages: CutStage | None, binding: CutStage = CutStage.COMPLETE) -> LedgerView:
    one = LedgerView(binding)
    one.on_cut(CUT)
    for version, stage in enumerate(stages, 1):
        assert one.on_ledger(ledger(version, stage))
    return one


def test_what_only_a_replaced_balancer_has_decided_binds_nodes_alone() -> None:
    assert view(CutStage.DECIDED, binding=CutStage.DECIDED).cut(WRITER) is CUT
    everybody = view(CutStage.DECIDED)
    assert everybody.cut(WRITER) is None
    assert everybody.is_frozen(WRITER)
    assert not view(CutStage.DECIDED, None).is_frozen(WRITER)


def test_what_every_node_knows_stays_decided() -> None:
    assert view(CutStage.COMPLETE, None).cut(WRITER) is CUT
    assert view(CutStage.COMPLETE, CutStage.DECIDED).stage(WRITER) is CutStage.COMPLETE


def test_a_balancer_that_does_not_know_a_writer_to_be_cleared_is_to_be_told() -> None:
    one = view(CutStage.CLEARED, CutStage.COMPLETE)
    assert one.is_over(WRITER)
    assert one.ahead == {WRITER}
    one.on_ledger(ledger(9, CutStage.CLEARED))
    assert one.ahead == set()
