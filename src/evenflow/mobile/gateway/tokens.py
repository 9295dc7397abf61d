"""Admission by the tokens of :mod:`evenflow.access`.

A token is good for the node that its subject names, exactly or by a pattern (``car-*``). Which
topics a node may publish to is what its token allows, of those that the gateway serves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.mobile.gateway.admission import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.mobile.link.frames import Hello


class TokenAdmission:
    """Decides about clients by their tokens."""

    def check(self, hello: Hello, topics: Iterable[str]) -> Verdict:
        """Who says so may attach, and may publish to those of these topics."""
        raise NotImplementedError

    def revoked(self) -> frozenset[str]:
        """Ids of the tokens that were revoked, as the file says now."""
        raise NotImplementedError
