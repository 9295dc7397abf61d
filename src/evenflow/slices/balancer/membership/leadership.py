"""Which of several balancers leads: the newest claim, in everybody's eyes.

A balancer begins as a *standby*: it is silent and listens. When nobody has led for ``quiet``
seconds it *claims*: it takes a number above every term it has met (:mod:`evenflow.slices.terms`)
and beats under it. From then on it leads until it hears of a newer claim; then it steps down at
once, forgets what it had under way, and is a standby again.

Of two that lead, the one with the higher number goes on. Everybody computes the same from one
beat, in any order and however many beats are lost: nodes compare the same numbers before they obey.
The newer claim wins, not the longer service, because nodes that have heard the newer one refuse the
older one already, and must: it may have stood still, and what it knows is out of date. A standby
does not claim while somebody leads, so the longer service lasts as long as it can be heard.

Who leads is heard from its beats, and from the nodes' reports, which name the balancer they follow
(``NodeReport.balancer``): where only the path between two balancers is broken, neither outbids the
other. A term above all that it gave out, and nobody who leads by it, means that a balancer has been
here of which it knew nothing: it claims anew and takes the owners from the nodes once more.

One leadership serves all topics of a process: it leads them all, or none.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from evenflow.slices.terms import Terms, balancer_of

if TYPE_CHECKING:
    from evenflow.model.messages import Beat, NodeReport


class Leadership:
    """Whether one balancer process leads.

    Args:
        now: The time.
        wall: The time of day, in seconds since 1970.
        identity: Names the process, as its beats do.
        quiet: How long nobody must have led before it claims.
        stall: After so long without :meth:`poll` it stood still, and must have looked dead.
        alone: There is nobody to listen for: it claims at once.
    """

    def __init__(
        self,
        now: float,
        wall: float,
        *,
        identity: int = 0,
        quiet: float = 1.0,
        stall: float = inf,
        alone: bool = False,
    ) -> None:
        self.identity = identity
        self.terms = Terms(wall, identity)
        self.leads = False
        self.turn = 0
        """Grows when it begins or ceases to lead: what was under way before is over."""
        self.reason = ""
        """Why it leads or stands by, in words; empty while it has heard of nobody."""
        self._offset = wall - now
        self._quiet, self._stall = quiet, stall
        self._heard_at = self._polled_at = now
        if alone:
            self._claim("it is alone", now)

    def on_beat(self, beat: Beat, now: float) -> None:
        """A balancer of the same topic beats."""
        if beat.balancer == self.identity:
            return
        rank = (balancer_of(beat.version), beat.balancer)
        if not self.leads:
            self._hear(f"balancer {beat.balancer:x} leads", beat.version, now)
        elif rank > (balancer_of(self.terms.newest), self.identity):
            self._step_down(f"balancer {beat.balancer:x} leads by a newer claim", beat.version, now)

    def on_report(self, report: NodeReport, now: float) -> None:
        """A node says which terms it has met, and whose beats it hears."""
        newest = max((report.seen_term, *report.terms))
        followed = report.balancer
        mine = balancer_of(self.terms.newest)
        if not self.leads:
            if followed and followed != mine:
                self._hear(f"{report.node} follows another balancer", newest, now)
            self.terms.learn(newest)
        elif followed > mine:
            self._step_down(f"{report.node} follows a newer balancer", newest, now)
        elif newest > self.terms.newest:
            self.terms.learn(newest)
            self.claim_anew(f"{report.node} has met a newer term", now)

    def on_newer_term(self, source: str, term: int, now: float) -> None:
        """Somebody goes by a newer balancer, which it hears no more."""
        if term > self.terms.newest:
            self.terms.learn(term)
            if self.leads:
                self.claim_anew(f"{source} has heard a newer balancer", now)

    def claim_anew(self, reason: str, now: float) -> None:
        """Somebody balanced here of whom nothing was known: begin anew, above all terms met."""
        self._claim(reason, now)

    def poll(self, now: float) -> None:
        """Claim when nobody has led for long enough; stand by after standing still."""
        if self.leads and now - self._polled_at > self._stall:
            self._step_down("it stood still", 0, now)
        self._polled_at = now
        if not self.leads and now - self._heard_at >= self._quiet:
            self._claim("nobody else leads", now)

    def _hear(self, reason: str, term: int, now: float) -> None:
        self._heard_at, self.reason = now, reason
        self.terms.learn(term)

    def _step_down(self, reason: str, term: int, now: float) -> None:
        self.leads = False
        self.turn += 1
        self._hear(reason, term, now)

    def _claim(self, reason: str, now: float) -> None:
        self.terms.renew(now + self._offset)
        self.leads, self.reason = True, reason
        self.turn += 1
