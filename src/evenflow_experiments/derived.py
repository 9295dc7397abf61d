"""What papers derive from the figures they measured, computed the same way from theirs and ours.

A paper prints a table and, in its text, what follows from it: by how many percent something became
longer, and the mean of that. The functions here make those figures of any such table, so that they
stand side by side; a test feeds them the papers' tables and expects the papers' own words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

Cells = Mapping[tuple[int, float], float]
"""Times of a load balancing process by number of slices and rate in MB/s."""
Phases = Mapping[str, Sequence[float | None]]
"""A row of values for each of ``before``, ``during`` and ``after``, one value for each join."""


def change_percent(before: float | None, after: float | None) -> float | None:
    """By how many percent a value grew; negative when it fell, None where one is not known."""
    if not before or after is None:
        return None
    return round(100 * (after - before) / before, 3)


def reduction_percent(before: float | None, after: float | None) -> float | None:
    """By how many percent a value fell."""
    grown = change_percent(before, after)
    return None if grown is None else -grown


def process_times(cells: Cells) -> dict[str, float | None]:
    """What Table II of MAPE-SDDL says about the rate and the number of slices.

    By the rate: 10 slices, 1.4 to 10 MB/s ("by a factor of 10", in the paper's words). By slices:
    1.4 MB/s, 10 to 100 and 10 to 1,000.
    """
    least = cells.get((10, 1.4))
    return {
        "by_rate_percent": change_percent(least, cells.get((10, 10.0))),
        "by_10_times_the_slices_percent": change_percent(least, cells.get((100, 1.4))),
        "by_100_times_the_slices_percent": change_percent(least, cells.get((1000, 1.4))),
    }


def around_joins(rtd_s: Phases, throughput: Phases) -> dict[str, list[float | None] | float | None]:
    """What Table I of MAPE-SDDL says about the time of a load balancing process.

    The change from before to during it, at each join, and the mean: of the round-trip delay as it
    is, of the throughput as what was lost.
    """
    delays = _changes(rtd_s)
    rates = _changes(throughput)
    lost = _mean(rates)
    return {
        "rtd_change_percent": delays,
        "rtd_mean_percent": _mean(delays),
        "throughput_change_percent": rates,
        "throughput_mean_loss_percent": None if lost is None else -lost,
    }


def _changes(phases: Phases) -> list[float | None]:
    pairs = zip(phases["before"], phases["during"], strict=True)
    return [change_percent(before, during) for before, during in pairs]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(fmean(known), 3) if known else None
