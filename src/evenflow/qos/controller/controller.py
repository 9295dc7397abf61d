"""The adaptive controller (QoS adaptation, Algorithm 1), and what goes beyond it.

An observation is how full every writer is. The mean over the writers above the performance ratio
is an overload. In overload the load level is chosen (:mod:`.load_levels`), and the separation is
``level * (largest separation / K)``, if that goes with the deadline and the other policies.

Beyond the paper, each with a switch (:class:`~.settings.ControllerSettings`): a separation that
does not go with the policies becomes the largest that does; hysteresis; the way back to full rate;
parameters that tune themselves.

A point of the clustering is (samples managed, samples kept) of all writers together, in units of
their limits together, so that neither counter outweighs the other by its size. Where only one of
the two has a limit it stands for both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenflow.qos.consistency import largest_separation
from evenflow.qos.controller.holding import Hold
from evenflow.qos.controller.load_levels import LoadLevels
from evenflow.qos.controller.settings import Clustered
from evenflow.qos.controller.tuning import TunedLevels, TunedRatio, TunedSeparation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.qos.controller.load_levels import Point
    from evenflow.qos.controller.settings import ControllerSettings
    from evenflow.qos.use import Use

ROUNDING: Final = 1e-9
"""A separation is a level's, whatever was lost by rounding."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the controller wants from now on."""

    performance: float
    """The mean use over all writers; 0 without writers."""
    overloaded: bool
    """Whether that is an overload."""
    level: int
    """The load level that the separation is for, 1 to K; 0: not thinned."""
    separation_s: float
    """Two samples of an instance are to be at least so far apart; 0: all pass."""


class Controller:
    """Turns observations into separations. Time and memory of a decision are constant."""

    def __init__(self, settings: ControllerSettings) -> None:
        self.settings = settings
        self.switches = 0
        """How often the separation was changed."""
        self.load_levels = LoadLevels(
            first_centres(settings), settings.forgetting, settings.resolution
        )
        self._hold = Hold(settings.calm_s, settings.margin)
        self._tuned_ratio = TunedRatio(settings.performance_ratio)
        self._tuned_levels = TunedLevels(settings.levels)
        self._tuned_separation = TunedSeparation(settings.separation_most_s, settings.calm_s)
        self._largest_s = largest_separation(settings.policies)
        self._overloaded = False
        self._level = 0
        self._separation_s = 0.0

    @property
    def performance_ratio(self) -> float:
        """PR as it is now."""
        return self._tuned_ratio.ratio

    @property
    def levels(self) -> int:
        """K as it is now."""
        return self._tuned_levels.levels

    @property
    def separation_most_s(self) -> float:
        """The separation of level K as it is now."""
        return self._tuned_separation.most_s

    def resume(self, separation_s: float, now: float) -> None:
        """Go on from a separation that another controller has set; at most from the largest."""
        step = self.separation_most_s / self.levels
        level = min(math.ceil(separation_s / step - ROUNDING), self.levels)
        self._hold.begin(level, now)
        self._apply(level)

    def observe(self, uses: Sequence[Use], now: float) -> Decision:
        """Take how full the writers are, and decide; one that has no limit is never full."""
        uses = [use for use in uses if use.used_most or use.kept_most]
        performance = sum(use.ratio for use in uses) / len(uses) if uses else 0.0
        self._overloaded = self._is_overload(performance)
        learned = self._learn(uses)
        self._tune(performance, now)
        calm = 0 if self.settings.returns else self._level
        wanted = learned if self._overloaded else calm
        if self.settings.holds:
            most = self.levels if self._overloaded else None
            wanted = self._hold.follow(wanted, now, performance, most)
        self._apply(wanted)
        return Decision(performance, self._overloaded, self._level, self._separation_s)

    def _is_overload(self, performance: float) -> bool:
        bound = self.performance_ratio
        if self.settings.holds and self._overloaded:
            bound -= self.settings.margin
        return performance > bound

    def _learn(self, uses: Sequence[Use]) -> int:
        """Learn the load; return its level, 0 when there is nothing to learn from."""
        everything = self.settings.clustered is Clustered.EVERYTHING
        if not uses or not (self._overloaded or everything):
            return 0
        level = self.load_levels.learn(point_of(uses))
        if self.settings.tunes_levels:
            self._tuned_levels.note(level, known=self.load_levels.known)
            self.load_levels.resize(self.levels)
            self._hold.limit(self.levels)
        return min(level, self.levels)

    def _tune(self, performance: float, now: float) -> None:
        if self.settings.tunes_ratio and not self._overloaded and not self._level:
            self._tuned_ratio.note_normal(performance)
        if self.settings.tunes_separation:
            self._tuned_separation.note(overloaded=self._overloaded, now=now)

    def _apply(self, level: int) -> None:
        wanted = min(level * (self.separation_most_s / self.levels), self.separation_most_s)
        if wanted > self._largest_s:
            if not self.settings.fits:
                return
            wanted = self._largest_s
        self._level = level
        if wanted != self._separation_s:
            self.switches += 1
            self._separation_s = wanted


def point_of(uses: Sequence[Use]) -> Point:
    """All writers together: what they use and keep, in units of what they may."""
    used = used_most = kept = kept_most = 0
    for use in uses:
        if use.used_most:
            used += use.used
            used_most += use.used_most
        if use.kept_most:
            kept += use.kept
            kept_most += use.kept_most
    both = [part / most for part, most in ((used, used_most), (kept, kept_most)) if most]
    # The part without a limit does not count, and must not look empty beside the other.
    return both[0], both[-1]


def first_centres(settings: ControllerSettings) -> list[Point]:
    """The levels before anything is known: even steps of the range that is clustered."""
    overload_only = settings.clustered is Clustered.OVERLOAD
    least = settings.performance_ratio if overload_only else 0.0
    step = (1.0 - least) / settings.levels
    middles = [least + (number + 0.5) * step for number in range(settings.levels)]
    return [(middle, middle) for middle in middles]
