"""Which snapshots count, and what a node does about them, one rule at a time."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evenflow.slices.node.application.snapshots import (
    Begun,
    Claim,
    Fetch,
    Row,
    Saved,
    Snapshots,
    Source,
    Write,
)
from evenflow.slices.node.application.state_log import StateLog, StateRecord, Superseded

ME, OTHER = "me~1", "other~2"


def claim(node: str, number: int, term: int) -> StateRecord:
    return StateRecord(node, number, (3,), (term,))


def stored(node: str, number: int, term: int) -> StateRecord:
    return StateRecord(node, number, (3,), (term,), f"{node}/{number}")


def newest(*records: StateRecord) -> str:
    """The bundle of the snapshot of slice 3 that counts, after a log."""
    log = StateLog()
    for record in records:
        log.add(record)
    found = log.newest(3)
    return found.record.bundle if found is not None else ""


def test_nothing_of_an_older_term_counts_behind_a_claim() -> None:
    first, late = stored(OTHER, 1, 5), stored(OTHER, 2, 5)
    assert newest(first, late) == f"{OTHER}/2"
    assert newest(first, claim(ME, 1, 7), late) == f"{OTHER}/1"
    assert newest(first, claim(ME, 1, 7), late, stored(ME, 2, 7)) == f"{ME}/2"


def test_what_a_node_wrote_before_does_not_replace_what_it_wrote_after() -> None:
    assert newest(stored(ME, 2, 5), stored(ME, 1, 5)) == f"{ME}/2"


def test_what_is_older_than_every_newest_snapshot_is_superseded() -> None:
    log = StateLog()
    log.add(StateRecord(OTHER, 1, (0, 1), (5, 5), "a", since=10, until=11, at=20))
    assert log.superseded(3) is None, "slice 2 has none yet"
    log.add(StateRecord(ME, 1, (2,), (5,), "b", since=30, until=31, at=40))
    assert log.superseded(3) == Superseded(10, 20)
    log.add(StateRecord(OTHER, 2, (0,), (5,), "c", since=50, until=51, at=60))
    assert log.superseded(3) == Superseded(10, 20), "slice 1 has no newer one"
    log.add(StateRecord(OTHER, 3, (1,), (7,), at=70))  # a claim stores nothing
    assert log.superseded(3) == Superseded(10, 20)
    log.add(StateRecord(OTHER, 4, (1,), (7,), "d", since=80, until=81, at=90))
    assert log.superseded(3) == Superseded(30, 40)


records = st.builds(
    lambda node, number, slices, term, snapshot: StateRecord(
        node, number, slices, (term,) * len(slices), f"{node}/{number}" * snapshot
    ),
    st.sampled_from([ME, OTHER]),
    st.integers(1, 6),
    st.sampled_from([(0,), (1,), (2,), (0, 1, 2)]),
    st.integers(1, 4),
    st.booleans(),
)


@given(st.lists(records, min_size=8, max_size=40), st.data())
def test_who_reads_a_trimmed_log_finds_the_same(found: list[StateRecord], data: Any) -> None:
    """Whoever trims, by whatever part of the log, and whatever the others had read by then."""
    written = [
        record._replace(at=at, since=at, until=at) for at, record in enumerate(found, start=1)
    ]
    whole, trimmer = StateLog(), StateLog()
    for record in written:
        whole.add(record)
    for record in written[: data.draw(st.integers(0, len(written)))]:
        trimmer.add(record)
    superseded = trimmer.superseded(3) or Superseded(0, 0)
    behind = StateLog()  # a node that has read a part before, and goes on with what is left
    read = data.draw(st.integers(0, len(written)))
    for record in written:
        if record.at <= read or record.at >= superseded.records:
            behind.add(record)
    for slice_id in range(3):
        newest = whole.newest(slice_id)
        assert behind.newest(slice_id) == newest
        assert behind.term_of(slice_id) == whole.term_of(slice_id)
        assert newest is None or newest.record.since >= superseded.states


def test_states_that_were_trimmed_because_another_owns_the_slice_are_not_lost() -> None:
    snapshots = Snapshots(ME, 1.0, 10)
    snapshots.claim(3, 7, own=0)
    snapshots.next_job()
    snapshots.on_records([stored(OTHER, 4, 5), claim(ME, 1, 7)])
    fetch = snapshots.next_job()
    assert isinstance(fetch, Fetch)
    snapshots.on_records([claim(OTHER, 5, 8), stored(OTHER, 6, 8)])
    assert snapshots.on_states(fetch, []) == []
    assert snapshots.next_job() is None


def saving() -> Snapshots:
    """A node that has changed slice 3, up to number 9 of writer 1, and given its state."""
    snapshots = Snapshots(ME, 1.0, 10)
    snapshots.change(3)
    assert snapshots.due(5.0, bool) == (3,)
    snapshots.begin({3: (5, {1: 9})})
    snapshots.end({3: b"state"}, {})
    return snapshots


def test_a_job_is_the_same_until_the_log_shows_it() -> None:
    snapshots = saving()
    row = Row(3, 5, {1: 9}, b"state")
    assert snapshots.next_job() == snapshots.next_job() == Write(1, (row,))
    snapshots.change(3)
    assert snapshots.due(99.0, bool) == (), "one round at a time"
    assert snapshots.on_records([stored(OTHER, 1, 2)]) == []
    assert snapshots.on_records([stored(ME, 1, 5)]) == [Saved((row,))]
    assert snapshots.next_job() is None
    assert snapshots.due(99.0, bool) == (3,)


def test_what_does_not_count_is_not_saved() -> None:
    snapshots = saving()
    assert snapshots.next_job() is not None
    assert snapshots.on_records([claim(OTHER, 1, 6), stored(ME, 1, 5)]) == [Saved(())]


def test_what_was_dropped_meanwhile_is_not_put_back() -> None:
    """It would be looked for in every round, and be counted, for ever."""
    snapshots = saving()
    assert snapshots.next_job() is not None
    snapshots.drop([3])
    assert snapshots.behind == 0
    assert snapshots.on_records([claim(OTHER, 1, 6), stored(ME, 1, 5)]) == [Saved(())]
    assert (snapshots.behind, snapshots.due(99.0, bool)) == (0, ())


def test_what_was_dropped_and_came_again_meanwhile_is_put_back() -> None:
    snapshots = saving()
    assert snapshots.next_job() is not None
    snapshots.drop([3])
    snapshots.change(3)
    assert snapshots.on_records([claim(OTHER, 1, 6), stored(ME, 1, 5)]) == [Saved(())]
    assert snapshots.due(99.0, bool) == (3,)


def test_slices_that_cannot_be_given_hold_up_no_others() -> None:
    snapshots = Snapshots(ME, 1.0, 10)
    for slice_id in range(1, 1_000):
        snapshots.change(slice_id)
    assert snapshots.due(1.0, lambda slice_id: slice_id == 999) == (999,)


def test_what_is_too_large_or_not_given_is_tried_again() -> None:
    snapshots = Snapshots(ME, 1.0, 4)
    snapshots.change(3)
    snapshots.change(4)
    assert snapshots.due(0.0, bool) == (3, 4)
    snapshots.begin({3: (5, {}), 4: (5, {})})
    snapshots.end({3: b"large"}, {4: "no"})
    assert snapshots.unsaved == {3: "it has 5 bytes, more than node.state_bytes = 4", 4: "no"}
    assert snapshots.next_job() is None
    assert snapshots.due(1.0, bool) == (3, 4)
    snapshots.begin({3: (5, {}), 4: (5, {})})
    snapshots.end({3: b"", 4: b""}, {})
    assert snapshots.unsaved == {}


def test_a_slice_begins_as_the_log_says() -> None:
    snapshots = Snapshots(ME, 1.0, 10)
    snapshots.claim(3, 7, own=0)
    assert snapshots.next_job() == Claim(1, (3,), (7,))
    assert snapshots.on_records([stored(OTHER, 4, 5), claim(ME, 1, 7), stored(OTHER, 5, 5)]) == []
    fetch = Fetch(stored(OTHER, 4, 5), (3,), (7,))
    assert snapshots.next_job() == fetch
    row = Row(3, 5, {1: 9}, b"state")
    assert snapshots.on_states(fetch, [row]) == [Begun(3, 7, Source.SNAPSHOT, row)]
    assert snapshots.next_job() is None


def test_a_snapshot_that_is_gone_is_lost_and_none_is_nothing() -> None:
    snapshots = Snapshots(ME, 1.0, 10)
    snapshots.claim(3, 7, own=0)
    snapshots.next_job()
    snapshots.on_records([stored(OTHER, 4, 5), claim(ME, 1, 7)])
    fetch = snapshots.next_job()
    assert isinstance(fetch, Fetch)
    assert snapshots.on_states(fetch, []) == [Begun(3, 7, Source.LOST)]
    fresh = Snapshots(ME, 1.0, 10)
    fresh.claim(3, 7, own=0)
    fresh.next_job()
    assert fresh.on_records([claim(ME, 1, 7)]) == [Begun(3, 7, Source.NOTHING)]


def test_who_gets_its_own_slice_back_keeps_it_unless_another_has_stored_more() -> None:
    for others, source in ((4, Source.OWN), (6, None)):
        snapshots = Snapshots(ME, 1.0, 10)
        snapshots.claim(3, 7, own=5)
        snapshots.next_job()
        begun = snapshots.on_records([stored(OTHER, 4, others), claim(ME, 1, 7)])
        assert begun == ([Begun(3, 7, source)] if source is not None else [])
        assert isinstance(snapshots.next_job(), Fetch) == (source is None)


def test_a_claim_that_came_too_late_begins_nothing() -> None:
    snapshots = Snapshots(ME, 1.0, 10)
    snapshots.claim(3, 7, own=0)
    snapshots.next_job()
    assert snapshots.on_records([claim(OTHER, 1, 8), claim(ME, 1, 7)]) == []
    assert snapshots.next_job() is None
    snapshots.claim(3, 9, own=0)
    snapshots.drop([3])
    assert snapshots.next_job() is None


def test_slices_are_behind_until_a_snapshot_of_them_counts() -> None:
    snapshots = Snapshots(ME, every=1.0, limit=100)
    assert snapshots.behind == 0
    snapshots.change(3)
    assert snapshots.behind == 1
    snapshots.begin({3: (5, {1: 7})})
    assert snapshots.behind == 1
    snapshots.end({3: b"state"}, {})
    snapshots.change(3)  # it goes on meanwhile
    snapshots.change(4)
    assert snapshots.behind == 2
    job = snapshots.next_job()
    assert isinstance(job, Write)
    snapshots.on_records([stored(ME, job.number, 5)])
    assert snapshots.behind == 2
    snapshots.drop([3, 4])
    assert snapshots.behind == 0
