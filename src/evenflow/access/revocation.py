"""Revoked tokens: a set that only grows, kept in a file and told in the domain.

Each door has a file with the ids of revoked tokens and when they would have expired, and tells in
the domain what stands in it (transient local, so a door that comes later hears it from those that
are there). What it hears it adds to its file. So a revocation reaches every door that is up at
once, and the others when they meet one that knows; and the file alone serves who has no domain.

The file is read again when it has changed, at most every `LOOK_S`. An id leaves it when its token
has expired anyway.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from evenflow.access.tokens import TOKEN_ID
from evenflow.domain.channels import REVOCATIONS, Gone
from evenflow.errors import StorageError
from evenflow.model.messages import Revocation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evenflow.domain.cyclone import Participant

FILE: Final = "revoked.txt"
LOOK_S: Final = 0.5
KEPT_S: Final = 86_400.0
"""An id stays this long after its token has expired: clocks differ."""
MOST: Final = 100_000
"""Ids that are kept; tokens should expire, not be revoked by the hundred thousand."""


def read_revoked(path: Path) -> dict[str, float]:
    """Return the revoked ids of a file, each with when its token expires."""
    try:
        lines = path.read_text("ascii").splitlines()
        return {id: float(expires) for id, expires in (line.split() for line in lines if line)}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise StorageError(str(path), f"cannot be read: {error}; mend or restore it") from None


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


class Revocations:
    """The revoked ids, as a door knows them: ask it with ``in``, and let it look with `refresh`.

    Args:
        folder: Where the file is.
        participant: The domain to hear and to tell, if there is one.
    """

    def __init__(self, folder: Path, participant: Participant | None = None) -> None:
        self._path = folder / FILE
        self._known: dict[str, float] = {}
        self._stamp: tuple[int, int] | None = None
        self._looked = 0.0
        self._reader = participant.reader(REVOCATIONS) if participant else None
        self._writer = participant.writer(REVOCATIONS) if participant else None
        self.refresh(now=0.0)

    def __contains__(self, id: object) -> bool:
        return id in self._known

    def refresh(self, *, now: float | None = None) -> frozenset[str]:
        """Look at file and domain; return the ids that are new.

        Args:
            now: Seconds of any clock that does not jump; calls in quick succession cost nothing.
        """
        now = time.monotonic() if now is None else now
        if now < self._looked + LOOK_S and now:
            return frozenset()
        self._looked = now
        before = self._known.keys() | set()
        from_file = self._from_file()
        heard = self._heard()
        if from_file is not None or heard:
            limit = time.time() - KEPT_S
            merged = {**self._known, **(from_file or {}), **heard}
            alive = {id: expires for id, expires in merged.items() if expires > limit}
            self._known = dict(list(alive.items())[-MOST:])
            if from_file != self._known and heard:
                write_revoked(self._path, self._known)
                self._stamp = self._current_stamp()
        fresh = frozenset(self._known.keys() - before)
        if self._writer is not None:
            for id in fresh:
                self._writer.write(Revocation(id, self._known[id]))
        return fresh

    def _from_file(self) -> dict[str, float] | None:
        stamp = self._current_stamp()
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        return read_revoked(self._path)

    def _current_stamp(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino

    def _heard(self) -> dict[str, float]:
        if self._reader is None:
            return {}
        return {
            message.token: message.expires
            for message in self._reader.take()
            if not isinstance(message, Gone)
            and message.token not in self._known
            and TOKEN_ID.fullmatch(message.token)
        }
