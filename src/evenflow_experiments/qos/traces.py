"""Loads with the level that each observation belongs to, for comparing clusterings.

Each trace is made once from a seed, so everybody who is compared sees the same observations in the
same order. Loads are shares of the limits, both counters alike but for their noise.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Point = tuple[float, float]
NOISE = 0.03


@dataclass(frozen=True, slots=True)
class Trace:
    """Loads, and their true levels."""

    name: str
    levels: int
    points: list[Point]
    truth: list[int]


def traces(length: int, levels: int = 4, seed: int = 11) -> list[Trace]:
    """All traces: steps, a drift of the whole, two changes of scale, an almost constant load."""
    makers: dict[str, Callable[[float], float]] = {
        "steps": lambda _share: 1.0,
        "drift": lambda share: 4.0 ** math.sin(2 * math.pi * share),
        "scale": lambda share: 0.1 if 1 / 3 < share < 2 / 3 else 1.0,
    }
    made = []
    for name, scale in makers.items():
        rng = random.Random(seed)
        truth = list(_dwelling(length, levels, rng))
        points = [
            _noisy(level / levels * scale(number / length), rng)
            for number, level in enumerate(truth)
        ]
        made.append(Trace(name, levels, points, truth))
    return made


def constant(length: int, load: float = 0.9, seed: int = 5) -> list[Point]:
    """A load that is the same all the time, but for noise."""
    rng = random.Random(seed)
    return [_noisy(load, rng) for _ in range(length)]


def waves(length: int, seed: int = 3) -> list[Point]:
    """A load that goes up and down smoothly, with noise: what levels can only approximate."""
    rng = random.Random(seed)
    return [
        _noisy(0.55 + 0.35 * math.sin(number / 40) * math.sin(number / 173), rng)
        for number in range(length)
    ]


def _dwelling(length: int, levels: int, rng: random.Random) -> Iterator[int]:
    """Levels, each for 1 to 6 observations."""
    level = 1
    for _ in range(length):
        if rng.random() < 0.3:
            level = rng.randint(1, levels)
        yield level


def _noisy(load: float, rng: random.Random) -> Point:
    return load * (1 + rng.uniform(-NOISE, NOISE)), load * (1 + rng.uniform(-NOISE, NOISE))
