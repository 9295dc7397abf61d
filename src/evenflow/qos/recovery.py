"""Events that a reader misses while it is away (QoS adaptation, equations 3 and 4).

Events are published at random times with the rate ``lambda_pub``; a reader that has lost its
connection is back after a random time, with the rate ``lambda_recov``; both times are exponential.
Each next thing is an event with the probability ``r = lambda_pub / (lambda_pub + lambda_recov)``,
else the return. So the number of events meanwhile is geometric::

    P(i) = r**i * (1 - r)                                       (3)

A writer that keeps NL of them gives those to the reader when it is back. The others are missed::

    E(missed) = sum over i > NL of (i - NL) * P(i) = r**NL * lambda_pub / lambda_recov     (4)

The paper prints the exponent of (3) as t, and the base of (4) as ``1 - r``; with that base more
storage would not help a fast publisher, and no storage at all would give the right value.
"""

from __future__ import annotations

import math

from evenflow.errors import UsageError


def expected_missed(lambda_pub: float, lambda_recov: float, kept: int) -> float:
    """Events that a reader misses on average each time it was away (equation 4).

    Args:
        lambda_pub: Events a second.
        lambda_recov: One over the mean time that a reader is away, in seconds.
        kept: Events that the writer keeps for it (NL): its history depth.
    """
    ratio = _ratio(lambda_pub, lambda_recov)
    if kept < 0:
        raise UsageError(f"a writer keeps 0 events or more: {kept}")
    return float(ratio**kept * lambda_pub / lambda_recov)


def depth_for(lambda_pub: float, lambda_recov: float, most_missed: float) -> int:
    """The least history depth with which at most so many events are missed on average."""
    ratio = _ratio(lambda_pub, lambda_recov)
    if not most_missed > 0.0:
        raise UsageError(f"no depth misses nothing for sure: {most_missed} must be above 0")
    depth = math.log(most_missed * lambda_recov / lambda_pub) / math.log(ratio)
    return max(0, math.ceil(depth - 1e-9))


def _ratio(lambda_pub: float, lambda_recov: float) -> float:
    if not (0.0 < lambda_pub < math.inf and 0.0 < lambda_recov < math.inf):
        raise UsageError(f"rates are above 0 and finite: {lambda_pub}, {lambda_recov}")
    return lambda_pub / (lambda_pub + lambda_recov)
