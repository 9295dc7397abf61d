"""The connections of a client: the one in use, the one that is left, the search for the next.

What happens when a link comes up or is lost, and where the client goes then. The rest of the rules
is in :class:`~evenflow.mobile.client.core.ClientCore`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenflow.mobile.client.attaching import Attaching, Session
from evenflow.mobile.client.buffer import Buffer, Limits
from evenflow.mobile.client.events import Action, Detached, Drop, Linked, Unlinked
from evenflow.mobile.client.inbox import Inbox
from evenflow.mobile.client.moving import Executor
from evenflow.mobile.client.reaching import Patience
from evenflow.mobile.link.frames import Hello

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

LEFT: Final = "the node has moved to another gateway"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the node is."""

    node: str
    run: str
    token: str


class Connections:
    """Where a client is attached, and what it does when it is not.

    Args:
        identity: Who the node is.
        gateways: Addresses, best first.
        limits: How much is kept.
        random: For jitter.
        connection: A number as large as that of any earlier connection of the node.
        patience: Waiting times.
        inbox: What of the node's messages is had.
    """

    def __init__(
        self,
        identity: Identity,
        gateways: Sequence[str],
        limits: Limits,
        random: Random,
        *,
        connection: int,
        patience: Patience | None = None,
        inbox: Inbox | None = None,
    ) -> None:
        self.identity = identity
        self.buffer = Buffer(limits)
        self.inbox = inbox or Inbox()
        self.executor = Executor()
        self.attributes: dict[str, str | float | bool] = {}
        self.position: tuple[float, float] | None = None
        self.topics: tuple[str, ...] = ()
        """Topics that the node may publish to, as the last gateway said."""
        self.connections = self.lost = 0
        self.ended = ""
        """Why nothing is tried any more."""
        self._gateways = tuple(gateways)
        self._alternatives: tuple[str, ...] = ()
        self._last_address = ""
        self._random = random
        self._patience = patience or Patience()
        self._attaching = Attaching(self._patience, random, connection, self._hello)
        self._losses = 0
        self._current: Session | None = None
        self._leaving: Session | None = None
        self._drain_until = 0.0
        """Until then the gateway that is left may say by itself that everything is safe."""
        self._out: list[Action] = []

    @property
    def gateway(self) -> str:
        """The gateway that the node is attached to; empty when it is not."""
        return "" if self._current is None else self._current.gateway

    @property
    def reason(self) -> str:
        """Why there is no connection."""
        reach = self._attaching.reach
        return self.ended or ("" if reach is None else reach.reason)

    def _do(self, *actions: Action) -> None:
        self._out += actions

    def _hello(self, connection: int) -> Hello:
        who, had = self.identity, dict(self.inbox.had)
        return Hello(who.token, who.node, who.run, connection, self.attributes, self.position, had)

    # -- links come and go -------------------------------------------------------------------------

    def _on_linked(self, event: Linked, now: float) -> None:
        moving = self._current is not None
        hold_s = self._patience.quiet_s if moving else 0.0
        self._do(*self._attaching.on_linked(event.link, now, hold_s=hold_s))

    def _on_unlinked(self, event: Unlinked, now: float) -> None:
        if self._current is not None and event.link == self._current.link:
            self._lose(event, now)
        elif self._leaving is not None and event.link == self._leaving.link:
            self._leaving = None
        else:
            self._attaching.fail(event.link, event.reason, now, retry=event.retry)

    def _lose(self, event: Unlinked, now: float) -> None:
        """The connection in use is over: look for another."""
        lost = self._leave_current(event.reason)
        self.lost += 1
        self._losses = 0 if now - lost.since >= self._patience.stable_s else self._losses + 1
        if self._leaving is not None:
            self._do(Drop(self._leaving.link, LEFT))
            self._leaving = None
        move = self.executor.move
        if move is not None and not move.welcomed:
            return  # what was to be the next connection is now the one that is needed
        if move is not None:
            self._do(self.executor.end("", f"the next gateway was lost: {event.reason}", now))
        pause = self._random.uniform(0, self._patience.first_s)
        if self._losses > 1:
            pause += self._patience.pause_s(self._losses - 2, self._random)
        self._look(now + pause, last_first=not event.said)
        if not event.retry and self._attaching.reach is not None:
            self._attaching.reach.refusals[lost.address] = event.reason

    def _look(self, start: float, *, last_first: bool = True) -> None:
        known = self._known(last_first=last_first)
        self._attaching.look(known, start, losses=self._losses)

    def _known(self, *, last_first: bool = True) -> tuple[str, ...]:
        """All addresses, best first.

        A lost connection is best made again where it was, unless its gateway ended it.
        """
        last, others = self._last_address, (*self._alternatives, *self._gateways)
        if not last:
            return others
        return (last, *others) if last_first else (*(x for x in others if x != last), last)

    def _leave_current(self, reason: str) -> Session:
        left, self._current = self._current, None
        assert left is not None
        self._do(Detached(reason))
        return left

    def _switch(self, session: Session, now: float) -> None:
        """Use a session that was welcomed; leave the former one, if there is one."""
        self._do(*self._attaching.welcome())
        self.connections += 1
        self._last_address = session.address
        old, self._current = self._current, session
        if old is not None and old.gateway == session.gateway:
            self._do(Drop(old.link, LEFT))
        elif old is not None:
            self._leaving = old
            self._drain_until = now + self._patience.settle_s
        if self.executor.move is not None:
            self.executor.move.welcomed = True

    def _refuse(self, session: Session, reason: str, now: float) -> None:
        """A gateway broke the rules: end its connection."""
        self._do(Drop(session.link, reason))
        self._on_unlinked(Unlinked(session.link, reason), now)

    def _end(self, reason: str) -> None:
        """Try nothing more."""
        self.ended = reason
        for session in (self._current, self._leaving):
            if session is not None:
                self._do(Drop(session.link, reason))
        self._current = self._leaving = None
        self._do(*self._attaching.stop())
