"""A writer whose stream was cut goes on as another: at once, or with an outbox when it may."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenflow.config import NodeConfig, TopicConfig
from evenflow.config.spans import Keep
from evenflow.model.ids import Position
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
from evenflow.slices.consumer.epoch_items import EpochItems
from evenflow.slices.outbox.journal import Journal
from evenflow.slices.outbox.state import Identity, State
from evenflow.slices.publisher.core import PublisherCore
from evenflow.slices.publisher.renewal import patience_of

from .items import LINGER, SLICES, WRITER, add_table, map_page, no_assignment

NEW = 77
NEXT = 78
CUT = (2, 0, 3, 1)


def three_epochs(
    *,
    served: bool = False,
    outbox: bool = False,
    keep: Keep | None = None,
    patience: float = 0.0,
) -> PublisherCore:
    """A publisher of three epochs with one item in each slice, all announced."""
    journal = None
    if outbox:
        state = State(Identity("items", SLICES, 0), WRITER)
        journal = Journal(state, [], limit=1 << 26, memory=1 << 20)
    names = iter((NEW, NEXT))
    core = PublisherCore(
        "items", WRITER, SLICES, LINGER, assign=no_assignment, served=served, journal=journal,
        new_writer=lambda: next(names), keep=keep, patience=patience,
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
    former = core.former_writers[WRITER].exchange.retention
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
    assert core.former_writers[WRITER].close(2.0).closing  # type: ignore[union-attr]


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


@pytest.mark.parametrize("keep", [None, Keep(seconds=1e6)])
def test_one_that_is_cut_in_turn_still_says_where_its_epochs_begin(keep: Keep | None) -> None:
    """A consumer that may take few items would else plan an epoch before it, which nobody has."""
    core = three_epochs(served=True, keep=keep)
    tell(core, CutStage.COMPLETE, cut_of(epoch=2))
    before = core.close_epoch(1.5)
    assert before is not None
    assert (before.writer, before.epoch, before.committed) == (NEW, 3, 2)
    core.handle(replace(cut_of(epoch=3), writer=NEW, upto=(1,) * SLICES), 2.0)
    stages = (CutStage.COMPLETE,) * 2
    core.handle(Ledger("items", 10, (WRITER, NEW), (5, 5), stages, ("q",), (1,)), 2.0)
    after = core.former_writers[NEW].close(2.0)
    assert (core.writer, after) == (NEXT, before)


def test_one_that_keeps_a_history_says_no_more_of_it_than_before_its_cut() -> None:
    """What consumers commit of it since is the nodes' to keep, and the balancer's to let go."""
    core = three_epochs(served=True, keep=Keep(seconds=1e6))
    tell(core, CutStage.COMPLETE, cut_of(epoch=2))
    core.handle_consumer(ConsumerCommit("items", "q", 2, (WRITER,), (1,), ended=False), 2.0)
    close = core.former_writers[WRITER].close(2.0)
    assert close is not None
    assert (close.epoch, close.committed, close.closing) == (2, 0, False)


def test_what_an_owner_of_another_piece_has_processed_beyond_the_cut_is_not_published_anew() -> (
    None
):
    """It was not asked when the stream was cut, and commits a moment after the cut is told."""
    core = three_epochs(patience=2.0)
    tell(core, CutStage.COMPLETE, cut_of())
    slices, terms = tuple(range(SLICES)), (1,) * SLICES
    core.handle(Commit("items", WRITER, "a", "", slices, terms, (3, 2, 3, 1)), 2.0)
    core.follow_cut(2.9)
    assert core.writer == WRITER
    core.follow_cut(3.0)
    assert (core.writer, newest(core), core.uncommitted) == (NEW, [0, 1, 0, 2], 3)


def test_with_an_outbox_it_waits_as_long() -> None:
    core = three_epochs(outbox=True, patience=2.0)
    tell(core, CutStage.COMPLETE, cut_of())
    slices, terms = tuple(range(SLICES)), (1,) * SLICES
    core.handle(Commit("items", WRITER, "a", "", slices, terms, (3, 2, 3, 1)), 2.0)
    core.follow_cut(2.9)
    assert not core.is_to_renew
    core.follow_cut(3.0)
    assert core.is_to_renew
    renew(core)
    assert (core.writer, newest(core), core.uncommitted) == (NEW, [0, 1, 0, 2], 3)


def test_state_is_waited_for_longer_and_consumers_are_not() -> None:
    node = NodeConfig(commit_ms=100, snapshot_ms=1_000)
    plain, stateful, served = (
        patience_of(TopicConfig("items", durable=durable, served=served), node)
        for durable, served in ((False, False), (True, False), (True, True))
    )
    assert 0.1 < plain < 1.0
    assert 2.0 < stateful < 5.0
    assert served == 0.0


def test_a_former_writer_says_how_many_items_there_are() -> None:
    """Consumers go by it to take no more than they may."""
    core = three_epochs(served=True)
    heard = EpochItems()
    core.handle(Ledger("items", 8, (), (), (), ("q",), (1,)), 1.0)
    core.handle_consumer(ConsumerCommit("items", "q", 1, (WRITER,), (1,), ended=False), 1.0)
    tell(core, CutStage.COMPLETE, cut_of(epoch=2))
    close = core.former_writers[WRITER].close(2.0)
    assert close is not None
    assert (close.epoch, close.items) == (2, 2 * SLICES)
    assert (close.committed, close.committed_items) == (1, SLICES)
    heard.on_close(close, 2.0)
    assert heard.between(WRITER, 1, 2) == SLICES
    assert heard.at_most(Position({WRITER: 1}), Position({WRITER: 2})) == SLICES
    core.handle_consumer(ConsumerCommit("items", "q", 2, (WRITER,), (2,), ended=False), 2.0)
    goodbye = core.former_writers[WRITER].close(3.0)
    assert goodbye is not None
    assert (goodbye.committed, goodbye.committed_items) == (2, goodbye.items)
    assert goodbye.closing


def test_what_was_let_go_of_a_history_counts_as_it_was_when_that_ended() -> None:
    core = three_epochs(served=True, keep=Keep(seconds=1e6))
    core.handle(Ledger("items", 8, (), (), (), ("q",), (1,)), 1.0)
    core.handle_consumer(ConsumerCommit("items", "q", 1, (WRITER,), (1,), ended=False), 1.0)
    assert core.counts.committed == SLICES  # and all of it is kept
    tell(core, CutStage.COMPLETE, cut_of(epoch=2))
    close = core.former_writers[WRITER].close(2.0)
    assert close is not None
    assert (close.items, close.committed, close.committed_items) == (2 * SLICES, 0, 0)
