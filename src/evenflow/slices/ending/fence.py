"""Who may write the balancer's disk: of several that share it, the one that claimed it last.

Who begins to lead claims the disk and reads it in one step; from then on nobody else's save counts.
So what it has read is what is there, however many lead in the parts of a domain that is cut in
pieces. Who leads and finds the disk claimed by another saves nothing, as if it were full. Should it
still lead a while later, the other one is dead or cannot be heard: it claims to lead anew, which
claims the disk and reads it. (``docs/protocol.md``)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from evenflow.model.bounds import MOST_TERM
from evenflow.model.checked_json import CheckedJson, Whole, encode_json

if TYPE_CHECKING:
    from evenflow.slices.balancer.membership.leadership import Leadership

CLAIM_AGAIN_S: Final = 5.0
"""How long a balancer that leads leaves its disk to another one."""


class Claim(msgspec.Struct, frozen=True):
    """Who claimed a disk, and when: no two are the same."""

    number: Whole
    """The newest term that it had given out."""
    balancer: Whole
    """Its identity."""


_JSON: Final = CheckedJson("claim of a balancer's disk", Claim)


def encode_claim(claim: Claim) -> bytes:
    """The file of a claim."""
    return encode_json(claim)


def decode_claim(encoded: bytes) -> Claim:
    """Read the file of a claim; `DecodeError` when it is none."""
    return _JSON.decode(encoded)


def claim_after(former: Claim | None, leadership: Leadership, believed: int = MOST_TERM) -> Claim:
    """The claim of who leads now; its terms are newer than those of who had the disk before.

    Args:
        former: The claim before.
        leadership: Who leads now.
        believed: The newest term that nodes believe. Whoever claimed by a later one was obeyed by
            nobody, and neither would be who goes beyond it: the fence does not need that.
    """
    if former is not None and former.balancer != leadership.identity and former.number <= believed:
        leadership.terms.learn(former.number)
    return Claim(leadership.terms.newest, leadership.identity)


class Fence:
    """Since when a balancer that leads has not had its disk."""

    def __init__(self) -> None:
        self._lost_at: float | None = None

    @property
    def lost(self) -> bool:
        """Whether it has lost it, as far as it has looked."""
        return self._lost_at is not None

    def look(self, now: float, *, held: bool) -> bool:
        """Note whether it has the disk; True when it is time to claim it back, then and again."""
        if held:
            self._lost_at = None
            return False
        if self._lost_at is not None and now - self._lost_at < CLAIM_AGAIN_S:
            return False
        again, self._lost_at = self._lost_at is not None, now
        return again
