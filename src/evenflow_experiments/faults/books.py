"""What was promised, what came out, and the difference.

**Numbers.** The items of a publisher and topic are a *stream*, numbered from 1, also over restarts
of the publisher. The id of an item is its stream's number and its own. The messages of a topic of
the store are a stream too.

**Owed.** A publisher notes in its own book, a line each: ``run N`` when it starts with number N,
``tried N`` before it publishes up to N, ``accepted N`` when ``publish`` has returned for all up to
N, ``safe N`` when ``flush`` has. Of a run that was killed or has ended, what is safe is owed; of
the run that is there, what was accepted. What a killed run tried beyond that may come or not. For
the store, ``safe`` is what was acknowledged, and nothing else is owed.

**Out.** Each application node, the following consumer and the reader of the Parquet files note what
came: `entry` is the line, with a mark at its end that a line cut off by a kill lacks. An owed item
that is not there in the end is lost, once for each consumer that lacks it. Every time that an item
comes again is a repeat.

**Allowed.** Applications at nodes may see items again that a node had in hand when it died or was
taken for dead (docs/protocol.md). So each processing by a node that was itself struck, or cut off
from a balancer, from `BEFORE_S` before the strike to `AFTER_S` after the heal, excuses one repeat
of the item, counted apart. A busy machine can let a node stand still that nobody struck: then the
log of the balancer says that its slices were taken over, and the same holds from `SILENT_S` before
that moment. Consumers are excused nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

STREAM_BITS: Final = 40
"""The id of an item: its stream's number, and below so many bits its own."""
END: Final = "."
_TAKEOVER: Final = re.compile(r" takeover: \d+ slices? of \S+ from ([^\s~]+)")
_CUT: Final = re.compile(r" writer \S+ is cut: ")
BEFORE_S: Final = 2.0
"""A node commits ten times a second; on a busy machine it may be late."""
SILENT_S: Final = 5.0
"""A node is taken for dead after a silence of at most so long."""
AFTER_S: Final = 5.0
"""A node that was taken for dead learns of it within a beat, once it is heard again."""


def entry(now: float, ids: Sequence[int], key: str = "-") -> str:
    """One line: when, a key without spaces, the ids, and a mark that a line cut off lacks."""
    return f"\n{now:.3f} {key} {' '.join(map(str, ids))} {END}\n"


class Entry(NamedTuple):
    """What a line says."""

    time: float
    key: str
    ids: list[int]


def parse_entry(line: str) -> Entry | None:
    """Read a line; None when it is empty, or was cut off."""
    words = line.split()
    if len(words) < 3 or words[-1] != END:
        return None
    return Entry(float(words[0]), words[1], list(map(int, words[2:-1])))


@dataclass(slots=True)
class Run:
    """A life of a publisher: the numbers it reached."""

    first: int
    accepted: int
    safe: int


@dataclass(slots=True)
class Stream:
    """What a publisher noted of one topic."""

    number: int
    tried: int = 0
    runs: list[Run] = field(default_factory=list)

    def note(self, line: str) -> None:
        """Take a line of the book; one that was cut off is skipped."""
        what, _, text = line.strip().partition(" ")
        if not text.isdigit():
            return
        value = int(text)
        if what == "run":
            self.runs.append(Run(value, value - 1, value - 1))
        elif what == "tried":
            self.tried = max(self.tried, value)
        elif what == "accepted" and self.runs:
            self.runs[-1].accepted = value
        elif what == "safe" and self.runs:
            self.runs[-1].safe = value

    @property
    def accepted(self) -> int:
        """The newest number that was accepted."""
        return self.runs[-1].accepted if self.runs else 0

    @property
    def safe(self) -> int:
        """The newest number that is safe."""
        return self.runs[-1].safe if self.runs else 0

    def owed(self, *, acknowledged: bool = False) -> Iterator[range]:
        """The numbers that must come out; of the store those that were acknowledged."""
        for run in self.runs:
            last = run is self.runs[-1] and not acknowledged
            yield range(run.first, (run.accepted if last else run.safe) + 1)

    def id_of(self, number: int) -> int:
        """The id of an item."""
        return (self.number << STREAM_BITS) + number


def split_id(id: int) -> tuple[int, int]:
    """The stream and the number of an id."""
    return id >> STREAM_BITS, id & ((1 << STREAM_BITS) - 1)


class Seen(NamedTuple):
    """When and where an item came out."""

    time: float
    where: str


@dataclass(slots=True)
class Sink:
    """What came out at one place: at the application of all nodes, or at one consumer."""

    name: str
    first: dict[int, Seen] = field(default_factory=dict)
    again: defaultdict[int, list[Seen]] = field(default_factory=lambda: defaultdict(list))

    def take(self, where: str, time: float, ids: Iterable[int]) -> None:
        """Note that items came."""
        seen = Seen(time, where)
        for id in ids:
            if id in self.first:
                self.again[id].append(seen)
            else:
                self.first[id] = seen

    def lacks(self, ids: Iterable[int]) -> list[int]:
        """Those of the ids that have not come."""
        return [id for id in ids if id not in self.first]


class Struck(NamedTuple):
    """A node that was killed, stopped or cut off, and so may be taken for dead."""

    node: str
    began: float
    healed: float

    def covers(self, node: str, time: float) -> bool:
        """Whether it is about this node and this time."""
        return node == self.node and self.began - BEFORE_S <= time <= self.healed + AFTER_S

    def excuses(self, seen: Seen) -> bool:
        """Whether what the node processed then may be processed again by others."""
        return self.covers(seen.where, seen.time)


def taken_over(line: str) -> str | None:
    """The node that a line of a balancer's log says was taken for dead."""
    found = _TAKEOVER.search(line)
    return None if found is None else found[1]


def is_cut(line: str) -> bool:
    """Whether a line of a balancer's log says that the stream of a silent publisher was cut."""
    return _CUT.search(line) is not None


class Repeat(NamedTuple):
    """An item that came more than once at one place."""

    sink: str
    id: int
    seen: list[Seen]
    """All the times that it came, in order."""
    allowed: int
    """How many of the repeats the rules allow."""

    @property
    def wrong(self) -> int:
        """How many of the repeats must not be."""
        return len(self.seen) - 1 - self.allowed


def repeats(sink: Sink, struck: Iterable[Struck]) -> list[Repeat]:
    """The items that came more than once, and how much of that is allowed."""
    by_node: defaultdict[str, list[Struck]] = defaultdict(list)
    for each in struck:
        by_node[each.node].append(each)
    found = []
    for id, more in sink.again.items():
        seen = sorted([sink.first[id], *more])
        excused = sum(any(one.excuses(s) for one in by_node[s.where]) for s in seen)
        found.append(Repeat(sink.name, id, seen, min(excused, len(seen) - 1)))
    return found


def lost(stream: Stream, sink: Sink, *, acknowledged: bool = False) -> list[int]:
    """The numbers of a stream that are owed and did not come out."""
    return [
        number
        for numbers in stream.owed(acknowledged=acknowledged)
        for number in numbers
        if stream.id_of(number) not in sink.first
    ]
