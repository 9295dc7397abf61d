"""What is told of bridges on the loop: the event, and the place of the planner that answers it.

Names only, as :mod:`evenflow.autonomic.analyze.gateway_events` has them.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class BridgeEvent(Enum):
    """What is noticed of bridges."""

    UNEVEN = "bridges-uneven"
    """One carries more than the bound above the mean, and not only for a moment."""


PLACE: Final = "bridges"
"""The place of the planner that keeps bridges even."""
