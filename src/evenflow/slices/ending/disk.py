"""The balancer's state on disk: a folder with a few small files for each topic.

A file is replaced as a whole: written beside the old one, synced, renamed over it, and the folder
synced. So after a crash there is the old one or the new one, and what :meth:`StateFolder.save` has
returned from is there.

Balancers may share a folder. Who begins to lead claims it and then reads it
(:mod:`evenflow.slices.ending.fence`), and only whose claim is the newest writes: to look at the
claim and to write is one step, under a lock (``flock`` on the file ``lock``). One that stands still
with the lock in its hand must not hold the others up: to them the folder cannot be written.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evenflow.errors import DecodeError, StorageError
from evenflow.folders import make_folder, sync_folder
from evenflow.model.bounds import newest_term
from evenflow.slices.ending.bookkeeping import CONSUMERS, WRITERS
from evenflow.slices.ending.fence import Claim, claim_after, decode_claim, encode_claim
from evenflow.slices.ending.records import State, decode_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenflow.slices.balancer.membership.leadership import Leadership

CLAIM: Final = "claim"
LOCK_TRIES: Final = 10
LOCK_PAUSE_S: Final = 0.01


class StateFolder:
    """Reads and writes the state of a balancer's topics."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._claims: dict[str, Claim] = {}
        """The newest claim of this process, by topic."""

    def load(self, topic: str) -> State:
        """What was saved of a topic.

        Raises:
            StorageError: A file cannot be read, or is damaged.
        """
        found = []
        for name in (WRITERS, CONSUMERS):
            file = self._file(topic, name)
            try:
                found.append(file.read_bytes())
            except FileNotFoundError:
                continue
            except OSError as error:
                raise self._refused(file, error) from None
        try:
            return decode_state(topic, *found)
        except (DecodeError, ValueError) as error:
            raise StorageError(
                str(self._path),
                f"{error}: repair or remove the files of topic {topic!r}; without them ended"
                " publishers and registered consumers are forgotten",
            ) from None

    def claim(self, topic: str, leadership: Leadership) -> None:
        """Make a topic's files those of the balancer that leads now; read them after this.

        Raises:
            StorageError: The claim could not be written.
        """
        try:
            with self._locked():
                believed = newest_term(time.time())
                claim = claim_after(self._claimed(topic), leadership, believed)
                self._write(topic, {CLAIM: encode_claim(claim)})
        except OSError as error:
            raise self._refused(self._path, error) from None
        self._claims[topic] = claim

    def holds(self, topic: str) -> bool:
        """Whether nobody has claimed a topic's files after this process."""
        try:
            claimed = self._claimed(topic)
        except OSError:
            return False
        return claimed is not None and claimed == self._claims.get(topic)

    def is_writable(self) -> bool:
        """Whether there is room for a claim."""
        return self.fault() is None

    def fault(self) -> OSError | None:
        """Why no claim could be written now; None when one could."""
        try:
            with self._locked():
                file = self._path / "room.json"
                self._replace(file, bytes(4096))
                file.unlink()
        except OSError as error:
            return error
        return None

    def save(self, topic: str, files: Mapping[str, bytes]) -> None:
        """Write files of a topic; they are on disk when this returns.

        Raises:
            StorageError: They could not be written, or another process has claimed them; the old
                ones are still there.
        """
        try:
            with self._locked():
                if not self.holds(topic):
                    raise StorageError(str(self._path), "another balancer has claimed it")
                self._write(topic, files)
        except OSError as error:
            raise self._refused(self._path, error) from None

    def _claimed(self, topic: str) -> Claim | None:
        try:
            return decode_claim(self._file(topic, CLAIM).read_bytes())
        except (FileNotFoundError, DecodeError):
            return None  # the next claim replaces it

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if not self._path.is_dir():
            make_folder(self._path)
        with (self._path / "lock").open("ab") as lock:
            for left in reversed(range(LOCK_TRIES)):
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if not left:
                        raise BlockingIOError("another process is writing there") from None
                time.sleep(LOCK_PAUSE_S)
            yield

    def _write(self, topic: str, files: Mapping[str, bytes]) -> None:
        for name, content in files.items():
            self._replace(self._file(topic, name), content)
        sync_folder(self._path)

    def _replace(self, file: Path, content: bytes) -> None:
        beside = file.with_suffix(".new")
        with beside.open("wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        beside.replace(file)

    def _file(self, topic: str, name: str) -> Path:
        return self._path / f"{topic}.{name}.json"

    def _refused(self, file: Path, error: OSError) -> StorageError:
        return StorageError(str(file), f"{error}; see balancer.state_dir")
