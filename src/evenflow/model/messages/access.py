"""What the doors of a domain tell one another."""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.model.wire import F64, KeyText


@dataclass(frozen=True, slots=True)
class Revocation:
    """A token is not valid any more. Told by the operator, and by every door that knows."""

    token: KeyText
    """Id of the token."""
    expires: F64
    """Seconds since 1970 when it would have expired; then nobody needs to remember."""
