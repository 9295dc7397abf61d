"""What the controller is told: the three parameters of Algorithm 1, and what goes beyond it.

`ControllerSettings.algorithm_1` is the paper's algorithm to the letter; each part beyond it has a
switch of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from evenflow.errors import UsageError
from evenflow.qos.consistency import Policies, problems

MOST_LEVELS: Final = 32


class Clustered(Enum):
    """Which observations the levels are learned from. The paper says both."""

    EVERYTHING = "everything"
    """All of them, as its text has it: level 1 is the lightest load there is."""
    OVERLOAD = "overload"
    """Those in overload, as its algorithm has it: level 1 is the lightest overload."""


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """Parameters and switches."""

    performance_ratio: float = 0.8
    """PR: overload is a mean use above it."""
    levels: int = 4
    """K: how many load levels there are."""
    separation_most_s: float = 1.0
    """The separation of level K."""
    policies: Policies = field(default_factory=Policies)
    """What a separation must go with, the deadline above all."""
    clustered: Clustered = Clustered.OVERLOAD
    """Which observations the levels are learned from."""
    forgetting: float = 0.2
    """Share of the way that the centre of a level moves to an observation."""
    resolution: float = 0.03
    """Loads whose difference is below this share of their sum are the same load, with noise."""
    fits: bool = True
    """A separation that the policies forbid becomes the largest they allow; else it is skipped."""
    holds: bool = True
    """Hysteresis: `margin` between entering overload and leaving it; a level falls when it was not
    asked for during `calm_s`."""
    margin: float = 0.05
    """Overload ends below ``performance_ratio - margin``."""
    calm_s: float = 5.0
    """How long a level is held that is no longer asked for."""
    returns: bool = True
    """The separation goes back to 0 when the load is gone."""
    tunes_ratio: bool = False
    """PR follows what is normal for the writers."""
    tunes_levels: bool = False
    """K follows the number of loads that differ and the number of switches."""
    tunes_separation: bool = False
    """The largest separation grows while level K does not end an overload."""

    def __post_init__(self) -> None:
        faults = [*self._faults(), *problems(self.policies)]
        if faults:
            raise UsageError("controller: " + "; ".join(faults))

    @classmethod
    def algorithm_1(
        cls, performance_ratio: float, levels: int, separation_most_s: float,
        deadline_s: float = math.inf,
    ) -> ControllerSettings:  # fmt: skip
        """The paper's algorithm to the letter."""
        return cls(
            performance_ratio, levels, separation_most_s, Policies(deadline_s=deadline_s),
            fits=False, holds=False, returns=False,
        )  # fmt: skip

    def _faults(self) -> list[str]:
        checks = {
            "performance_ratio is above 0 and at most 1": 0.0 < self.performance_ratio <= 1.0,
            f"levels is 1 to {MOST_LEVELS}": 1 <= self.levels <= MOST_LEVELS,
            "separation_most_s is above 0 and finite": 0.0 < self.separation_most_s < math.inf,
            "forgetting is above 0 and below 1": 0.0 < self.forgetting < 1.0,
            "resolution is 0 or more and below 1": 0.0 <= self.resolution < 1.0,
            "margin is 0 or more and below performance_ratio": (
                0.0 <= self.margin < self.performance_ratio
            ),
            "calm_s is 0 or more and finite": 0.0 <= self.calm_s < math.inf,
        }
        return [rule for rule, holds in checks.items() if not holds]
