"""What the core of a bridge needs of others, and nothing more."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection

    from evenflow.bridge.events import Address


class Ring(Protocol):
    """Who owns a device, as far as this bridge knows; asked anew after ``RingChanged``."""

    @property
    def members(self) -> Collection[str]:
        """The bridges that are there, this one among them."""

    @property
    def is_isolated(self) -> bool:
        """Whether nobody of the domain is heard, although somebody was before."""

    def owner(self, guid: bytes) -> str:
        """The bridge that owns a device."""


KeyOf = Callable[[bytes], bytes | None]
"""The key of a device; None: it has none."""
AddressOf = Callable[[str], "Address | None"]
"""Where devices reach another bridge; None: not known."""
