"""What an outbox keeps goes on under another writer's id, in one step on disk.

One segment holds the state of the new writer and all its samples, and says that nothing before it
counts. It is complete and synced before it has its name: who opens the outbox finds the old writer
with everything, or the new one with everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.errors import StorageError
from evenflow.slices.outbox.journal import Segment
from evenflow.slices.outbox.records import Kind, encode_record, record_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenflow.model.batch import Encoded
    from evenflow.slices.outbox.files import OutboxFolder
    from evenflow.slices.outbox.journal import Journal
    from evenflow.slices.outbox.state import State
    from evenflow.slices.publisher.retention import Retained


def rehome(
    files: OutboxFolder, journal: Journal, state: State, samples: Sequence[Retained], memory: int
) -> None:
    """Put another writer in the place of the one that an outbox has.

    Args:
        files: Where.
        journal: What is there, and what waits.
        state: The new writer before its first sample.
        samples: All that it keeps.
        memory: Most bytes of samples in memory.

    Raises:
        StorageError: There is no room for both; everything is as it was.
    """
    bodies = [(Kind.STATE, state.encode()), *((Kind.SAMPLE, one.encoded) for one in samples)]
    pieces = [piece for kind, body in bodies for piece in encode_record(kind, body, 0)]
    size = sum(map(len, pieces))
    before = [one.index for one in journal.segments]
    try:
        files.begin(before[-1] + 1, size, pieces)
    except OSError as error:
        reason = f"cannot go on as another writer: {error.strerror}; nothing is lost: make room"
        raise StorageError(
            str(files.path), f"{reason} for all of it once more, start anew"
        ) from None
    files.delete(before)
    for one in samples:
        state.add(one.serial, one.epoch, one.slices, one.lasts)
    state.fresh = False
    journal.on_rehomed(state, Segment(before[-1] + 1, size, size, state.serial))
    if size > memory:
        move_to_disk(files, bodies, 0, samples)


def move_to_disk(
    files: OutboxFolder,
    records: Iterable[tuple[Kind, Encoded]],
    start: int,
    samples: Iterable[Retained],
) -> None:
    """Keep samples that were written into the newest segment there, and not in memory."""
    left, at = iter(samples), start
    for kind, body in records:
        end = at + record_bytes(len(body))
        if kind in {Kind.SAMPLE, Kind.PART}:
            begin = end - len(body) - -len(body) % 8
            next(left).encoded = files.view(begin, begin + len(body))
        at = end
