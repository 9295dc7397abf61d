"""Admission by the tokens of :mod:`evenflow.access`.

A token is good for the node that its subject names, exactly or by a pattern (``car-*``). Which
topics a node may publish to is what its token allows, of those that the gateway serves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.errors import AccessDenied
from evenflow.mobile.gateway.admission import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.access.revocation import Revocations
    from evenflow.access.tokens import Tokens
    from evenflow.clock import Clock
    from evenflow.mobile.link.frames import Hello


class TokenAdmission:
    """Decides about clients by their tokens.

    Args:
        tokens: Checks them.
        revocations: Which are revoked.
        clock: The time of day.
    """

    def __init__(self, tokens: Tokens, revocations: Revocations, clock: Clock) -> None:
        self._tokens = tokens
        self._revocations = revocations
        self._clock = clock

    def check(self, hello: Hello, topics: Iterable[str]) -> Verdict:
        """Who says so may attach, and may publish to those of these topics."""
        try:
            grant = self._tokens.check(hello.token, now=self._clock.wall())
        except AccessDenied as denied:
            return Verdict(denied=denied.reason)
        if not grant.covers(hello.node):
            return Verdict(denied=f"the token is for {grant.subject}, not for {hello.node}")
        return Verdict(
            topics=tuple(topic for topic in topics if grant.may_publish(topic)),
            receives=grant.allowed.receive,
            token_id=grant.id,
            expires=grant.expires,
        )

    def revoked(self) -> frozenset[str]:
        """Ids of the tokens that were revoked since this was last asked; it looks at the disk."""
        return self._revocations.refresh()

    @property
    def not_noted(self) -> int:
        """Revocations that were heard of and are not known: there are too many."""
        return self._revocations.not_noted

    def pass_on(self) -> None:
        """Tell others what was revoked; it looks at the disk."""
        self._revocations.pass_on()

    @property
    def problem(self) -> str:
        """What is wrong with the file of revoked tokens; empty: nothing."""
        return "" if self._revocations.problem is None else str(self._revocations.problem)
