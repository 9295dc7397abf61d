"""Opening an outbox, and beginning one of its segments: what is recovered becomes a journal."""

from __future__ import annotations

import errno
import secrets
from typing import TYPE_CHECKING, Final

from evenflow.errors import StorageError
from evenflow.slices.outbox.journal import Journal, Segment
from evenflow.slices.outbox.records import Kind, encode_record
from evenflow.slices.outbox.recovery import SegmentData, recover
from evenflow.slices.outbox.state import State

if TYPE_CHECKING:
    from evenflow.model.sample import Sample
    from evenflow.slices.outbox.files import OutboxFolder
    from evenflow.slices.outbox.state import Identity

FULL: Final = (errno.ENOSPC, errno.EDQUOT)
"""What the system says when the disk is full."""


def open_journal(
    files: OutboxFolder, identity: Identity, limit: int, memory: int
) -> tuple[Journal, list[Sample]]:
    """Read an outbox, and begin a segment of this life.

    Args:
        files: Its folder.
        identity: Whose it must be.
        limit: Most bytes on disk.
        memory: Most bytes of samples in memory.

    Returns:
        Its journal, and the samples that are not committed.

    Raises:
        OutboxRefused: It is of another topic, slice count or domain.
        OutboxDamaged: It cannot be read whole.
        StorageError: There is no room to begin.
    """
    segments = [SegmentData(*one) for one in files.segments()]
    found = recover(str(files.path), segments, identity)
    state, samples, uses = State(identity, writer=0), [], []
    if found is not None:
        state, samples = found.state, found.samples
        for index, end, last_serial in found.segments:
            files.cut(index, end)
            uses.append(Segment(index, end, end, last_serial))
    if not state.writer:
        state = state.begun(secrets.randbits(63) + 1)
    else:
        state.fresh = False
    journal = Journal(state, uses, limit=limit, memory=memory)
    size = journal.new_segment(None)
    assert size is not None
    try:
        begin_segment(files, journal, size)
    except OSError as error:
        if error.errno not in FULL:
            raise
        # Notes of commits are what makes room: for them there must be some.
        begin_segment(files, journal, journal.least_segment, must=True)
    oldest = samples[0].serial if samples else state.serial + 1
    files.delete(journal.take_deletable(oldest))
    return journal, samples


def begin_segment(files: OutboxFolder, journal: Journal, size: int, *, must: bool = False) -> None:
    """Begin a segment with the state as it is written down.

    Raises:
        OSError: There is no room; nothing has changed.
        StorageError: There is none for the first one, or for one that must be.
    """
    index = journal.segments[-1].index + 1 if journal.segments else 1
    head = encode_record(Kind.STATE, journal.state.encode(), 0)
    try:
        files.begin(index, size, head)
    except OSError as error:
        if (journal.segments and not must) or error.errno not in FULL:
            raise
        raise StorageError(str(files.path), f"cannot begin: {error.strerror}") from None
    if journal.segments:
        files.cut(journal.segments[-1].index, journal.segments[-1].used)
    journal.on_segment_begun(index, size, sum(map(len, head)))
