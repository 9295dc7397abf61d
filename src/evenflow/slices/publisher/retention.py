"""What a publisher published and nobody has committed yet (upstream backup).

It keeps the samples in the order of their serial numbers, and for each slice the *floor*
(everything up to it is committed) and the newest number. All retained items are the numbers
``floor + 1 .. newest`` of each slice, without a hole: that is what makes replay able to close any
gap. A sample is kept whole until all its items are committed, because samples are never encoded
anew; whoever gets it again drops the items up to the floor.

A sample holds items of many slices, which are committed one by one. Whether it may be forgotten is
therefore looked for: at the oldest samples with each commit, and at all of them as soon as enough
was committed to pay for the look. What is committed as a whole epoch needs no look.

Bytes are counted over all samples so that the publisher can bound them. Pure: no clock, no lock;
the publisher's core owns it.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from evenflow.model.messages.stream import ANY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from evenflow.model.batch import Encoded, Int64s
    from evenflow.model.sample import Sample

    Mask = npt.NDArray[np.bool_]

LOOK: Final = 32
"""How many of the oldest samples are looked at with each commit."""
SHARE: Final = 8
"""All samples are looked at when this part of their number was committed in items."""


class Retained:
    """One published sample that is not wholly committed."""

    __slots__ = ("count", "encoded", "epoch", "firsts", "lasts", "serial", "slices")

    def __init__(
        self,
        serial: int,
        epoch: int,
        encoded: Encoded,
        slices: Int64s,
        firsts: Int64s,
        lasts: Int64s,
    ) -> None:
        self.serial = serial
        self.epoch = epoch
        self.encoded = encoded
        """The sample as it was, and will again be, written."""
        self.slices = slices
        """The slices of its runs."""
        self.firsts = firsts
        self.lasts = lasts
        """The numbers of each run's first and last item."""
        self.count = int((lasts - firsts).sum()) + len(slices)

    @classmethod
    def of(cls, sample: Sample) -> Retained:
        """A sample, or a part of one, as it is written."""
        slices, firsts = sample.slices.astype(np.int64), sample.firsts.astype(np.int64)
        return cls(sample.serial, sample.epoch, sample.encoded, slices, firsts, sample.lasts)


class Lacking(NamedTuple):
    """A retained sample of which somebody lacks something."""

    retained: Retained
    wanted: Mask
    """Which of its runs."""
    floors: Int64s
    """What is committed of each slice; that changes while the sample waits to be sent."""

    @property
    def size(self) -> int:
        """About how many bytes of the sample that is."""
        return len(self.retained.encoded) * int(self.wanted.sum()) // len(self.wanted)


class Newly(NamedTuple):
    """What is committed now and was not before: numbers of slices."""

    slices: Int64s
    firsts: Int64s
    lasts: Int64s

    @property
    def items(self) -> int:
        """How many items."""
        return int((self.lasts - self.firsts).sum()) + len(self.slices)


class Retention:
    """The uncommitted samples of one writer."""

    __slots__ = (
        "_samples", "_since_look", "floors", "items", "newest", "settled_items", "settled_size",
        "size",
    )  # fmt: skip

    def __init__(self, slice_count: int) -> None:
        self._samples: dict[int, Retained] = {}
        self.floors: Int64s = np.zeros(slice_count, np.int64)
        """Of each slice everything up to this number is committed."""
        self.newest: Int64s = np.zeros(slice_count, np.int64)
        """The newest number of each slice; 0 before its first item."""
        self.items = 0
        """Items that are published and not committed, or kept all the same."""
        self.settled_items = self.settled_size = 0
        """How many of them everybody has committed, and their bytes: the history
        (:mod:`~evenflow.slices.publisher.keeping.history`)."""
        self.size = 0
        """Bytes of all retained samples."""
        self._since_look = 0

    def keep(self, sample: Retained) -> None:
        """Keep a new sample, whose items are numbered on from the newest of their slices."""
        self._samples[sample.serial] = sample
        self.newest[sample.slices] = sample.lasts
        self.items += sample.count
        self.size += len(sample.encoded)

    def restore(self, floors: Int64s, newest: Int64s, samples: Iterable[Retained]) -> None:
        """Keep what an earlier life of this writer has published, before anything new is."""
        self.floors[:], self.newest[:] = floors, newest
        self._samples = {sample.serial: sample for sample in samples}
        self.items = int((newest - floors).sum())
        self.size = sum(len(sample.encoded) for sample in self._samples.values())

    def oldest(self, otherwise: int) -> int:
        """Serial number of the oldest sample that is kept."""
        return next(iter(self._samples), otherwise)

    def serials(self) -> list[int]:
        """Serial numbers of all samples that are kept."""
        return list(self._samples)

    def has(self, serial: int) -> bool:
        """Whether a sample is still kept."""
        return serial in self._samples

    # -- commits ----------------------------------------------------------------------------------

    def commit(self, slices: Any, upto: Any) -> Newly:
        """Forget items of slices, each slice named once, up to a number.

        Returns:
            What was not committed before.
        """
        slices, upto = np.asarray(slices, np.int64), np.asarray(upto, np.int64)
        floors = self.floors[slices]
        if (upto > self.newest[slices]).any():
            raise ValueError("a commit of items that were never published")
        further = upto > floors
        newly = Newly(slices[further], floors[further] + 1, upto[further])
        self.floors[newly.slices] = newly.lasts
        self._forget(newly.items)
        return newly

    def commit_epoch(self, epoch: int) -> Newly:
        """Forget everything up to the end of an epoch; return what was not committed before."""
        old = []
        for sample in self._samples.values():
            if sample.epoch > epoch:
                break
            old.append(sample)
        before = self.floors.copy()
        for sample in old:
            # In the order of their numbers: the newest of a slice comes last.
            self.floors[sample.slices] = np.maximum(self.floors[sample.slices], sample.lasts)
            self._drop(sample)
        slices = np.flatnonzero(self.floors > before)
        newly = Newly(slices, before[slices] + 1, self.floors[slices])
        self._count_off(newly.items)
        return newly

    def settle_epoch(self, before: int, epoch: int) -> Newly:
        """Keep as history what lies behind one epoch, up to the end of another; return what."""
        first = np.full(len(self.floors), np.iinfo(np.int64).max)
        last: Int64s = np.zeros(len(self.floors), np.int64)
        for sample in reversed(self._samples.values()):
            if sample.epoch <= before:
                break
            if sample.epoch <= epoch:
                first[sample.slices] = np.minimum(first[sample.slices], sample.firsts)
                last[sample.slices] = np.maximum(last[sample.slices], sample.lasts)
                self.settled_size += len(sample.encoded)
        slices = np.flatnonzero(last)
        newly = Newly(slices, first[slices], last[slices])
        self.settled_items += newly.items
        return newly

    def let_go(self, epoch: int) -> bool:
        """Forget history up to the end of an epoch; return whether there was any."""
        before = self.size
        items = self.commit_epoch(epoch).items
        self.settled_items -= items
        self.settled_size -= before - self.size
        return items > 0

    def oldest_first(self) -> Iterable[Retained]:
        """All samples, in order; nothing may be forgotten meanwhile."""
        return self._samples.values()

    def _forget(self, committed: int) -> None:
        """Forget the samples of which all is committed, as far as a look for them pays."""
        self._since_look += committed
        if self._count_off(committed):
            return
        some: Iterable[Retained] = islice(self._samples.values(), LOOK)
        if self._since_look * SHARE >= len(self._samples):
            some = self._samples.values()
            self._since_look = 0
        for sample in [one for one in some if self._is_committed(one)]:
            self._drop(sample)

    def _count_off(self, committed: int) -> bool:
        """Count items as committed; return whether that was all there is."""
        self.items -= committed
        if not self.items:
            self._samples.clear()
            self.size = self._since_look = 0
        return not self.items

    def _is_committed(self, sample: Retained) -> bool:
        return bool((sample.lasts <= self.floors[sample.slices]).all())

    def _drop(self, sample: Retained) -> None:
        del self._samples[sample.serial]
        self.size -= len(sample.encoded)

    # -- what is kept -----------------------------------------------------------------------------

    def sample(self, serial: int) -> Retained | None:
        """A sample, if it is still kept."""
        return self._samples.get(serial)

    def uncommitted(self, slices: Any) -> int:
        """How many items of slices are not committed."""
        return int((self.newest[slices] - self.floors[slices]).sum())

    def dirty(self) -> list[int]:
        """The slices that have uncommitted items, in order."""
        found: list[int] = np.flatnonzero(self.floors < self.newest).tolist()
        return found

    def samples(self) -> list[Retained]:
        """All samples, in order."""
        return list(self._samples.values())

    def lacking(
        self, slices: Any, have: Any, until: Any = None, *, room: int = ANY, epoch: int = ANY
    ) -> list[Lacking]:
        """The samples that hold what somebody lacks who has slices up to some numbers, in order.

        Searched from the newest backwards until all is found, so that asking for little costs
        little.

        Args:
            slices: The slices.
            have: For each: what is up to this number is not lacking.
            until: For each: nor what is beyond this number; 0 for no such bound.
            room: About how many bytes to give, the oldest first; one sample at least, if not 0.
            epoch: Give nothing of later epochs.
        """
        if not room:
            return []
        slices = np.asarray(slices, np.int64)
        start = np.maximum(np.asarray(have, np.int64), self.floors[slices])
        end = self.newest[slices]
        if until is not None:
            bound = np.asarray(until, np.int64)
            end = np.where(bound > 0, np.minimum(bound, end), end)
        left = int(np.maximum(end - start, 0).sum())
        wanted_above = np.full(len(self.floors), np.iinfo(np.int64).max)
        wanted_above[slices] = start
        wanted_upto = np.zeros(len(self.floors), np.int64)
        wanted_upto[slices] = end
        found = []
        for sample in reversed(self._samples.values()):
            if left <= 0:
                break
            above = wanted_above[sample.slices]
            upto = wanted_upto[sample.slices]
            wanted = (sample.lasts > above) & (sample.firsts <= upto)
            if wanted.any():
                begin = np.maximum(sample.firsts, above + 1)[wanted]
                last = np.minimum(sample.lasts, upto)[wanted]
                left -= int((last - begin).sum()) + len(begin)
                found.append(Lacking(sample, wanted, self.floors))
        found.reverse()
        return list(_within(room, epoch, found))


def _within(room: int, epoch: int, lacking: Iterable[Lacking]) -> Iterator[Lacking]:
    """The first of them, as long as there is room and up to the end of an epoch."""
    for one in lacking:
        if room <= 0 or one.retained.epoch > epoch:
            break
        room -= one.size
        yield one
