"""An outbox at work: a thread that writes groups of samples down, and then lets them be sent.

**What is synced when.** Sealed samples wait for the disk. The outbox's thread takes all that wait,
writes them with one write, syncs once (``fdatasync``), and only then hands them on to be sent.
While the disk works the next ones gather: a slow disk makes groups larger, not the stream slower.
What is committed is noted with every group, or by itself within ``NOTE_S``. So, of what nodes may
know of, everything is on disk; of what is on disk, some may never have been sent.

**What is gone with the process** is what ``publish`` accepted and no group has taken yet: at most
what waits for the linger or the end of the epoch, and for the disk. ``flush`` waits for it.

**Full.** When the bound is reached, or the disk has no room for another segment, nothing more is
accepted; what is written stays, is sent and replayed, and commits make room. An error of the disk
itself ends the publisher: after a failed sync only who reads it anew knows what is on disk.
"""

from __future__ import annotations

import logging
import time
from itertools import chain
from pathlib import Path
from threading import Condition, Thread
from typing import TYPE_CHECKING, Final

from evenflow.errors import StorageError
from evenflow.slices.outbox.files import OutboxFolder
from evenflow.slices.outbox.records import Kind, encode_record
from evenflow.slices.outbox.rehoming import move_to_disk, rehome
from evenflow.slices.outbox.segments import FULL, begin_segment, open_journal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from threading import Lock

    from evenflow.model.batch import Encoded
    from evenflow.slices.outbox.journal import Group
    from evenflow.slices.outbox.state import Identity, Progress, State
    from evenflow.slices.publisher.retention import Retained
    from evenflow.slices.publisher.sealing import SealedSample

NOTE_S: Final = 0.05
"""How long a commit waits at most until it is noted, when nothing else is written."""
RETRY_S: Final = 0.5
"""How often a full disk is tried again."""

_log = logging.getLogger(__name__)


class Outbox:
    """The outbox of one publisher.

    Args:
        folder: Where it is; made when it is not there.
        identity: Whose it must be.
        limit: Most bytes on disk.
        memory: Most bytes of samples in memory, those that wait and those that are kept.

    Raises:
        OutboxRefused: Another process uses it, or it is of another topic, slice count or domain.
        OutboxDamaged: It cannot be read whole.
        StorageError: There is no room to begin, or the folder cannot be used.
    """

    def __init__(
        self, folder: str | PathLike[str], identity: Identity, *, limit: int, memory: int
    ) -> None:
        self.path = Path(folder)
        self._files = OutboxFolder(self.path)
        self._memory = memory
        try:
            # And the samples that were not committed when it was opened.
            self.journal, self.samples = open_journal(self._files, identity, limit, memory)
        except BaseException as error:
            self._files.close()
            if isinstance(error, OSError):
                reason = f"cannot be opened: {error.strerror}"
                raise StorageError(str(self.path), reason) from None
            raise
        self.has_ended = False
        """Whether it was closed with everything committed."""
        self._stopping = self._noting = self._writing = False
        self._asked = self._done = 0
        self._next_note = self._retry_at = 0.0
        self._thread: Thread | None = None

    @property
    def state(self) -> State:
        """The state as it is written down."""
        return self.journal.state

    @property
    def newest_unit(self) -> int:
        """The newest unit, written or about to be."""
        return self.journal.newest_unit

    # -- the publisher's threads, with its lock ----------------------------------------------------

    def start(
        self,
        lock: Lock,
        progress: Callable[[], Progress],
        put: Callable[[list[SealedSample]], list[str]],
        drain: Callable[[list[str]], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        """Begin to write.

        Args:
            lock: The publisher's.
            progress: How far it is; called with the lock held.
            put: Queue samples that are on disk for their owners; called with the lock held.
            drain: Send what is queued for them.
            fail: The disk has failed.
        """
        self._work = Condition(lock)
        self._progress, self._put, self._drain, self._fail = progress, put, drain, fail
        self._thread = Thread(
            target=self._run, name=f"evenflow-outbox-{self.path.name}", daemon=True
        )
        self._thread.start()

    def append(self, sealed: Sequence[SealedSample], unit: int | None = None) -> None:
        """Write samples down, then have them sent; with the lock held."""
        if sealed or unit is not None:
            self.journal.append(sealed, unit)
            self._work.notify()

    def note(self) -> None:
        """Something was committed: note it soon; with the lock held."""
        if not self._noting:
            self._noting = True
            self._work.notify()

    def is_written(self, serial: int) -> bool:
        """Whether a sample is on disk."""
        return self.journal.state.serial >= serial

    def sync(self, timeout_s: float) -> bool:
        """Wait until what is committed, and under which terms, is on disk; with the lock held."""
        self._asked += 1
        asked = self._asked
        self._work.notify_all()
        return self._work.wait_for(lambda: self._done >= asked or self._is_over(), timeout_s)

    def wait_until_idle(self) -> bool:
        """Wait until nothing is being written, and nothing is while the lock is held.

        Returns:
            False when the outbox has failed or is closed.
        """
        while self._writing and not self._is_over():
            # Looked at again: a thread that fails does not say when it is gone.
            self._work.wait(NOTE_S)
        return not self._is_over()

    def rehome(self, state: State, samples: Sequence[Retained]) -> None:
        """Keep these samples of a new writer in place of all else, in one step on disk.

        With the lock held, while nothing is being written.

        Args:
            state: The new writer before its first sample.
            samples: All that it keeps, with what still waits to be written.

        Raises:
            StorageError: There is no room for both; everything is as it was.
        """
        rehome(self._files, self.journal, state, samples, self._memory)

    def _is_over(self) -> bool:
        return self._thread is None or not self._thread.is_alive()

    # -- the outbox's thread ----------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while self._turn():
                pass
        except OSError as error:
            reason = f"{error.strerror}; what was written before is kept: mend the disk, start anew"
            self._fail(StorageError(str(self.path), reason))
        except BaseException as failure:  # noqa: BLE001 - callers must learn why nothing moves
            _log.exception("outbox %s failed", self.path)
            self._fail(failure)

    def _turn(self) -> bool:
        """Write one group; return whether to go on."""
        with self._work:
            while not self._is_due(time.monotonic()):
                self._work.wait(self._pause(time.monotonic()))
            asked, stopping, now = self._asked, self._stopping, time.monotonic()
            blocked, progress = self.journal.is_full and now < self._retry_at, self._progress()
            group = self.journal.next_group(progress, notes_only=blocked)
            self._noting, self._writing = False, True
            self._next_note = now + NOTE_S
        written = group is None or self._write(group)
        if not written and group is not None and group.entries:
            self._retry_at = now + RETRY_S
            with self._work:
                progress = self._progress()
                group = self.journal.next_group(progress, notes_only=True)
            written = group is None or self._write(group)
        touched, deletable = [], []
        with self._work:
            if group is not None and written:
                entries = self.journal.on_written(group)
                deletable = self.journal.take_deletable(group.oldest)
                touched = self._put([one for entry in entries for one in entry.sealed])
            if written:
                self._done = asked
            self._writing = worn = written and self.journal.is_worn(progress.oldest)
            self._work.notify_all()
            over = stopping and (not self.journal.has_entries or self.journal.is_full)
        if worn:
            deletable += self._begin_anew(progress.oldest)
        self._files.delete(deletable)
        self._drain(touched)
        return not over

    def _is_due(self, now: float) -> bool:
        if self._stopping or (self._noting and now >= self._next_note):
            return True
        if self.journal.has_entries:
            return not self.journal.is_full or now >= self._retry_at
        return self._asked > self._done

    def _pause(self, now: float) -> float | None:
        waits = []
        if self._noting:
            waits.append(self._next_note - now)
        if self.journal.has_entries:
            waits.append(self._retry_at - now)
        return max(0.0, min(waits)) if waits else None

    def _write(self, group: Group) -> bool:
        """Write a group and sync; return whether there was room."""
        size = self.journal.new_segment(group)
        if size is None:
            return False
        if size:
            try:
                begin_segment(self._files, self.journal, size)
            except OSError as error:
                if error.errno not in FULL:
                    raise
                self._warn_full(error)
                return False
        start = self.journal.segments[-1].used
        records = [encode_record(kind, body, start) for kind, body in group.records]
        self._files.write(list(chain.from_iterable(records)), start)
        self._move_to_disk(group, start)
        return True

    def _warn_full(self, error: OSError) -> None:
        with self._work:
            if not self.journal.is_full:
                _log.error("no room for outbox %s: %s", self.path, error.strerror)
            self.journal.on_no_room()

    def _begin_anew(self, oldest: int) -> list[int]:
        """Begin another segment in place of one that is worn; return which may be deleted."""
        size = self.journal.new_segment(None)
        assert size is not None
        try:
            begin_segment(self._files, self.journal, size)
        except OSError as error:
            if error.errno not in FULL:
                raise
        with self._work:
            deletable = self.journal.take_deletable(oldest)
            self._writing = False
            if not deletable:  # the disk is full: tried again
                self._noting, self._next_note = True, time.monotonic() + RETRY_S
            self._put([])
            self._work.notify_all()
        return deletable

    def _move_to_disk(self, group: Group, start: int) -> None:
        """Keep in memory only what there is memory for."""
        with self._work:
            kept = self._progress().kept_bytes
        if kept > self._memory:
            entries = self.journal.first(group.entries)
            retained = (one for entry in entries for _, one in entry.sealed)
            move_to_disk(self._files, group.records, start, retained)

    # -- the end ----------------------------------------------------------------------------------

    def close(self) -> int:
        """Write what waits, and leave; return how many items found no room and are lost.

        A writer that has everything committed ends here: who opens the outbox next is a new one.
        """
        if self._thread is not None:
            with self._work:
                self._stopping = True
                self._work.notify_all()
            self._thread.join()
        try:
            state = self.journal.state
            if not self.journal.has_entries and (state.newest == state.floors).all():
                self._end(state.ended())
            else:
                newest = self.journal.segments[-1]
                self._files.cut(newest.index, newest.used)
        except OSError as error:
            # Nothing is lost by it: whoever opens it next finds it as it was left.
            _log.warning("outbox %s could not be put in order: %s", self.path, error.strerror)
        finally:
            self._files.close()
        left = self.journal.first(None)
        return sum(one.count for entry in left for _, one in entry.sealed)

    def _end(self, state: State) -> None:
        indexes = [one.index for one in self.journal.segments]
        head: Sequence[Encoded] = encode_record(Kind.STATE, state.encode(), 0)
        self._files.begin(indexes[-1] + 1, sum(map(len, head)), head)
        self.has_ended = True
        self._files.delete(indexes)
