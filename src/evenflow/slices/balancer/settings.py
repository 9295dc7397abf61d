"""What an operator may set of a balancer, in the units of the core, and what only tests change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evenflow.config import BalancerConfig
from evenflow.model.load import LoadWeights

if TYPE_CHECKING:
    from typing import Self

_DEFAULT: Final = BalancerConfig()
QUIET_BEATS: Final = 5
"""A balancer that leads is heard within this many beats."""


@dataclass(frozen=True, slots=True)
class BalancerSettings:
    """Seconds, items, parts of one."""

    beat_every: float = _DEFAULT.beat_ms / 1000
    settle: float = _DEFAULT.settle_s
    deadline: float = _DEFAULT.step_deadline_s
    """For each step of a session."""
    retry: float = 0.25
    """An order that is not answered is repeated after this time, then after twice as long."""
    quiet: float = 1.0
    """A standby leads when it has heard of nobody who does for this long."""
    stall: float = 2.0
    """A balancer that did not run for this long stands by: others may lead by now."""
    silence: float = 5.0
    """A node whose reports stay away this long counts as dead, whatever DDS says of it."""
    map_every: float = 1.0
    """A page of the map is repeated so long after it changed; and one of all pages so often."""
    join_after: float = 0.5
    """A new node gets this long to find the publishers before slices are moved to it."""
    settled_within: float = 3.0
    """How long a receipt waits for the taker to say what had to be replayed."""
    season: float = _DEFAULT.season_s
    """Length of the season of loads, 0 for none."""
    quiet_items: float = _DEFAULT.quiet_items
    """Items a second that are hardly anything for a node."""
    quiet_busy: float = _DEFAULT.quiet_busy / 100
    """Seconds of work a second that are hardly anything for a node."""
    weights: LoadWeights = field(default_factory=LoadWeights)
    """What makes up the load of a slice."""

    @classmethod
    def from_config(cls, config: BalancerConfig) -> Self:
        """The settings that a configuration asks for."""
        return cls(
            beat_every=config.beat_ms / 1000,
            settle=config.settle_s,
            quiet=max(1.0, QUIET_BEATS * config.beat_ms / 1000),
            deadline=config.step_deadline_s,
            season=config.season_s,
            quiet_items=config.quiet_items,
            quiet_busy=config.quiet_busy / 100,
            weights=load_weights(config),
        )


def load_weights(config: BalancerConfig) -> LoadWeights:
    """What makes up the load of a slice."""
    return LoadWeights(config.item_weight, config.byte_weight, config.busy_weight)
