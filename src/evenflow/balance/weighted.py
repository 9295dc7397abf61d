"""``weighted``: every node the same load, by what each slice was measured to weigh.

What the papers' future work asks for (MAPE-SDDL, section VIII): to "decide which specific Slices,
not only how many, should be moved". All nodes count as equally strong. The method is in
:mod:`evenflow.balance.levelling`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenflow.balance.levelling import Levelling


@dataclass(frozen=True, slots=True)
class Weighted(Levelling):
    """Even load over nodes that count as equal."""

    name: ClassVar[str] = "weighted"
