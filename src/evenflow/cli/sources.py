"""Where ``evenflow publish`` gets items from, and how fast it may pass them on.

A source is an iterator of groups of payloads, each small enough to hold in memory. It ends by
itself or when the command is told to stop.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenflow.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenflow.cli.running import StopSignal

_READ: Final = 1 << 16
_LOOK_UP_S: Final = 0.2
"""How often a source that waits for input looks whether it shall stop."""
_GROUP: Final = 50_000
"""Items that are generated, or passed on, at a time."""


def lines(path: str, stop: StopSignal, longest: int) -> Iterator[list[bytes]]:
    """Yield the lines of a file, or of the standard input for ``-``, as they come.

    Args:
        path: The file.
        stop: When to end.
        longest: Bytes that a line, or a generated item, may have.
    """
    descriptor = sys.stdin.fileno() if path == "-" else _open(path)
    pieces: list[bytes] = []
    try:
        while not stop.given:
            if not select.select([descriptor], [], [], _LOOK_UP_S)[0]:
                continue
            read = os.read(descriptor, _READ)
            if not read:
                break
            first, *others = read.split(b"\n")
            pieces.append(first)
            if others:
                yield [b"".join(pieces), *others[:-1]]
                pieces = others[-1:]
            elif sum(map(len, pieces)) > longest:
                raise UsageError(f"{path}: a line is longer than {longest} bytes; cut it")
        last = b"".join(pieces)
        if last:
            yield [last]
    finally:
        if path != "-":
            os.close(descriptor)


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def objects(group: Sequence[bytes]) -> tuple[list[dict[str, Any]], list[str]]:
    """Read lines of JSON; return the objects, and what is wrong with lines that hold none."""
    found, faults = [], []
    for line in filter(bytes.strip, group):
        try:
            value = json.loads(line)
        except ValueError as error:
            faults.append(f"not JSON ({error}): {line[:80]!r}")
            continue
        if isinstance(value, dict):
            found.append(value)
        else:
            faults.append(f"not a JSON object: {line[:80]!r}")
    return found, faults


def whole_files(paths: Sequence[str], stop: StopSignal) -> Iterator[list[bytes]]:
    """Yield each file as one item."""
    for path in paths:
        if stop.given:
            return
        try:
            yield [sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()]
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from None


def generated(size: int, stop: StopSignal, seed: int = 1) -> Iterator[Any]:
    """Yield random payloads of ``size`` bytes without end, as rows of a NumPy array."""
    random = np.random.default_rng(seed)
    count = max(1, min(_GROUP, (1 << 22) // max(size, 1)))
    rows = random.integers(0, 256, (count, size), dtype=np.uint8)
    while not stop.given:
        yield rows


class Source:
    """Where the items come from, as the options say.

    Args:
        files: Paths; none for the standard input.
        stop: When to end.
        longest: Bytes that a line may have.
        size: Bytes of generated items; None to read files.
        json_lines: Whether every line is a JSON object.
        whole: Whether every file is an item.
    """

    def __init__(
        self, files: Sequence[str], stop: StopSignal, longest: int, size: int | None, *,
        json_lines: bool, whole: bool,
    ) -> None:  # fmt: skip
        if size is not None and files:
            raise UsageError("--size generates items: give it, or files, but not both")
        if json_lines + whole + (size is not None) > 1:
            raise UsageError("--json-lines, --whole, --size: give one of them, not several")
        if size is not None and size > longest:
            raise UsageError(
                f"--size {size} does not fit publisher.retention_bytes = {longest}: raise it, or"
                " generate smaller items"
            )
        self._files = files or ["-"]
        self._stop = stop
        self._longest = longest
        self._size = size
        self._json_lines = json_lines
        self._whole = whole

    @property
    def generates(self) -> bool:
        """Whether items are generated."""
        return self._size is not None

    def groups(self) -> Iterator[Any]:
        """Yield payloads in groups."""
        if self._size is not None:
            return generated(self._size, self._stop)
        if self._whole:
            return whole_files(self._files, self._stop)
        return chain.from_iterable(lines(path, self._stop, self._longest) for path in self._files)

    def read(self, group: Any) -> tuple[Any, list[str]]:
        """Return the items of a group, and what is wrong with the others."""
        return objects(group) if self._json_lines else (group, [])


class Pace:
    """How many items may be passed on, and when.

    Args:
        stop: When to end at once.
        rate: Items a second; None for as many as possible.
        count: Items in all; None for no limit.
        duration: Seconds in all; None for no limit.
    """

    def __init__(
        self, stop: StopSignal, rate: float | None, count: int | None, duration: float | None
    ) -> None:
        self._stop = stop
        self._rate = rate
        self._count = count
        self._began = time.monotonic()
        self._ends = None if duration is None else self._began + duration
        self._done = 0

    @property
    def over(self) -> bool:
        """Whether nothing more is to be passed on."""
        counted = self._count is not None and self._done >= self._count
        timed = self._ends is not None and time.monotonic() >= self._ends
        return counted or timed or self._stop.given

    def parts(self, group: Any) -> Iterator[Any]:
        """Yield a group in parts, each when its time has come, until it is over."""
        start = 0
        while start < len(group) and not self.over:
            allowed = self._allowed()
            if not allowed:
                self._stop.wait(0.002)
                continue
            part = group[start : start + allowed]
            yield part
            start += len(part)
            self._done += len(part)

    def _allowed(self) -> int:
        limits = [_GROUP]
        if self._rate is not None:
            due = int((time.monotonic() - self._began) * self._rate) + 1
            limits.append(due - self._done)
        if self._count is not None:
            limits.append(self._count - self._done)
        return max(0, min(limits))
