"""Loss in bursts: the chain of Gilbert and Elliott (QoS adaptation, section 3, equations 1 and 2).

Two states. In the good one nothing is lost, in the bad one everything. Before each packet the state
may change: from good to bad with the probability P, from bad to good with Q. Both follow from what
can be measured, the packet loss rate and the average burst length::

    Q = 1 / ABL                          (2)
    P = PLR * Q / (1 - PLR)              (1)

In the long run the share of the bad state is P / (P + Q) = PLR. So loss in the bad state must be
certain: with the paper's "1 - H is equal to PLR" the loss rate would be PLR squared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.errors import UsageError

if TYPE_CHECKING:
    from random import Random


@dataclass(frozen=True, slots=True)
class GilbertElliott:
    """The two parameters of the chain."""

    plr: float
    """Packet loss rate: share of packets that are lost, 0 to below 1."""
    abl: float = 1.0
    """Average burst length: packets lost in a row, 1 or more."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.plr < 1.0:
            raise UsageError(f"a loss rate is 0 or more and below 1: {self.plr}")
        if not 1.0 <= self.abl < float("inf"):
            raise UsageError(f"an average burst is 1 packet or more: {self.abl}")
        if self.p > 1.0:
            least = self.plr / (1.0 - self.plr)
            raise UsageError(
                f"a loss rate of {self.plr:g} needs bursts of {least:g} packets on average: "
                f"between two bursts of {self.abl:g} there would be less than one packet"
            )

    @property
    def q(self) -> float:
        """Probability that the bad state ends (equation 2)."""
        return 1.0 / self.abl

    @property
    def p(self) -> float:
        """Probability that the good state ends (equation 1)."""
        return self.plr * self.q / (1.0 - self.plr)


class Losses:
    """Packets in a row: which are lost, and how many so far."""

    def __init__(self, model: GilbertElliott, rng: Random) -> None:
        self.packets = self.lost = self.bursts = 0
        self._leaves_good, self._leaves_bad = model.p, model.q
        self._bad = False
        self._random = rng.random

    def next_is_lost(self) -> bool:
        """Whether the next packet is lost."""
        self.packets += 1
        if self._random() < (self._leaves_bad if self._bad else self._leaves_good):
            self._bad = not self._bad
            self.bursts += self._bad
        self.lost += self._bad
        return self._bad

    @property
    def plr(self) -> float:
        """The loss rate so far."""
        return self.lost / self.packets if self.packets else 0.0

    @property
    def abl(self) -> float:
        """The average burst length so far."""
        return self.lost / self.bursts if self.bursts else 0.0
