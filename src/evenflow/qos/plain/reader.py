"""Read a plain topic, with a separation that can be changed at any time.

The separation is DDS's own filter (``time_based_filter``): of each instance, a sample passes when
its source time is at least the separation after the last that passed; the first always. What does
not pass is dropped before Python sees it. A change opens a new reader first and takes nothing
twice: see :mod:`.succession`.

A reader of a topic with resource limits can be full. It then takes no more, so its writers fill up
and slow down: that is how a slow reader is seen from afar. Cyclone lets everything wait that comes
over the same sockets; such a reader therefore has a place *apart*
(:mod:`evenflow.domain.cyclone`), and two of them in one process wait for one another.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from evenflow.closing import Closing
from evenflow.domain.cyclone import Apart, Participant
from evenflow.domain.typed import TypedReader
from evenflow.errors import ClosedError, QosError
from evenflow.qos.consistency import largest_separation
from evenflow.qos.plain.succession import Stamp, Succession
from evenflow.qos.plain.writer import quality_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenflow.domain.typed import Taken
    from evenflow.qos.plain.topic import PlainTopic

MOST_WAITING: Final = 10_000
"""So many samples may wait, outside of DDS and its limits, that changes have taken over."""


class PlainReader(Closing):
    """Reads one plain topic. One thread at a time may take; any thread may change the separation.

    Args:
        domain: The process's participant (``evenflow.domain.enter``).
        topic: What to read.
        separation_s: Least time between two samples of an instance; 0: all pass.

    Raises:
        QosError: The separation does not go with the policies, or the topic is never thinned.
    """

    def __init__(
        self, domain: Participant, topic: PlainTopic, *, separation_s: float = 0.0
    ) -> None:
        if faults := topic.problems(separation_s):
            raise QosError(topic.name, faults)
        self.topic = topic
        self._domain = domain
        apart = topic.bounded
        self._place = Participant(domain.config, apart=Apart.READERS) if apart else domain
        self._waiter = self._place.waiter()
        self._lock = Lock()
        self._succession = Succession(durable=topic.durable)
        self._waiting: deque[Any] = deque()
        self._filtered = 0
        self._changes = 0
        self._closed = False
        self._separation_s = separation_s
        self._reader = self._open(separation_s)
        domain.host(self)

    def take(self, limit: int = 512) -> list[Any]:
        """Take the samples that have arrived, at most ``limit``; each has its ``sample_info``."""
        with self._lock:
            self._check_open()
            if not self._waiting:
                self._pass_on(self._reader.take(limit), self._succession.passes)
            return [self._waiting.popleft() for _ in range(min(limit, len(self._waiting)))]

    def wait(self, timeout_s: float) -> bool:
        """Wait until there may be something to take; whether there may."""
        return bool(self._waiting) or self._waiter.wait(timeout_s)

    def set_separation(self, separation_s: float) -> None:
        """Change the separation; one that the policies do not allow becomes the largest they do.

        Raises:
            QosError: The topic is never thinned, it is no time, or too many samples wait that
                earlier changes have taken over (:data:`MOST_WAITING`).
        """
        wanted = min(separation_s, largest_separation(self.topic.policies))
        if faults := self.topic.problems(wanted):
            raise QosError(self.topic.name, faults)
        with self._lock:
            self._check_open()
            if wanted != self._separation_s:
                if len(self._waiting) >= MOST_WAITING:
                    faults = [f"{len(self._waiting)} samples wait to be taken: take them first"]
                    raise QosError(self.topic.name, faults)
                self._succeed(wanted)
        self._waiter.wake()

    def _succeed(self, separation_s: float) -> None:
        old, succession = self._reader, self._succession
        self._pass_on(old.take_all(), succession.passes)
        succession.begin()
        self._reader = self._open(separation_s)
        rest = [taken for taken in old.take_all() if taken.valid]
        self._filtered += old.filtered()
        old.close()
        brought = [taken for taken in rest if succession.from_old(self._stamp(taken))]
        self._pass_on(self._reader.take_all(), succession.passes, beside=brought)
        self._separation_s = separation_s
        self._changes += 1

    def _open(self, separation_s: float) -> TypedReader:
        topic = self.topic
        reader = TypedReader(self._place, topic.name, topic.type, quality_of(topic), separation_s)
        self._waiter.attach(reader)
        return reader

    def _pass_on(
        self,
        taken: Iterable[Taken],
        passes: Callable[[Stamp], bool],
        *,
        beside: Sequence[Taken] = (),
    ) -> None:
        passed = []
        for one in taken:
            stamp = self._stamp(one)
            if one.valid and passes(stamp):
                passed.append(one)
            if one.alone:
                self._succession.gone(stamp.instance, at_last=not one.valid)
        if beside:
            # What two readers brought is put in order again.
            passed = sorted([*passed, *beside], key=lambda one: one.time)
        self._waiting.extend(one.sample for one in passed)

    def _stamp(self, taken: Taken) -> Stamp:
        return Stamp(self.topic.instance_of(taken.sample), taken.writer, taken.time)

    @property
    def separation_s(self) -> float:
        """The separation in effect."""
        return self._separation_s

    @property
    def changes(self) -> int:
        """How often the separation was changed."""
        return self._changes

    @property
    def filtered(self) -> int:
        """Samples that the filter did not let through, over all changes."""
        with self._lock:
            return self._filtered + (0 if self._closed else self._reader.filtered())

    def matched(self) -> int:
        """How many writers there are."""
        with self._lock:
            self._check_open()
            return self._reader.matched()

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"reader of {self.topic.name!r}")

    def close(self) -> None:
        """Stop reading; a wait under way ends."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._filtered += self._reader.filtered()
        self._waiter.close()
        self._reader.close()
        self._domain.dismiss(self)
        if self._place is not self._domain:
            self._place.close()
