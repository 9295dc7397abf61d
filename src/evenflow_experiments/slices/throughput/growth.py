"""What the paper says of the growth of the round-trip delay (MAPE-SDDL, Figure 17), found in ours.

The text names no points of this curve but how much it rises: about five seconds in the first five,
less than five between 40 and 60 s, and faster than that once the rate has risen. The same parts of
our story are looked at. In a shorter story they are shorter; what the delay grew by is told for as
long as the paper's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from evenflow_experiments.slices.throughput.landmarks import PAPER_RISE_S


@dataclass(frozen=True, slots=True)
class Growth:
    """By how much the round-trip delay grows in a part of the story."""

    what: str
    begin_s: float
    end_s: float
    """In the seconds of ours."""
    paper: float | None
    """Seconds of delay."""
    words: str
    """What the paper says of it."""
    ours: float | None
    """For a part as long as the paper's; None when nothing was answered in it."""


GROWTHS: Final[tuple[tuple[str, float, float, float | None, str], ...]] = (
    ("from 0 to 5 s, one node", 0.0, 5.0, 5.0, "about 5"),
    ("from 40 to 60 s, four nodes and five", 40.0, 60.0, 5.0, "less than 5"),
    ("from 59 to 79 s, flooded", 59.0, 79.0, None, "faster than from 40 to 60 s"),
)
"""What the text says of Figure 17; of the last only that it was faster, so it is looked at for as
long as the one before."""


def growths(rtd: Sequence[float | None], rise: float) -> list[Growth]:
    """Find how much the delay grows in the parts that the paper names.

    Args:
        rtd: Mean round-trip delay in each second.
        rise: When the rate rose.
    """
    scale = rise / PAPER_RISE_S
    return [
        Growth(what, begin * scale, end * scale, paper, words,
               _grown(rtd, begin * scale, end * scale, scale))
        for what, begin, end, paper, words in GROWTHS
    ]  # fmt: skip


def _grown(rtd: Sequence[float | None], begin: float, end: float, scale: float) -> float | None:
    known = [value for value in rtd[int(begin) : int(end) + 1] if value is not None]
    return (known[-1] - known[0]) / scale if known else None


def growth_rows(found: Sequence[Growth]) -> list[dict[str, Any]]:
    """Growths for the JSON file."""
    return [
        {
            "what": each.what, "begin_s": round(each.begin_s, 1), "end_s": round(each.end_s, 1),
            "paper": each.paper, "paper_says": each.words,
            "ours": None if each.ours is None else round(each.ours, 2),
        }
        for each in found
    ]  # fmt: skip
