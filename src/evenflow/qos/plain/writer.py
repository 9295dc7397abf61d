"""Write a plain topic, and know how full the writer is.

``write`` returns when DDS has the sample. A full writer makes it wait, for at most ``block_s``, and
then raises `WriterFull`: the sample was not written. A writer is full when its resource limit says
so (:mod:`.holdings`; Cyclone does not heed the limit at writers), or when Cyclone itself has too
many bytes unacknowledged.

**Where the counts come from.** Samples are counted as they are written. Which of them all readers
have acknowledged is asked of Cyclone: it lets a thread wait until everything is acknowledged that
was written before the wait began. A thread of the writer does so again and again, while something
is unacknowledged, at most every 5 ms unless somebody waits for room; and whoever writes asks
whether all is acknowledged by now. So ``used`` is what is not *known* to be acknowledged: never too
low, and too high by what was written since it was asked last. Cyclone asks its readers to
acknowledge when a writer has paused for 8 ms, and otherwise when half of the bytes are out that it
allows (15 to 250 kB, it adapts). So a fast writer without pauses has samples in use whoever reads
them, and one at its limit, which pauses, gets room in about 20 ms. A writer with resource limits
is therefore *apart* (:mod:`evenflow.domain.cyclone`), where a pause of 1.6 ms is enough, and what
the controller reads is what *stays* in use (:mod:`.standing`). Cyclone's debug monitor has the same
number and is not used: its socket listens on all interfaces.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any, Final

from evenflow.closing import Closing
from evenflow.domain.cyclone import Apart, Participant
from evenflow.domain.typed import Quality, TypedWriter
from evenflow.errors import ClosedError, WriterFull
from evenflow.qos.plain.holdings import Holdings
from evenflow.qos.plain.standing import Standing
from evenflow.qos.use import Use

if TYPE_CHECKING:
    from collections.abc import Hashable

    from evenflow.qos.plain.topic import PlainTopic

PAUSE_S: Final = 0.005
"""Between two rounds of asking what is acknowledged."""
_ROUND_S: Final = 0.5
_FAREWELL_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class WriterStats:
    """What a writer has done."""

    written: int
    """Samples written."""
    rejected: int
    """Samples that were not written because the writer was full for ``block_s``."""
    blocked_s: float
    """Time that writing threads have waited for room, all together."""
    longest_block_s: float
    """The longest of these waits."""


class PlainWriter(Closing):
    """Writes one plain topic. Any thread may write.

    Args:
        domain: The process's participant (``evenflow.domain.enter``).
        topic: What to write.
        name: What the writer is called where its use is told; the topic's name unless given.
        block_s: How long ``write`` waits for room.
    """

    def __init__(
        self, domain: Participant, topic: PlainTopic, *, name: str = "", block_s: float = 0.1
    ) -> None:
        self.topic = topic
        self.name = name or topic.name
        self._domain = domain
        self._block_s = block_s
        apart = topic.bounded
        self._place = Participant(domain.config, apart=Apart.WRITERS) if apart else domain
        self._writer = TypedWriter(self._place, topic.name, topic.type, quality_of(topic))
        self._holdings = Holdings(topic.policies, durable=topic.durable)
        self._standing = Standing(time.monotonic())
        self._changed = Condition()
        self._waiting = 0
        self._rejected = 0
        self._blocked_s = 0.0
        self._longest_s = 0.0
        self._closed = False
        self._asking = Thread(
            target=self._ask_for_acknowledgements, name=f"{self.name}: acknowledged", daemon=True
        )
        domain.host(self)
        self._asking.start()

    def write(self, sample: Any) -> None:
        """Write a sample of the topic's type.

        Raises:
            WriterFull: There was no room for it within ``block_s``; it was not written.
            TypeError: It is of another type.
        """
        if not isinstance(sample, self.topic.type):
            expected = self.topic.type.__name__
            raise TypeError(f"{self.topic.name!r} takes {expected}, not {type(sample).__name__}")
        instance = self.topic.instance_of(sample)
        with self._changed:
            if not self._try(sample, instance):
                self._wait_and_write(sample, instance)

    def _try(self, sample: Any, instance: Hashable) -> bool:
        if self._closed:
            raise ClosedError(f"writer of {self.topic.name!r}")
        if self._holdings.used and self._writer.wait_acked(0.0):
            self._acknowledged(self._holdings.written)
        if not self._holdings.has_room(instance) or not self._writer.write(sample):
            return False
        self._holdings.wrote(instance)
        if self._holdings.used == 1:
            self._changed.notify_all()
        return True

    def _wait_and_write(self, sample: Any, instance: Hashable) -> None:
        start = time.monotonic()
        self._waiting += 1
        self._changed.notify_all()
        try:
            written = False
            while not written and (left := start + self._block_s - time.monotonic()) > 0:
                self._changed.wait(left)
                written = self._try(sample, instance)
        finally:
            self._waiting -= 1
            waited = time.monotonic() - start
            self._blocked_s += waited
            self._longest_s = max(self._longest_s, waited)
        if not written:
            self._rejected += 1
            limit = self.topic.policies.max_samples
            raise WriterFull(self.topic.name, waited, self._holdings.used, limit)

    def _ask_for_acknowledgements(self) -> None:
        while not self._closed:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._holdings.used)
                newest = self._holdings.written
            acknowledged = self._writer.wait_acked(_ROUND_S)
            with self._changed:
                if acknowledged:
                    self._acknowledged(newest)
                    self._changed.notify_all()
                self._changed.wait_for(lambda: self._closed or self._waiting, PAUSE_S)

    def _acknowledged(self, newest: int) -> None:
        self._holdings.acknowledged(newest)
        self._standing.acknowledged(self._holdings.used, time.monotonic())

    def use(self) -> Use:
        """How full the writer is now. A closed one has no limits."""
        with self._changed:
            return self._use(self._holdings.used, self._holdings.kept)

    def standing(self) -> Use:
        """How full the writer stays, whatever is acknowledged: what the controller reads."""
        with self._changed:
            used = self._standing.of(self._holdings.used, time.monotonic())
            kept = self._holdings.kept
            # Without durability the history holds what is in use, and nothing else.
            return self._use(used, kept if self.topic.durable else min(kept, used))

    def _use(self, used: int, kept: int) -> Use:
        if self._closed:
            return Use(self.name, 0, 0, 0, 0)
        limit = self.topic.policies.max_samples
        return Use(self.name, used, limit, kept, self._holdings.kept_most)

    @property
    def stats(self) -> WriterStats:
        """What the writer has done so far."""
        with self._changed:
            return WriterStats(
                self._holdings.written, self._rejected, self._blocked_s, self._longest_s
            )

    def matched(self) -> int:
        """How many readers there are."""
        return self._writer.matched()

    def wait_acknowledged(self, timeout_s: float) -> bool:
        """Wait until all readers have everything; return whether they have."""
        return self._writer.wait_acked(timeout_s)

    def close(self) -> None:
        """Wait a moment for the readers to have everything, and leave."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
        self._writer.wait_acked(_FAREWELL_S)
        self._asking.join()
        self._writer.close()
        self._domain.dismiss(self)
        if self._place is not self._domain:
            self._place.close()


def quality_of(topic: PlainTopic) -> Quality:
    """The policies of a plain topic, as the domain takes them."""
    policies = topic.policies
    return Quality(
        reliable=topic.reliable,
        durable=topic.durable,
        depth=policies.depth,
        deadline_s=policies.deadline_s,
        latency_budget_s=policies.latency_budget_s,
        lifespan_s=policies.lifespan_s,
        max_samples=policies.max_samples,
        max_instances=policies.max_instances,
        max_samples_per_instance=policies.max_samples_per_instance,
    )
