"""Has the system recovered? What is still behind, in words.

Recovered is: the first items that each publisher published after the heal came out everywhere they
must, and each topic of the store acknowledged a message that was sent after the heal, with all
copies of everything made. The items of a probe are more than there are slices, and follow one
another, so every slice has one. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenflow_experiments.faults.books import Sink, Stream

PROBE: Final = 30
"""Items of each stream that must be through."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What must be through, as of a moment."""

    since: float
    marks: Mapping[int, int]
    """The newest number that each stream had tried then."""

    @classmethod
    def begin(cls, now: float, streams: Mapping[int, Stream]) -> Probe:
        """From now on."""
        return cls(now, {number: stream.tried for number, stream in streams.items()})

    def ends(self, streams: Mapping[int, Stream]) -> dict[int, int]:
        """The newest number of each stream that is known to be through once nobody is behind."""
        return {
            number: mark + PROBE if number in streams else mark
            for number, mark in self.marks.items()
        }

    def behind(
        self, streams: Mapping[int, Stream], sinks: Mapping[int, Sequence[Sink]]
    ) -> dict[str, str]:
        """Which streams are not through: publisher's or sink's name, and what lacks."""
        found = {}
        for number, stream in streams.items():
            first, last = self.marks[number] + 1, self.marks[number] + PROBE
            if stream.accepted < last:
                found[f"stream {number}"] = (
                    f"{max(0, stream.accepted - first + 1)} of {PROBE} accepted"
                )
                continue
            owed = [
                stream.id_of(item)
                for numbers in stream.owed()
                for item in range(max(first, numbers.start), min(last + 1, numbers.stop))
            ]
            for sink in sinks[number]:
                lacking = len(sink.lacks(owed))
                if lacking:
                    found[sink.name] = f"{lacking} of {len(owed)} of stream {number} are not there"
        return found

    def store_behind(self, stored: Mapping[int, Stream], settled: float) -> dict[str, str]:
        """What the store has not done yet."""
        waiting = [number for number, stream in stored.items() if stream.safe <= self.marks[number]]
        found = {}
        if waiting:
            found["store"] = f"nothing acknowledged in the streams {waiting}"
        elif stored and settled <= self.since:
            found["store"] = (
                "not every topic has all its copies, or brokers do not know one another"
            )
        return found
