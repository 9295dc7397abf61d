"""From the node loads of many runs to one row: mean, maximum and quantiles.

The paper takes its quantiles "from the averaged CCDF" and leaves open how. Three readings:

- ``run`` (reproduces the paper): each run's own quantile, averaged over the runs. It is read off
  the run's CCDF as the last node load that still more than the given part of the nodes exceed: of
  100 nodes the 94th smallest load is the 95 % quantile, of 10 nodes the 9th.
- ``interpolated``: the same with linear interpolation between neighbouring loads.
- ``pooled``: the quantile of all nodes of all runs together. Of fewer than 20 nodes no load is
  exceeded by more than 95 %, so the 5 % quantiles of such runs are of this kind alone, and both
  stand beside those of the reading chosen.

The mean of a figure over runs has a 95 % confidence interval by Student's distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

if TYPE_CHECKING:
    from evenflow.overlay.space.plane import Floats


class Reading(StrEnum):
    """How the quantiles of an averaged CCDF are read."""

    RUN = "run"
    INTERPOLATED = "interpolated"
    POOLED = "pooled"


@dataclass(frozen=True, slots=True)
class Summary:
    """The node loads of many runs, in percent."""

    q5: float
    mean: float
    q95: float
    max: float
    """Highest node load of a run, mean over the runs."""
    highest: float
    """Highest node load of all runs."""


def ccdf_quantile(loads: Floats, part: float) -> Floats:
    """Return the last load that more than ``1 - part`` exceed, along the last axis."""
    count = loads.shape[-1]
    # The load at position i is exceeded by count - 1 - i others.
    position = max(math.ceil(round(part * count, 9)) - 2, 0)
    found: Floats = np.sort(loads, axis=-1)[..., position]
    return found


def summarise(loads: Floats, reading: Reading) -> Summary:
    """Summarise relative node loads, one row for each run."""
    if reading is Reading.POOLED:
        q5, q95 = (ccdf_quantile(loads.ravel(), part) for part in (0.05, 0.95))
    elif reading is Reading.INTERPOLATED:
        q5, q95 = np.quantile(loads, (0.05, 0.95), axis=-1).mean(axis=-1)
    else:
        q5, q95 = (ccdf_quantile(loads, part).mean() for part in (0.05, 0.95))
    highest = loads.max(axis=-1)
    figures = (q5, loads.mean(), q95, highest.mean(), highest.max())
    return Summary(*(round(100 * float(figure), 2) for figure in figures))


def averaged_ccdf(loads: Floats, points: Floats) -> tuple[Floats, Floats]:
    """Return the part of the nodes above each point, averaged over the runs, and its confidence.

    The second is half the width of the 95 % confidence interval.
    """
    above = (loads[:, :, None] > points).mean(axis=1)
    mean: Floats = above.mean(axis=0)
    return mean, half_width(above)


def half_width(values: Floats) -> Floats:
    """Return half the 95 % confidence interval of the mean over runs, along the first axis."""
    runs = len(values)
    if runs < 2:
        unknown: Floats = np.full(values.shape[1:], np.nan)
        return unknown
    deviation = np.std(values, axis=0, ddof=1)
    half: Floats = np.asarray(stdtrit(runs - 1, 0.975) * deviation / math.sqrt(runs))
    return half


def confidence(loads: Floats) -> dict[str, float | None]:
    """Half the 95 % confidence intervals of a row's figures over its runs, in percent."""
    figures = {
        "q5": ccdf_quantile(loads, 0.05),
        "mean": loads.mean(axis=-1),
        "q95": ccdf_quantile(loads, 0.95),
    }
    halves = {name: 100 * float(half_width(values)) for name, values in figures.items()}
    return {name: None if math.isnan(half) else round(half, 2) for name, half in halves.items()}
