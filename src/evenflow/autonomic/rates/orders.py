"""The action ``separate``: what a controller orders of the station of a process."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from evenflow.model.bounds import LONGEST_SEPARATION_S

SEPARATE: Final = "separate"
"""The kind of the action."""


class SeparateArgs(msgspec.Struct, frozen=True):
    """Its arguments, as JSON."""

    topic: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    separation_s: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_SEPARATION_S)]
    """0: full rate."""
    lease_s: Annotated[float, msgspec.Meta(gt=0, le=86_400)]
    """How long it stays without another order."""
