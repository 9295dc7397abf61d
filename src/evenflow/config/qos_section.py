"""What the adaptive quality of service is told; whether it may thin a topic, the topic says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenflow.config.section import Section, integer, number, text, yes_or_no
from evenflow.errors import ConfigError


@dataclass(frozen=True, slots=True)
class QosConfig(Section):
    """``[qos]``: when topics are thinned, and how far."""

    table: ClassVar[str] = "qos"

    performance_ratio: float = number(0.8, 0.01, 1.0)
    """Overload is a mean use of all writers of a topic above this."""
    levels: int = integer(4, 1, 32)
    """Load levels, each with its separation."""
    separation_most_s: float = number(1.0, 0.001, 3_600.0)
    """The separation of the heaviest level: of each sender one item in so many seconds."""
    report_s: float = number(0.5, 0.05, 60.0)
    """How often a process tells how full its writers are, when that has changed."""
    period_s: float = number(1.0, 0.05, 60.0)
    """How often the controller decides."""
    lease_s: float = number(60.0, 0.5, 86_400.0)
    """So long a separation stays without a word of the controller; then full rate returns."""
    clustered: str = text("overload", "overload|everything", "'overload' or 'everything'")
    """Which observations levels are learned from: those in overload, or all."""
    forgetting: float = number(0.2, 0.001, 0.999)
    """How fast levels follow a load that changes; 1: at once."""
    resolution: float = number(0.03, 0.0, 0.99)
    """Loads whose difference is below this share of their sum are the same load, with noise."""
    fits: bool = yes_or_no(True)  # noqa: FBT003
    """A separation that the deadline forbids becomes the largest that it allows; else no change."""
    holds: bool = yes_or_no(True)  # noqa: FBT003
    """Hysteresis: overload ends ``margin`` lower than it begins; a level falls after ``calm_s``."""
    margin: float = number(0.05, 0.0, 0.99)
    calm_s: float = number(5.0, 0.0, 3_600.0)
    returns: bool = yes_or_no(True)  # noqa: FBT003
    """Full rate returns when the load is gone."""
    tunes_ratio: bool = yes_or_no(False)  # noqa: FBT003
    """The performance ratio follows what is normal for the writers."""
    tunes_levels: bool = yes_or_no(False)  # noqa: FBT003
    """The number of levels follows the loads that differ."""
    tunes_separation: bool = yes_or_no(False)  # noqa: FBT003
    """The largest separation grows while the heaviest level does not end an overload."""

    def __post_init__(self) -> None:
        """Refuse values that are fine alone but not together."""
        super(QosConfig, self).__post_init__()
        if self.margin >= self.performance_ratio:
            allowed = f"must be below qos.performance_ratio = {self.performance_ratio:g}"
            raise ConfigError(self.key("margin"), self.margin, allowed)
        if self.lease_s < 3 * self.period_s:
            allowed = f"must be at least {3 * self.period_s:g}, three periods (qos.period_s)"
            raise ConfigError(self.key("lease_s"), self.lease_s, allowed)
