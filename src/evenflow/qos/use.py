"""How full a writer is: what the monitor tells and the controller reads.

The paper's two counters (QoS adaptation, Algorithm 1): samples that a writer manages against its
resource limit, and samples that it keeps against its history depth. A plain writer has both. The
channels of sliced topics keep all and have no resource limit, so two others stand in: what the
publisher retains against its bound, and what waits at a node against the node's cache.

A limit of 0 means that there is none; the part without a limit does not count.
"""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.errors import UsageError


@dataclass(frozen=True, slots=True)
class Use:
    """How full one writer is, or what stands in for it on a sliced topic."""

    name: str
    """Whose use it is."""
    used: int
    """Samples that the writer manages; sliced: bytes that the publisher retains."""
    used_most: int
    """Its resource limit; 0: there is none."""
    kept: int
    """Samples in its history; sliced: what waits at a node."""
    kept_most: int
    """Its history depth; sliced: the node's cache; 0: there is none."""

    def __post_init__(self) -> None:
        if self.used < 0 or self.used_most < 0 or self.kept < 0 or self.kept_most < 0:
            raise UsageError(f"the use of {self.name!r} has a number below 0: {self}")

    @property
    def ratio(self) -> float:
        """The mean of the parts that have a limit; 0 where there is none."""
        if self.used_most and self.kept_most:
            return (self.used / self.used_most + self.kept / self.kept_most) / 2
        if self.used_most:
            return self.used / self.used_most
        return self.kept / self.kept_most if self.kept_most else 0.0
