"""From single faults to rows: which fault is held responsible for what, and the figures of a kind.

The run is cut at the recoveries. What was published from the recovery of one fault to that of the
next belongs to the next: an item that is lost, to the fault during which it was under way; a
repeat, to the fault during which it came again. (A message of the store that is erased later than
that counts at the fault in whose time it was acknowledged.)

Pure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from evenflow_experiments.faults.books import lost, repeats, split_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenflow_experiments.faults.books import Sink, Stream, Struck
    from evenflow_experiments.faults.kinds import Fault

WRONG: Final = ("lost", "repeated", "acked_lost", "acked_repeated")
"""What must be 0."""
BEFORE: Final = "none"
"""The row of a run without faults."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a fault."""

    fault: Fault
    ended: float
    """When everything had recovered, or was given up."""
    recovered_s: float | None
    """From the heal until what was published then was through; None: not within the limit."""
    marks: Mapping[int, int]
    """For each stream the newest number that belongs to this fault."""


@dataclass(slots=True)
class Account:
    """Everything that is counted in the end."""

    streams: Mapping[int, Stream]
    """Of the publishers, by number."""
    sinks: Mapping[int, Sequence[Sink]]
    """For each stream, where it must come out."""
    stored: Mapping[int, Stream]
    """Of the store's client, by number."""
    found: Mapping[int, Sink]
    """For each of these, what was read back in the end; empty when it was not read."""
    struck: Sequence[Struck]
    """The nodes that were disturbed."""
    outcomes: Sequence[Outcome] = field(default=())


class Blame:
    """Holds faults responsible by time and by number."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self._kinds = [one.fault.kind for one in outcomes]
        self._times = [one.ended for one in outcomes]
        streams = {number for one in outcomes for number in one.marks}
        self._marks = {number: [one.marks.get(number, 0) for one in outcomes] for number in streams}

    def at(self, time: float) -> str:
        """The kind of fault that was there at a time."""
        return self._kind(bisect_left(self._times, time))

    def of(self, stream: int, number: int) -> str:
        """The kind of fault during which an item was under way."""
        return self._kind(bisect_left(self._marks.get(stream, []), number))

    def _kind(self, index: int) -> str:
        if not self._kinds:
            return BEFORE
        return self._kinds[min(index, len(self._kinds) - 1)]


def rows(account: Account) -> list[dict[str, Any]]:
    """One row for each kind of fault, in the order in which they first came."""
    blame = Blame(account.outcomes)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    _count_streams(account, blame, counts)
    _count_store(account, blame, counts)
    kinds = dict.fromkeys(one.fault.kind for one in account.outcomes) or {BEFORE: None}
    return [_row(kind, counts[kind], account.outcomes) for kind in kinds]


def _count_streams(account: Account, blame: Blame, counts: dict[str, Counter[str]]) -> None:
    for number, stream in account.streams.items():
        for owed in stream.owed():
            for item in owed:
                counts[blame.of(number, item)]["published"] += 1
        for sink in account.sinks[number]:
            for item in lost(stream, sink):
                counts[blame.of(number, item)]["lost"] += 1
    for sink in {sink.name: sink for sinks in account.sinks.values() for sink in sinks}.values():
        for repeat in repeats(sink, account.struck):
            at = counts[blame.at(repeat.seen[-1].time)]
            at["repeated"] += repeat.wrong
            at["allowed_repeats"] += repeat.allowed


def _count_store(account: Account, blame: Blame, counts: dict[str, Counter[str]]) -> None:
    for number, stream in account.stored.items():
        for owed in stream.owed(acknowledged=True):
            for item in owed:
                counts[blame.of(number, item)]["acked"] += 1
        sink = account.found.get(number)
        if sink is None:
            continue
        for item in lost(stream, sink, acknowledged=True):
            counts[blame.of(number, item)]["acked_lost"] += 1
        for repeat in repeats(sink, ()):
            kind = blame.of(*split_id(repeat.id))
            counts[kind]["acked_repeated"] += repeat.wrong


def _row(kind: str, counts: Counter[str], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    mine = [one for one in outcomes if one.fault.kind == kind]
    times = [one.recovered_s for one in mine if one.recovered_s is not None]
    return {
        "fault": kind,
        "count": len(mine),
        "published": counts["published"],
        "lost": counts["lost"],
        "repeated": counts["repeated"],
        "allowed_repeats": counts["allowed_repeats"],
        "acked": counts["acked"],
        "acked_lost": counts["acked_lost"],
        "acked_repeated": counts["acked_repeated"],
        "recovered_s_p50": round(median(times), 2) if times else None,
        "recovered_s_max": round(max(times), 2) if times else None,
    }


def wrong(found: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a row has something that must be 0."""
    return any(row[name] for row in found for name in WRONG)
