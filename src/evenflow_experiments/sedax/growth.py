"""Topics that grow, and the load that moves when they are balanced (section VIII, eq. 12-14).

All topics begin with load 1. Over the period D the slowest stays there and the fastest grows to
``largest``; the rates of the others lie evenly between, in the order of addition. At the end the
sizes are the paper's exponentially distributed ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evenflow.overlay.space.plane import Floats

LARGEST = 10.0
"""Load of the fastest topic at the end of the period, in the paper's experiments."""


def growth_rates(topics: int, *, largest: float = LARGEST, period: float = 1.0) -> Floats:
    """Return the growth rate of each topic, from 0 to lambda_max of eq. 12."""
    rates: Floats = np.linspace(0.0, np.log(largest) / period, topics)
    return rates


def sizes_at(rates: Floats, time: float) -> Floats:
    """Return the load of each topic at a time."""
    sizes: Floats = np.exp(rates * time)
    return sizes


def forecast(before: Floats, now: Floats, elapsed: float, horizon: float) -> Floats:
    """Return the loads ``horizon`` after now if each keeps the growth seen in ``elapsed``."""
    ahead: Floats = now * (now / before) ** (horizon / elapsed)
    return ahead


def trailing_mean(values: Floats, window: int) -> Floats:
    """Return the mean of the last ``window`` values at each step, of fewer at the beginning.

    Of V_ML, the load moved in each step (eq. 13), this is the moved load rate R_ML (eq. 14).
    """
    total = np.concatenate(([0.0], np.cumsum(values)))
    step = np.arange(1, len(values) + 1)
    begin = np.maximum(step - window, 0)
    mean: Floats = (total[step] - total[begin]) / (step - begin)
    return mean
