"""What an operator may set of a balancer, as its core wants it."""

from __future__ import annotations

from dataclasses import dataclass, field

from evenflow.model.load import LoadWeights


@dataclass(frozen=True, slots=True)
class BalancerSettings:
    """What an operator may set; seconds."""

    beat_every: float = 0.2
    settle: float = 1.0
    deadline: float = 5.0
    """For each step of a session."""
    retry: float = 0.25
    silence: float = 5.0
    """A node whose reports stay away this long counts as dead, whatever DDS says of it."""
    map_every: float = 1.0
    join_after: float = 0.5
    """A new node gets this long to find the publishers before slices are moved to it, and a move
    that failed is not planned again before."""
    settled_within: float = 3.0
    """How long a receipt waits for the taker to say what had to be replayed."""
    season: float = 0.0
    """Length of the season of loads, 0 for none."""
    weights: LoadWeights = field(default_factory=LoadWeights)
    """What makes up the load of a slice."""
