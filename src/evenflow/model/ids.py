"""Who is who, and how far: writers, nodes, and positions in the stream of a topic.

Messages carry writers as plain numbers and nodes as plain text, because that is what DDS carries.
The classes here are the same values with their form and their rules: wrap one when its parts or its
text are wanted.

A :class:`Position` is how far somebody is in a topic, as an offset is in Kafka: for each writer the
newest epoch of which everything counts. All consumers, nodes and archives speak of positions, and
what lies between two of them, ``(start, end]``, is the same for everyone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from evenflow.errors import DecodeError
from evenflow.model.checked_json import CheckedJson, Whole, WriterText, encode_json, fits

_WRITER: Final = re.compile(r"[0-9a-f]{16}")
_RUN: Final = "~"
_JSON: Final = CheckedJson("position", dict[WriterText, Whole])


class WriterId(int):
    """A publisher's writer: 64 random bits, new for each run. As text: 16 hexadecimal digits."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> WriterId:
        """Read an id; `DecodeError` when it is none."""
        if not _WRITER.fullmatch(text):
            raise DecodeError(f"writer {text!r}: must be 16 hexadecimal digits")
        return cls(text, 16)

    @staticmethod
    def text(writer: int) -> str:
        """A writer's text, for those who have many of them as numbers."""
        return f"{writer:016x}"

    def __str__(self) -> str:
        return self.text(int(self))

    def __repr__(self) -> str:
        return f"WriterId({self})"


class NodeId(str):
    """A node's id, ``name~run``: its name, and a number that is new for each run of it."""

    __slots__ = ()

    @classmethod
    def of(cls, name: str, run: str) -> NodeId:
        """The id of a run."""
        return cls(f"{name}{_RUN}{run}")

    @property
    def name(self) -> str:
        """The name, the same in every run; all of the id when no run is named."""
        return self.partition(_RUN)[0]

    @property
    def run(self) -> str:
        """What tells this run from others; empty when the id is a bare name."""
        return self.partition(_RUN)[2]


class Position(Mapping[int, int]):
    """For each writer, the newest epoch up to which everything counts. Does not change.

    A writer that is not named is at epoch 0: ``position[writer]`` has an answer for all of them,
    and naming one at 0 says nothing. As text, and so as a key in any store, it is JSON with its
    writers in order: equal positions have equal texts.
    """

    __slots__ = ("_epochs",)

    def __init__(self, epochs: Mapping[int, int] | Iterable[tuple[int, int]] = ()) -> None:
        self._epochs = {writer: epoch for writer, epoch in dict(epochs).items() if epoch}

    # -- as a mapping -----------------------------------------------------------------------------

    def __getitem__(self, writer: int) -> int:
        return self._epochs.get(writer, 0)

    def __contains__(self, writer: object) -> bool:
        return writer in self._epochs

    def __iter__(self) -> Iterator[int]:
        return iter(self._epochs)

    def __len__(self) -> int:
        return len(self._epochs)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Position):
            return self._epochs == other._epochs
        return isinstance(other, Mapping) and self._epochs == Position(other)._epochs

    def __hash__(self) -> int:
        return hash(frozenset(self._epochs.items()))

    # -- rules ------------------------------------------------------------------------------------

    def covers(self, other: Mapping[int, int]) -> bool:
        """Whether nothing of the other lies beyond this one."""
        mine = self._epochs
        return all(epoch <= mine.get(writer, 0) for writer, epoch in other.items())

    def merged(self, other: Mapping[int, int]) -> Position:
        """The further of the two, for each writer."""
        found = dict(self._epochs)
        for writer, epoch in other.items():
            if epoch > found.get(writer, 0):
                found[writer] = epoch
        return Position(found)

    def capped(self, most: Mapping[int, int]) -> Position:
        """This one, but for no writer further than another."""
        return Position({w: min(epoch, most.get(w, 0)) for w, epoch in self._epochs.items()})

    def without(self, writers: Iterable[int]) -> Position:
        """This one, as if it had never heard of some writers."""
        left_out = set(writers)
        return Position({w: epoch for w, epoch in self._epochs.items() if w not in left_out})

    def epochs_behind(self, ahead: Mapping[int, int]) -> int:
        """By how many epochs the writer that is furthest ahead of this one is ahead."""
        mine = self._epochs
        return max((epoch - mine.get(w, 0) for w, epoch in ahead.items()), default=0)

    # -- forms ------------------------------------------------------------------------------------

    @classmethod
    def of(cls, writers: Iterable[int], epochs: Iterable[int]) -> Position:
        """Read the two columns of a message."""
        return cls(zip(writers, epochs, strict=True))

    def columns(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Writers and epochs, as messages carry them."""
        return tuple(self._epochs), tuple(self._epochs.values())

    def to_json(self) -> dict[str, int]:
        """Writers as text, in order: Spark compares offsets as text."""
        return dict(sorted((WriterId.text(w), epoch) for w, epoch in self._epochs.items()))

    @classmethod
    def from_json(cls, found: Any) -> Position:
        """Read what was JSON; `DecodeError` when it is no position."""
        return cls.of_texts(_JSON.convert(found))

    @classmethod
    def parse(cls, text: str | bytes) -> Position:
        """Read a position's text; `DecodeError` when it is none."""
        return cls.of_texts(_JSON.decode(text))

    @classmethod
    def of_texts(cls, found: Mapping[str, int]) -> Position:
        """Take writers as text, of which each was checked to be one."""
        return cls({int(writer, 16): fits("position", epoch) for writer, epoch in found.items()})

    def __str__(self) -> str:
        return encode_json(self.to_json()).decode()

    def __repr__(self) -> str:
        return f"Position({self})"


NOWHERE: Final = Position()
"""Before the first item of every writer."""
