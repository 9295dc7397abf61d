"""What is told of gateways on the loop: events, and the places of the planners that answer them.

Names only, as the properties of gateways are: who raises these events and plans for them is a
companion of the loop (:mod:`evenflow.autonomic.companion`), which a balancer is given or not. Every
process that reads the operator's rules knows them.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class GatewayEvent(Enum):
    """What is noticed of gateways."""

    CHANGED = "gateways-changed"
    """A gateway has come or gone, drains or no longer does, or has other addresses."""
    UNEVEN = "gateways-uneven"
    """Some carry more than others, and not only for a moment."""
    FULL = "gateways-full"
    """All carry more than their operation range, and not only for a moment."""
    IDLE = "gateways-idle"
    """All carry less than their operation range, and one fewer could carry it."""
    DRAINED = "gateway-drained"
    """A gateway that shall end has no nodes any more."""
    AWAITED = "gateway-awaited"
    """A gateway that a plan had started is not there, and somebody waits for its word."""


PLACE: Final = "gateways"
"""The place of the planner that keeps gateways even."""
FLEET: Final = "gateway-fleet"
"""The place of the planner that starts and stops gateways."""
