"""What is told of rates on the loop: the event, and the place of the planner that answers it.

Names only, as :mod:`evenflow.autonomic.analyze.gateway_events` has them.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class QosEvent(Enum):
    """What is noticed of rates."""

    DIFFERS = "separation-differs"
    """The separation that is in effect somewhere is not the one that the load asks for."""


PLACE: Final = "qos"
"""The place of the planner that changes separations."""
