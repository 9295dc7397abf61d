"""Revoked tokens: a set that only grows, kept in a file and told in the domain.

Each door has a file with the ids of revoked tokens and when they would have expired, and tells in
the domain what stands in it (transient local, so a door that comes later hears it from those that
are there). What it hears it adds to its file. So a revocation reaches every door that is up at
once, and the others when they meet one that knows; and the file alone serves who has no domain.

The file is read again when it has changed, at most every `LOOK_S`. An id leaves it when its token
has expired anyway.

A revocation that is read or heard counts at once. Another thread may pass it on meanwhile, to the
domain (some at a time, the newest first: there may be a hundred thousand) and to the file. A folder
may be full, or not the door's to write: that is told (`Revocations.problem`) and tried again.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from evenflow.access.tokens import TOKEN_ID
from evenflow.domain.channels import REVOCATIONS, Gone
from evenflow.errors import StorageError
from evenflow.model.messages import Revocation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from evenflow.domain.cyclone import Participant

FILE: Final = "revoked.txt"
LOOK_S: Final = 0.5
KEPT_S: Final = 86_400.0
"""An id stays this long after its token has expired: clocks differ."""
TELL: Final = 2_000
"""Ids that are told the domain at a time."""
MOST: Final = 1_000_000
"""Ids that are added by what is heard; those of the file all count."""


def read_revoked(path: Path) -> dict[str, float]:
    """Return the revoked ids of a file, each with when its token expires."""
    try:
        lines = path.read_text("ascii").splitlines()
        return {id: float(expires) for id, expires in (line.split() for line in lines if line)}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StorageError(str(path), f"cannot be read: {error.strerror}") from None
    except ValueError:
        raise StorageError(
            str(path), "has a line that is not an id and a time: mend or restore it"
        ) from None


def write_revoked(path: Path, revoked: Mapping[str, float]) -> None:
    """Put revoked ids in place of those in a file, at once or not at all."""
    fresh = path.with_suffix(".new")
    try:
        opened = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(opened, "w", encoding="ascii") as file:
            file.writelines(f"{id} {expires:.0f}\n" for id, expires in revoked.items())
            file.flush()
            os.fsync(file.fileno())
        fresh.rename(path)
    except OSError as error:
        raise StorageError(str(path), f"cannot be written: {error.strerror}") from None


def add_revoked(path: Path, revoked: Mapping[str, float]) -> None:
    """Add revoked ids to a file, while others may do the same; what expired long ago leaves it."""
    with _locked(path):
        there = read_revoked(path)
        if not revoked.items() <= there.items():
            write_revoked(path, _wanted({**there, **revoked}))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise StorageError(str(path), f"cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _wanted(revoked: Mapping[str, float]) -> dict[str, float]:
    """Those whose tokens have not expired long ago."""
    limit = time.time() - KEPT_S
    return {id: expires for id, expires in revoked.items() if expires > limit}


class Revocations:
    """The revoked ids, as a door knows them: ask it with ``in``.

    Let it look with `refresh`, and tell others with `pass_on`, now and then.

    Args:
        folder: Where the file is.
        participant: The domain to hear and to tell, if there is one.

    Raises:
        StorageError: The file cannot be read.
    """

    def __init__(self, folder: Path, participant: Participant | None = None) -> None:
        self._path = folder / FILE
        self._known: dict[str, float] = {}
        self._unsaved: dict[str, float] = {}
        """Heard, and not in the file yet."""
        self._untold: dict[str, float] = {}
        """Not told the domain yet."""
        self._stamp: tuple[int, int] | None = None
        self._looked = 0.0
        self._reader = participant.reader(REVOCATIONS) if participant else None
        self._writer = participant.writer(REVOCATIONS) if participant else None
        self._not_read: StorageError | None = None
        self._not_saved: StorageError | None = None
        self.not_noted = 0
        """Ids that were heard and are not known: there are too many."""
        self.refresh(now=0.0)
        if self._not_read is not None:
            raise self._not_read

    def __contains__(self, id: object) -> bool:
        return id in self._known

    @property
    def problem(self) -> StorageError | None:
        """What is wrong with the file: it is tried again."""
        return self._not_read or self._not_saved

    def refresh(self, *, now: float | None = None) -> frozenset[str]:
        """Look at file and domain; return the ids that are new.

        Args:
            now: Seconds of any clock that does not jump; calls in quick succession cost nothing.
        """
        now = time.monotonic() if now is None else now
        if now < self._looked + LOOK_S and now:
            return frozenset()
        self._looked = now
        found = self._heard()
        self._unsaved |= found
        try:
            found |= self._from_file()
            self._not_read = None
        except StorageError as error:
            self._not_read = error
        fresh = {id: expires for id, expires in _wanted(found).items() if id not in self._known}
        self._known |= fresh
        if self._writer is not None:
            self._untold |= fresh
        return frozenset(fresh)

    def pass_on(self) -> None:
        """Tell the domain what is new, the newest first, and write down what was heard."""
        if self._writer is not None:
            for _ in range(min(TELL, len(self._untold))):
                id, expires = self._untold.popitem()
                self._writer.write(Revocation(id, expires))
        unsaved = dict(self._unsaved)
        try:
            if unsaved:
                add_revoked(self._path, unsaved)
        except StorageError as error:
            self._not_saved = error
            return
        self._not_saved = None
        for id in unsaved:
            del self._unsaved[id]

    def _from_file(self) -> dict[str, float]:
        stamp = self._current_stamp()
        if stamp == self._stamp:
            return {}
        found = read_revoked(self._path)
        self._stamp = stamp
        return found

    def _current_stamp(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino

    def _heard(self) -> dict[str, float]:
        if self._reader is None:
            return {}
        heard = {
            message.token: message.expires
            for message in self._reader.take()
            if not isinstance(message, Gone)
            and message.token not in self._known
            and TOKEN_ID.fullmatch(message.token)
        }
        room = max(0, MOST - len(self._known))
        self.not_noted += max(0, len(heard) - room)
        return dict(list(heard.items())[:room])
