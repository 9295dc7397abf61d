from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.ids import Position
from evenflow.model.messages import (
    CommitCopy,
    ConsumerCommit,
    CutStage,
    EpochClose,
    Ledger,
    MapPage,
    Progress,
    WriterCut,
)
from evenflow.slices.actions import NodeGone
from evenflow.slices.consumer.core import ConsumerCore


def progress(node: str, **epochs: int) -> Progress:
    writers = tuple(int(writer[1:]) for writer in epochs)
    return Progress("items", node, f"grpc://{node}", writers, tuple(epochs.values()), ("query",))


def close(writer: int, epoch: int, items: int = 0) -> EpochClose:
    return EpochClose(writer, "items", epoch, 4, (), (), False, 0, items)


def core_with(*nodes: Progress, owners: tuple[int, ...] = (1, 1, 2, 2)) -> ConsumerCore:
    core = ConsumerCore("items", "query", 0)
    core.handle(MapPage("items", 0, 1, 1, 4, ("n1", "n2"), owners, (1, 1, 1, 1)), 0.0)
    for one in nodes:
        core.handle(one, 0.0)
    return core


def test_says_what_keeps_it_from_reading() -> None:
    core = ConsumerCore("items", "query", 0)
    assert "balancer" in core.lacking()
    core = core_with(owners=(1, 1, 0, 0))
    assert "no node" in core.lacking()
    core = core_with(progress("n1"))
    assert "n2 does not serve" in core.lacking()
    core = core_with(progress("n1"), progress("n2"))
    assert core.lacking() == ""
    assert core.owners() == {"n1": (0, 1), "n2": (2, 3)}


def test_reads_up_to_what_all_owners_have() -> None:
    core = core_with(progress("n1", w1=5, w2=3), progress("n2", w1=4), progress("n3"))
    assert core.latest(Position()) == {1: 4}
    assert core.latest(Position({1: 2, 2: 1})) == {1: 4, 2: 1}


def test_never_goes_back() -> None:
    core = core_with(progress("n1", w1=5), progress("n2", w1=4))
    assert core.latest(Position({1: 6})) == {1: 6}


def test_waits_while_an_owner_is_away() -> None:
    core = core_with(progress("n1", w1=5), progress("n2", w1=4))
    core.handle(NodeGone("n2"), 0.0)
    assert core.latest(Position({1: 2})) == {1: 2}


def ledger(version: int, **stages: CutStage) -> Ledger:
    writers = tuple(int(name[1:]) for name in stages)
    numbers = tuple(int(stage) for stage in stages.values())
    return Ledger("items", version, writers, (7,) * len(writers), numbers, ("query",), (1_000,))


def test_a_writer_that_is_being_ended_is_not_planned_further() -> None:
    core = core_with(progress("n1", w1=5), progress("n2", w1=4))
    core.handle(ledger(1, w1=CutStage.PREPARING), 0.0)
    assert core.latest(Position({1: 2})) == {1: 2}
    core.handle(ledger(2), 0.0)
    assert core.latest(Position({1: 2})) == {1: 4}


def test_says_how_far_it_may_have_planned() -> None:
    core = core_with(progress("n1", w1=5), progress("n2", w1=4))
    core.handle(ledger(1), 0.0)
    core.commit(Position())
    assert core.latest(Position()) == {1: 4}
    core.handle(ledger(2, w1=CutStage.PREPARING), 0.0)
    [answer] = core.cut_answers()
    assert (answer.who, answer.epoch, answer.term) == ("query", 4, 7)


def test_a_cut_writer_is_read_to_its_end_and_then_no_longer_named() -> None:
    core = core_with(progress("n1", w1=9), progress("n2", w1=9))
    core.handle(WriterCut("items", 1, 7, 6, (), (), (), 0), 0.0)
    core.handle(ledger(1, w1=CutStage.COMPLETE), 0.0)
    assert core.latest(Position({1: 2})) == {1: 6}
    core.handle(ledger(2, w1=CutStage.CLEARED), 0.0)
    # Not before every node has forgotten it, so that a balancer that does not know can be told.
    for node in ("n1", "n2"):
        assert core.latest(Position({1: 6, 2: 3})) == {1: 6, 2: 3}
        core.handle(progress(node), 0.0)
    assert core.latest(Position({1: 6, 2: 3})) == {2: 3}


def test_a_writer_that_goes_on_behind_a_cut_that_nobody_else_remembers_is_read_again() -> None:
    core = core_with(progress("n1", w1=9), progress("n2", w1=9))
    core.handle(WriterCut("items", 1, 7, 6, (), (), (), 0), 0.0)
    core.handle(ledger(1, w1=CutStage.CLEARED), 0.0)
    core.handle(close(1, 9), 0.0)  # the ledger names it: the writer will be told
    assert core.latest(Position({1: 6})) == {1: 6}
    core.handle(ledger(2), 0.0)
    core.handle(close(1, 6), 0.0)  # it may be an old word
    assert core.latest(Position({1: 6})) == {1: 6}
    core.handle(close(1, 9), 0.0)
    assert core.latest(Position({1: 6})) == {1: 9}


def test_plans_nothing_before_it_is_registered() -> None:
    core = core_with(progress("n1", w1=5), progress("n2", w1=4))
    said = core.commit(Position())
    assert core.latest(Position()) == {}
    core.handle(Ledger("items", 1, (), (), (), ("query",), (said.number,)), 0.0)
    assert core.latest(Position()) == {1: 4}


def test_plans_nothing_while_an_owner_does_not_know_it() -> None:
    """It may have been released, and hear no ledger that says so."""
    core = core_with(progress("n1", w1=5), progress("n2", w1=5))
    said = core.commit(Position())
    core.handle(Ledger("items", 1, (), (), (), ("query",), (said.number,)), 0.0)
    core.handle(replace(progress("n2", w1=6), consumers=()), 0.0)
    assert core.latest(Position({1: 2})) == {1: 2}
    core.handle(progress("n2", w1=6), 0.0)
    assert core.latest(Position({1: 2})) == {1: 5}


def test_an_older_map_that_comes_late_is_ignored() -> None:
    core = core_with(progress("n1"), progress("n2"))
    core.handle(MapPage("items", 0, 1, 0, 4, (), (0, 0, 0, 0), (0, 0, 0, 0)), 0.0)
    assert core.lacking() == ""


def test_commits_are_numbered_on() -> None:
    core = ConsumerCore("items", "query", 100)
    first, second = core.commit(Position({1: 1})), core.commit(Position({1: 2}), ended=True)
    assert 100 < first.number < second.number
    assert (second.writers, second.epochs, second.ended) == ((1,), (2,), True)


def test_a_limit_takes_whole_epochs() -> None:
    core = core_with()
    for epoch in range(1, 11):
        core.handle(close(1, epoch, 100 * epoch), 0.0)
    assert core.limited(Position({1: 2}), Position({1: 10}), 350) == {1: 5}
    assert core.limited(Position({1: 2}), Position({1: 10}), 5_000) == {1: 10}
    assert core.limited(Position({1: 2}), Position({1: 10}), 1) == {1: 3}
    assert core.items_behind(Position({1: 4})) == 600


def test_a_writer_that_came_back_begins_behind_its_cut() -> None:
    core = core_with()
    core.handle(replace(close(1, 110, 1_000), committed=100, committed_items=900), 0.0)
    assert core.limited(Position(), Position({1: 110}), 10)[1] >= 100
    assert core.limited(Position({1: 104}), Position({1: 110}), 10)[1] > 104
    assert core.items_behind(Position()) == 100, "what its former id published is not behind"


def test_a_writer_of_which_nothing_was_heard_is_read_to_the_end() -> None:
    core = core_with()
    core.handle(close(2, 10, 1_000), 0.0)
    limited = core.limited(Position(), Position({1: 110, 2: 10}), 100)
    assert limited == {1: 110, 2: 1}


@given(
    st.dictionaries(st.integers(1, 4), st.tuples(st.integers(0, 50), st.integers(0, 50))),
    st.integers(1, 10_000),
)
def test_a_limited_position_lies_between_and_goes_on(
    writers: dict[int, tuple[int, int]], items: int
) -> None:
    core = core_with()
    start = {writer: begin for writer, (begin, _) in writers.items()}
    end = {writer: begin + more for writer, (begin, more) in writers.items()}
    for writer, epoch in end.items():
        core.handle(close(writer, epoch, 70 * epoch), 0.0)
    limited = core.limited(Position(start), Position(end), items)
    assert all(start[w] <= limited[w] <= end[w] for w in limited)
    assert limited != start or start == end


def commit(number: int, name: str = "query") -> ConsumerCommit:
    return ConsumerCommit("items", name, number, (), (), False)


def test_goes_on_above_the_numbers_of_its_earlier_life() -> None:
    core = ConsumerCore("items", "query", 5)
    core.handle(commit(9), 0.0)
    assert core.commit(Position()).number == 10
    assert not core.superseded


def test_who_hears_a_higher_number_than_its_own_is_superseded() -> None:
    core = ConsumerCore("items", "query", 5)
    mine = core.commit(Position())
    for heard in (mine, commit(3), commit(100, "other")):
        core.handle(heard, 0.0)
        assert not core.superseded
    core.handle(commit(mine.number + 1), 0.0)
    assert core.superseded
    assert core.commit(Position()).number == mine.number + 1, "not above the one that goes on"


@given(st.permutations([0, 0, 1, 1]), st.integers(0, 3), st.integers(0, 3))
def test_of_two_with_one_name_exactly_one_goes_on(
    order: list[int], first: int, second: int
) -> None:
    """Whoever starts and commits in whatever order, once all is heard."""
    cores = [ConsumerCore("items", "query", first), ConsumerCore("items", "query", second + 4)]
    said: list[ConsumerCommit] = []
    for turn in order:
        for heard in said:
            cores[turn].handle(heard, 0.0)
        if not cores[turn].superseded:
            said.append(cores[turn].commit(Position()))
    for core in cores:
        for heard in said:
            core.handle(heard, 0.0)
    assert [core.superseded for core in cores].count(True) == 1


def copy(node: str, number: int, *, away: bool = True, ended: bool = False) -> CommitCopy:
    return CommitCopy("items", "query", node, away, number, (1,), (5,), ended, (1, 2), (7, 1))


def test_a_new_consumer_is_not_remembered_and_need_not_wait() -> None:
    core = core_with(*(replace(progress(node), consumers=()) for node in ("n1", "n2")))
    assert not core.may_be_remembered
    assert core.remembered() is None


def test_one_that_is_registered_waits_until_a_node_tells_what_it_said_last() -> None:
    core = core_with(Progress("items", "n1", "grpc://n1", (), (), ("query",)), progress("n2"))
    assert core.may_be_remembered, "killed a moment ago: no node has noticed"
    core.handle(copy("n1", 9), 0.0)
    assert not core.may_be_remembered
    assert core.remembered() == ({1: 5}, {1: 7, 2: 1})
    assert core.commit(Position()).number == 10


def test_what_was_said_before_an_earlier_return_is_not_the_newest() -> None:
    core = core_with(Progress("items", "n1", "grpc://n1", (), (), ("query",)), progress("n2"))
    core.handle(copy("n2", 9), 0.0)
    core.handle(copy("n1", 11, away=False), 0.0)
    assert core.may_be_remembered, "it came back once, and n1 has not noticed yet that it died"
    core.handle(copy("n1", 15), 0.0)
    assert not core.may_be_remembered
    assert core.commit(Position()).number == 16


def test_a_node_that_is_gone_is_not_waited_for() -> None:
    core = core_with(progress("n1"), progress("n2"))
    core.handle(copy("n2", 9), 0.0)
    core.handle(copy("n1", 11, away=False), 0.0)
    core.handle(NodeGone("n1"), 0.0)
    assert not core.may_be_remembered


def test_one_that_was_released_begins_anew() -> None:
    core = core_with(progress("n1"), progress("n2"))
    core.handle(copy("n1", 9, ended=True), 0.0)
    assert not core.may_be_remembered
    assert core.remembered() is None


def test_a_commit_names_the_batch_that_is_planned() -> None:
    core = ConsumerCore("items", "query", 0)
    said = core.commit(Position({1: 5}), Position({1: 7, 2: 1}))
    assert (said.planned_writers, said.planned_epochs) == ((1, 2), (7, 1))


def test_one_that_was_released_says_what_it_would_miss_and_since_when() -> None:
    core = core_with()
    core.handle(EpochClose(1, "items", 9, 4, (), (), False, 7, 70), 0.0)
    assert core.missing(Position()) == ""
    assert core.missing(Position({1: 7})) == ""
    assert "epochs 4 to 7" in core.missing(Position({1: 3}))
    core.handle(ConsumerCommit("items", "query", 10**18, (), (), True), 0.0)
    assert "since 2001-09-09" in core.missing(Position({1: 3}))
    core.handle(Ledger("items", 1, (), (), (), ("other",), (1,)), 0.0)
    core.handle(commit(10**18 + 1), 0.0)
    assert core.missing(Position({1: 3})) == ""


def test_what_publishers_left_out_is_known_up_to_what_is_committed() -> None:
    core = core_with()
    core.handle(replace(close(1, 3), thinned=4), 0.0)
    core.handle(replace(close(1, 5), thinned=6), 0.0)
    assert (core.thinned.heard, core.thinned.settled) == (6, 0)
    core.commit(Position({1: 4}))
    assert core.thinned.settled == 4
    core.commit(Position({1: 5}))
    assert core.thinned.settled == 6
