"""The entries of commits and replay requests as columns, those left out that make no sense."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenflow.model.messages import Commit, ReplayRequest

if TYPE_CHECKING:
    import numpy.typing as npt

    from evenflow.model.batch import Int64s


class Entries(NamedTuple):
    """Slices, each once, with the term of ownership and a number."""

    slices: Int64s
    terms: npt.NDArray[np.uint64]
    numbers: Int64s
    until: Int64s
    """Of a request: the last number that is asked for; 0 for all."""

    def where(self, mask: npt.NDArray[np.bool_]) -> Entries:
        """The entries for which this holds."""
        return Entries(self.slices[mask], self.terms[mask], self.numbers[mask], self.until[mask])


def is_even(message: Commit | ReplayRequest) -> bool:
    """Whether the columns of a message are equally long."""
    until = () if isinstance(message, Commit) else message.until
    lengths = {len(message.slices), len(message.terms), len(_numbers(message))}
    return len(lengths | ({len(until)} if until else set())) == 1


def entries_of(message: Commit | ReplayRequest, slice_count: int) -> Entries:
    """The entries about slices that exist; of a slice that is named twice, the first one.

    Numbers beyond all that can be are cut to the largest that can.
    """
    slices = np.array(message.slices, np.int64)
    _, once = np.unique(slices, return_index=True)
    sound = np.zeros(len(slices), np.bool_)
    sound[once] = True
    sound &= slices < slice_count
    numbers = np.minimum(np.array(_numbers(message), np.uint64), np.uint64((1 << 63) - 1))
    terms = np.array(message.terms, np.uint64)
    asked = () if isinstance(message, Commit) else message.until
    until = np.minimum(np.array(asked or (0,) * len(slices), np.uint64), np.uint64((1 << 63) - 1))
    return Entries(slices, terms, numbers.astype(np.int64), until.astype(np.int64)).where(sound)


def _numbers(message: Commit | ReplayRequest) -> tuple[int, ...]:
    return message.upto if isinstance(message, Commit) else message.have
