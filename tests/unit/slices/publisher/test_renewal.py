"""A writer whose stream was cut goes on as another: at once, or with an outbox when it may."""

from __future__ import annotations

import pytest

from evenflow.model.messages import (
    Commit,
    ConsumerCommit,
    CutStage,
    Ledger,
    ReplayAnswer,
    ReplayRequest,
    WriterCut,
)
from evenflow.slices.actions import Send
from evenflow.slices.outbox.journal import Journal
from evenflow.slices.outbox.state import Identity, State
from evenflow.slices.publisher.core import PublisherCore

from .items import LINGER, SLICES, WRITER, add_table, map_page, no_assignment

NEW = 77
CUT = (2, 0, 3, 1)


def three_epochs(*, served: bool = False, outbox: bool = False) -> PublisherCore:
    """A publisher of three epochs with one item in each slice, all announced."""
    journal = None
    if outbox:
        state = State(Identity("items", SLICES, 0), WRITER)
        journal = Journal(state, [], limit=1 << 26, memory=1 << 20)
    core = PublisherCore(
        "items", WRITER, SLICES, LINGER, assign=no_assignment, served=served, journal=journal,
        new_writer=lambda: NEW,
    )  # fmt: skip
    core.handle(map_page(["a"] * SLICES), 0.0)
    for epoch in range(3):
        add_table(core, [(slice_id, 10 * epoch + slice_id) for slice_id in range(SLICES)])
        core.end_epoch(0.0)
        core.close_epoch(0.0)
    return core


def tell(core: PublisherCore, stage: CutStage, cut: WriterCut) -> None:
    core.handle(cut, 1.0)
    core.handle(Ledger("items", 9, (WRITER,), (cut.term,), (stage,), ("q",), (1,)), 1.0)


def cut_of(epoch: int = 0) -> WriterCut:
    upto = (epoch,) * SLICES if epoch else CUT
    return WriterCut("items", WRITER, 5, epoch, tuple(range(SLICES)), upto, (1,) * SLICES, 0)


def renew(core: PublisherCore) -> None:
    """What the shell does when the outbox has the new writer on disk."""
    core.seal(2.0)
    core.renew(core.plan_renewal(), 2.0)


def newest(core: PublisherCore) -> list[int]:
    return core.retention.newest.tolist()


def test_without_an_outbox_it_goes_on_at_once() -> None:
    core = three_epochs()
    tell(core, CutStage.COMPLETE, cut_of())
    assert (core.writer, newest(core)) == (NEW, [1, 3, 0, 2])
    former = core.formers[WRITER].exchange.retention
    assert former.newest.tolist() == list(CUT)
    assert core.uncommitted == 12


@pytest.mark.parametrize("stage", [CutStage.PREPARING, CutStage.DECIDED])
def test_before_every_node_knows_nothing_changes(stage: CutStage) -> None:
    core = three_epochs(outbox=True)
    tell(core, stage, cut_of())
    assert (core.writer, core.is_to_renew) == (WRITER, False)


def test_with_an_outbox_it_stays_until_all_up_to_the_cut_is_committed() -> None:
    core = three_epochs(outbox=True)
    tell(core, CutStage.COMPLETE, cut_of())
    assert (core.writer, core.is_to_renew) == (WRITER, False)
    slices, terms = tuple(range(SLICES)), (1,) * SLICES
    core.handle(Commit("items", WRITER, "a", "", slices, terms, (2, 0, 3, 0)), 1.0)
    assert not core.is_to_renew
    core.handle(Commit("items", WRITER, "a", "", slices, terms, CUT), 1.0)
    assert core.is_to_renew
    renew(core)
    assert (core.writer, newest(core), core.uncommitted) == (NEW, [1, 3, 0, 2], 6)
    serials = core.retention.serials()
    assert serials == list(range(serials[0], serials[0] + len(serials)))
    assert core.formers[WRITER].close(2.0).closing  # type: ignore[union-attr]


def test_nothing_beyond_the_cut_is_said_meanwhile() -> None:
    core = three_epochs(outbox=True)
    tell(core, CutStage.COMPLETE, cut_of())
    close = core.close_epoch(2.0)
    assert close is not None
    assert dict(zip(close.slices, close.last, strict=True)) == {0: 2, 2: 3, 3: 1}
    slices = tuple(range(SLICES))
    request = ReplayRequest("items", WRITER, "b", 1, slices, (2,) * SLICES, (0,) * SLICES)
    answers = [one.message for one in core.handle(request, 2.0) if isinstance(one, Send)]
    assert [one.last for one in answers if isinstance(one, ReplayAnswer)] == [CUT]


def test_of_a_served_topic_it_stays_until_all_consumers_have_committed_the_epoch() -> None:
    core = three_epochs(served=True, outbox=True)
    tell(core, CutStage.COMPLETE, cut_of(epoch=2))
    close = core.close_epoch(2.0)
    assert close is not None
    assert (close.epoch, close.last) == (2, (2,) * SLICES)
    core.handle_consumer(ConsumerCommit("items", "q", 1, (WRITER,), (1,), ended=False), 2.0)
    assert not core.is_to_renew
    core.handle_consumer(ConsumerCommit("items", "q", 2, (WRITER,), (2,), ended=False), 2.0)
    assert core.is_to_renew
    renew(core)
    assert (core.writer, newest(core), core.uncommitted) == (NEW, [1] * SLICES, SLICES)
    again = core.close_epoch(3.0)
    assert again is not None
    assert (again.writer, again.epoch, again.committed) == (NEW, 3, 2)
    assert (again.last, again.closing) == ((1,) * SLICES, False)


def test_with_an_outbox_it_forgets_what_everybody_has_when_it_is_cleared() -> None:
    core = three_epochs(served=True, outbox=True)
    tell(core, CutStage.CLEARED, cut_of(epoch=2))
    assert core.is_to_renew
    assert core.uncommitted == SLICES


def test_one_whose_end_is_forgotten_says_so() -> None:
    core = three_epochs(outbox=True)
    tell(core, CutStage.FORGOTTEN, cut_of())
    assert "12 items are not committed. The outbox keeps them" in core.refused
    assert not core.is_to_renew
