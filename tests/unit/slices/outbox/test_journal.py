"""What an outbox accepts finds room in its segments, whatever else lies in them."""

from __future__ import annotations

import numpy as np

from evenflow.slices.outbox.journal import Journal
from evenflow.slices.outbox.records import record_bytes
from evenflow.slices.outbox.state import Identity, Progress, State
from evenflow.slices.publisher.retention import Retained
from evenflow.slices.publisher.sealing import SealedSample

SLICES = 5_000
LIMIT = 4 << 20


def nothing_committed(state: State) -> Progress:
    return Progress(0, 0, state.floors, state.terms, 0, 1, 0)


def write_all(journal: Journal) -> None:
    """Write what waits; each group must find room."""
    while journal.has_entries:
        group = journal.next_group(nothing_committed(journal.state))
        assert group is not None
        size = journal.new_segment(group)
        assert size is not None, "what was accepted finds no room"
        if size:
            begin(journal, size)
        journal.on_written(group)


def begin(journal: Journal, size: int) -> None:
    journal.on_segment_begun(
        len(journal.segments) + 1, size, record_bytes(len(journal.state.encode()))
    )


def test_what_was_accepted_finds_room_though_every_segment_begins_with_a_large_state() -> None:
    every = np.arange(SLICES)
    journal = Journal(State(Identity("items", SLICES, 7), 9), (), limit=LIMIT, memory=64 << 20)
    size = journal.new_segment(None)
    assert size
    begin(journal, size)
    serial = 0
    # An epoch that is larger than the outbox: nothing of it is committed before it is whole.
    for octets in (700_000, 50_000):
        while journal.spare >= octets:
            serial += 1
            sample = Retained(
                serial, 1, bytes(octets), every, every * 0 + serial, every * 0 + serial
            )
            journal.append([SealedSample("a", sample)])
            write_all(journal)
    last = bytes(journal.spare)
    journal.append(
        [SealedSample("a", Retained(serial + 1, 1, last, every, every * 0, every * 0 + serial))]
    )
    write_all(journal)
    assert sum(one.used for one in journal.segments) <= LIMIT
