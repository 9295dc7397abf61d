"""The brokers of a simulated cluster as processes: their connections, disks and clocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evenflow.overlay.ports import Store
from evenflow.testing.overlay.store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.overlay.broker.core import BrokerCore


WALL = 1_700_000_000_000_000_000
"""Time of day at which a run begins, in nanoseconds."""


class Disk(Store, Protocol):
    """A disk that can be full, and that forgets in a crash what was not committed."""

    @property
    def dirty(self) -> bool:
        """Whether there is something to commit."""
        ...

    def abandon(self) -> None:
        """Go back to what was committed, as a crash does."""
        ...

    def limit(self, pages: int) -> None:
        """Let the disk take no more (0), or have room again."""
        ...


@dataclass(slots=True)
class RunningBroker:
    """A broker that was started and not killed."""

    core: BrokerCore
    wanted: set[str]
    """Brokers that it keeps a connection to."""
    stopped: bool = False
    """Whether its process does not run, as after SIGSTOP."""
    dying: str = ""
    """Whether it is killed ``before`` or ``after`` its next commit."""
    sent: int = 0
    """Messages that it sent in this second."""


class Machines:
    """What brokers run on: disks that outlive them, and a wall clock each."""

    def __init__(self, disk: Callable[[str], Disk] | None) -> None:
        self._disk = disk
        self.now = 0.0
        self.skews: dict[str, float] = {}
        """Seconds by which each broker's wall clock is ahead."""
        self.stores: dict[str, Disk] = {}
        self._lost: dict[str, int] = {}
        """How many disks each broker has lost."""

    @property
    def wall(self) -> int:
        """True time of day in nanoseconds."""
        return WALL + int(self.now * 1e9)

    def wall_of(self, name: str) -> int:
        """Time of day as a broker's clock shows it."""
        return self.wall + int(self.skews.get(name, 0.0) * 1e9)

    def step_clock(self, name: str, seconds: float) -> None:
        """Set a broker's wall clock ahead, or back."""
        self.skews[name] = self.skews.get(name, 0.0) + seconds

    def open_disk(self, name: str) -> None:
        """Open the disk that a broker has now."""
        lost = self._lost.get(name, 0)
        file = f"{name}-{lost}" if lost else name
        self.stores[name] = MemoryStore() if self._disk is None else self._disk(file)

    def crash_disk(self, name: str) -> None:
        """Let a broker's disk have what was committed, and nothing else."""
        self.stores[name].abandon()
        if self._disk is not None:
            self.open_disk(name)
            self.stores[name].load()

    def lose_disk(self, name: str) -> None:
        """Give a broker that does not run an empty disk in place of its own."""
        self.stores[name].abandon()
        self._lost[name] = self._lost.get(name, 0) + 1
        self.open_disk(name)

    def fill_disk(self, name: str) -> None:
        """Let a broker's disk take no more: it ends at its next write, and writes nothing."""
        self.stores[name].limit(0)

    def free_disk(self, name: str) -> None:
        """Let a broker's disk have room again."""
        self.stores[name].limit(1 << 30)
