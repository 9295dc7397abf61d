"""The balancer's state on disk: a folder with two small files for each topic.

A file is replaced as a whole: written beside the old one, synced, renamed over it, and the folder
synced. So after a crash there is the old one or the new one, and what :meth:`StateFolder.save` has
returned from is there.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from evenflow.errors import DecodeError, StorageError
from evenflow.slices.ending.bookkeeping import CONSUMERS, WRITERS
from evenflow.slices.ending.records import State, decode_state

if TYPE_CHECKING:
    from collections.abc import Mapping


class StateFolder:
    """Reads and writes the state of a balancer's topics."""

    def __init__(self, path: Path) -> None:
        self._path = path

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

    def save(self, topic: str, files: Mapping[str, bytes]) -> None:
        """Write files of a topic; they are on disk when this returns.

        Raises:
            StorageError: They could not be written; the old ones are still there.
        """
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            for name, content in files.items():
                self._replace(self._file(topic, name), content)
            folder = os.open(self._path, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise self._refused(self._path, error) from None

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
