"""Random schedules in which a broker's disk is lost, and it starts again with an empty one.

What must hold: an acknowledged message is lost only with every disk that had it in sync. So when
one disk is replaced by an empty one, while for every shelf another disk has a copy in sync, nothing
that was acknowledged is lost or comes twice, and every topic serves again when the others can be
reached; whatever else breaks meanwhile, as in `faults`. Until all has settled again, no other disk
is replaced: that one might have been the last. And most others run when a broker starts with an
empty disk: it does not know that there are others, and with a new one that does not either it would
make every topic anew.

A range of seeds by one command: ``python -m evenflow.testing.overlay.lost_disks FIRST COUNT``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from evenflow.testing.overlay.checks import spared_by
from evenflow.testing.overlay.faults import Faults, store_schedule
from evenflow.testing.seeds import run_seeds

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 3


class LostDisks(Faults):
    """One schedule: rounds of faults, each with a disk that is replaced, until all has settled."""

    replaced = False
    """Whether a disk was lost, and all has not settled since."""

    def replace(self, name: str) -> None:
        """Lose the disk of a broker, running or dead, and start it at once with an empty one."""
        cluster = self.cluster
        dead = sorted(set(cluster.stores) - set(cluster.brokers))
        if dead and self.rng.random() < 0.3:
            name = self.rng.choice(dead)
        allowed = spared_by(cluster.stores, name) and self.most_run_without(name)
        if self.replaced or not allowed:
            return
        self.replaced = True
        self.log.append(f"{cluster.now:.2f} lost {name}")
        cluster.replace_disk(name)
        cluster.start(name)

    def most_run_without(self, name: str) -> bool:
        """Say whether half of all brokers run besides one: who else would tell it of the others?"""
        brokers = self.cluster.brokers
        others = [each for other, each in brokers.items() if other != name and not each.stopped]
        return 2 * sum(each.core.joined for each in others) >= len(self.cluster.stores)

    def acts(self) -> list[Callable[[str], None]]:
        """Return what may happen: what breaks otherwise, and a disk every now and then."""
        return [*super().acts(), self.replace, self.replace, self.replace]

    def run(self, acts: int = 8) -> None:
        """Break things, replace a disk among them, and see that all is well; several times."""
        for _ in range(ROUNDS):
            super().run(acts)
            self.replaced = False


def disk_schedule(seed: int) -> None:
    """Run one schedule, every tenth on real disks."""
    store_schedule(seed, LostDisks)


if __name__ == "__main__":
    sys.exit(run_seeds(disk_schedule))
