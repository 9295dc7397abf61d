"""``forecast``: as ``weighted``, on the load expected when the move is done.

Between a measurement and the end of the moves it leads to lies some time, in which loads go on
changing. Where a slice has an outlook (trend and season, learned by
:mod:`evenflow.balance.load_outlook`), what it is expected to change until then is added to its
measured load. Only the change is taken from the outlook: its level lags behind a measurement. A
slice without an outlook counts as measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenflow.balance.levelling import Levelling

if TYPE_CHECKING:
    from evenflow.model.snapshot import PlacedSlice


@dataclass(frozen=True, slots=True)
class Forecast(Levelling):
    """Even expected load over nodes that count as equal."""

    name: ClassVar[str] = "forecast"
    lead_s: float = 5.0
    """How long after the snapshot the moves are expected to be done."""

    def load_of(self, each: PlacedSlice, now: float) -> float:
        """The measured load and how it is expected to change in ``lead_s``."""
        if each.outlook is None:
            return each.load
        change = each.outlook.at(now + self.lead_s) - each.outlook.at(now)
        return max(0.0, each.load + change)
