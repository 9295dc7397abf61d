"""Numbers of things, as a sentence has them: one is singular."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """The number and the noun: ``1 item``, ``2 items``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def are(number: int) -> str:
    """``is`` or ``are``."""
    return "is" if number == 1 else "are"


def have(number: int) -> str:
    """``has`` or ``have``."""
    return "has" if number == 1 else "have"
