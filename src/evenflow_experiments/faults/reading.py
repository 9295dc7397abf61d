"""Reads the books while they are being written.

Everything that is counted comes from files on this machine's disk: the hosts are separate in the
network only. Each file is read on from where the last look ended.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from evenflow_experiments.faults.books import (
    SILENT_S,
    Sink,
    Stream,
    Struck,
    is_cut,
    parse_entry,
    taken_over,
)
from evenflow_experiments.faults.cast import APPLIED
from evenflow_experiments.faults.kinds import Role

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evenflow_experiments.faults.cast import Casting


class Tail:
    """The lines that were added to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    def lines(self) -> list[str]:
        """The whole lines since the last look."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._at)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._at += len(whole)
        return whole.decode(errors="replace").splitlines()


class ParquetFiles:
    """The ids in the files that Spark counts as written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._logs: set[str] = set()
        self._files: set[str] = set()

    def ids(self) -> list[int]:
        """Those of the files that came since the last look."""
        found: list[int] = []
        for log in sorted(self._folder.glob("_spark_metadata/[0-9]*")):
            if log.name in self._logs:
                continue
            self._logs.add(log.name)
            for line in log.read_text(encoding="utf-8").splitlines()[1:]:
                path = json.loads(line)["path"].removeprefix("file://")
                if path not in self._files:
                    self._files.add(path)
                    found += pq.read_table(path, columns=["id"])["id"].to_pylist()
        return found


class Readings:
    """All streams and all sinks, as far as they have been read."""

    def __init__(self, casting: Casting) -> None:
        books, parts = casting.books, casting.parts
        self.streams = {number: Stream(number) for number in casting.streams}
        self.stored = {number: Stream(number) for number in casting.stored}
        self.settled = 0.0
        """When the store was last seen with all copies of everything."""
        applications, follower, spark = Sink("application"), Sink("follower"), Sink("spark")
        consumers = [sink for sink in (follower, spark) if sink.name in parts]
        self.sinks: Mapping[int, list[Sink]] = {
            number: [applications] if topic == APPLIED else consumers
            for number, (_, topic) in casting.streams.items()
        }
        self._spark = spark if spark.name in parts else None
        self._parquet = ParquetFiles(casting.parquet)
        self._books = {
            number: Tail(books / f"{number}.stream")
            for number in (*casting.streams, *casting.stored)
        }
        self._records = {
            name: (
                follower if name == follower.name else applications,
                Tail(books / f"{name}.record"),
            )
            for name in parts
        }
        self._settled = Tail(books / "settled")
        self.taken_over: list[Struck] = []
        """The nodes that balancers took for dead, and when."""
        self.cuts = 0
        """Streams of silent publishers that were cut."""
        self._balancers = [
            Tail(casting.log(name))
            for name, part in parts.items()
            if part.member.role is Role.BALANCER
        ]

    def refresh(self) -> None:
        """Read on."""
        # What came out first: so nothing comes out that the books do not have yet.
        for name, (sink, tail) in self._records.items():
            for line in tail.lines():
                if (found := parse_entry(line)) is not None:
                    sink.take(name, found.time, found.ids)
        if self._spark is not None:
            self._spark.take("spark", time.monotonic(), self._parquet.ids())
        for number, tail in self._books.items():
            stream = self.streams.get(number) or self.stored[number]
            for line in tail.lines():
                stream.note(line)
        for line in self._settled.lines():
            if (found := parse_entry(line)) is not None:
                self.settled = found.time

        self._read_logs(time.monotonic())

    def _read_logs(self, now: float) -> None:
        for tail in self._balancers:
            lines = tail.lines()
            self.cuts += sum(map(is_cut, lines))
            nodes = {taken_over(line) for line in lines} - {None}
            self.taken_over += [Struck(str(node), now - SILENT_S, now) for node in nodes]

    def found(self, books: Path) -> dict[int, Sink]:
        """What the store's audit found."""
        sinks = {}
        for number in self.stored:
            path = books / f"{number}.found"
            if path.exists():
                sink = sinks[number] = Sink(str(number))
                for line in path.read_text(encoding="utf-8").splitlines():
                    if (one := parse_entry(line)) is not None:
                        sink.take("store", one.time, one.ids)
        return sinks
