"""What a writer manages and keeps: the paper's two counters, counted sample by sample.

*Used*: samples that were written and are not known to be acknowledged by all readers, as far as the
history still holds them. A history of depth d holds the newest d of an instance: an older one is
replaced, read or not, and is used no more.

*Kept*: samples in the history. Of a durable topic these are the newest d of each instance, for
readers to come, acknowledged or not: its history is full after d samples and stays full. Of
others a sample leaves the history when it is acknowledged.

DDS lets a resource limit block a writer (``max_samples``, ``max_samples_per_instance``) and Cyclone
does not heed it; so :meth:`Holdings.has_room` says when to wait. A sample that replaces another of
its instance needs no room.

A sample costs constant time, an acknowledgement constant time for each sample that it covers.
Memory follows what is used, and the number of instances, as in the writer itself.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable

    from evenflow.qos.consistency import Policies

_SLACK: Final = 64


@dataclass(slots=True)
class _Instance:
    unacked: deque[int] = field(default_factory=deque)
    """Numbers of its samples that are used, ascending."""
    written: int = 0


class Holdings:
    """The samples of one writer. Samples are numbered from 1."""

    def __init__(self, policies: Policies, *, durable: bool) -> None:
        self._policies = policies
        self._durable = durable
        self._instances: dict[Hashable, _Instance] = {}
        self._order: deque[tuple[int, _Instance]] = deque()
        self.written = 0
        """Samples written: the number of the newest."""
        self.used = 0
        """Samples that are not known to be acknowledged by all, and not replaced."""
        self._for_late = 0

    @property
    def kept(self) -> int:
        """Samples in the history; 0 where it has no depth."""
        if not self._policies.depth:
            return 0
        return self._for_late if self._durable else self.used

    @property
    def kept_most(self) -> int:
        """As many as the history can hold of the instances that there are; 0: without limit."""
        return self._policies.depth * max(1, len(self._instances))

    def has_room(self, instance: Hashable) -> bool:
        """Whether a sample of this instance may be written now."""
        policies = self._policies
        known = self._instances.get(instance)
        if known is None:
            if policies.max_instances and len(self._instances) >= policies.max_instances:
                return False
        elif policies.depth and len(known.unacked) >= policies.depth:
            return True
        elif 0 < policies.max_samples_per_instance <= len(known.unacked):
            return False
        return not policies.max_samples or self.used < policies.max_samples

    def wrote(self, instance: Hashable) -> None:
        """A sample of this instance was written."""
        self.written += 1
        held = self._instances.setdefault(instance, _Instance())
        depth = self._policies.depth
        if depth and len(held.unacked) >= depth:
            held.unacked.popleft()
            self.used -= 1
        held.unacked.append(self.written)
        held.written += 1
        self.used += 1
        if held.written <= depth:
            self._for_late += 1
        self._order.append((self.written, held))
        if len(self._order) > 2 * self.used + _SLACK:
            self._order = deque(entry for entry in self._order if _is_used(*entry))

    def acknowledged(self, number: int) -> None:
        """All readers have all samples up to this number."""
        while self._order and self._order[0][0] <= number:
            sample, held = self._order.popleft()
            if _is_used(sample, held):
                held.unacked.popleft()
                self.used -= 1


def _is_used(number: int, held: _Instance) -> bool:
    """Whether a sample was not replaced; numbers of an instance leave in ascending order."""
    return bool(held.unacked) and held.unacked[0] <= number
