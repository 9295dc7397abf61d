"""A subscriber's side of a topic, without sockets: it is pushed what comes, and fetches the rest.

`Following` is a `Reading` without end. Where it is in the topic, its cursor, is its own business: a
broker that pushes says after which message its push follows. So it does not matter who pushes, how
often, nor what was lost; `evenflow.overlay.shelf.subscribers` tells the broker's side.

::

                 +-- gap, renewal, reconnected, Resubscribe --+
                 v                                            |
    joined -> Subscribe --Subscribed--> pushed to ------------+
                 ^                            |
                 |                            | FetchInstead; or the cursor is at an
                 +---- has caught up ------ Fetch             earlier delegate
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenflow.overlay.client.core import BATCH_MESSAGES, Reading, Request
from evenflow.overlay.protocol.messages import (
    Fetched,
    FetchInstead,
    Joined,
    Pushed,
    Redirect,
    Resubscribe,
    ShelfId,
    Subscribe,
    Subscribed,
    Taken,
    Unsubscribe,
)

if TYPE_CHECKING:
    from evenflow.overlay.space.delegation import DelegateList

RENEW_S = 60.0
"""How often a subscriber says that it is there."""


class Following(Reading):
    """A subscriber of one topic, from a time on.

    Args:
        topic: The topic.
        level: Resilience level when the topic is new.
        start: Messages of this time and later; `NOW`: what is acknowledged after the call.
        subscriber: A random number of its own.
    """

    def __init__(self, topic: str, level: int, start: int, subscriber: int) -> None:
        super().__init__(topic, level, start)
        self.subscriber = subscriber
        self.subscribed = False
        """Whether a broker has said that it keeps the subscription."""
        self._fetching = False
        """Whether we were told to fetch."""
        self._resume = 0.0
        """When we may subscribe again."""
        self._told = -1
        """What the broker knows that the application has taken."""

    def _subscribes(self) -> bool:
        """Say whether the next request is to subscribe, and not to fetch."""
        assert self.delegates is not None
        return not self._fetching and self.cursor + 1 >= self.delegates.entries[-1].start

    def _patience(self) -> float:
        if self.delegates is None or not self._subscribes():
            return super()._patience()
        return RENEW_S if self.subscribed and not self._times else self._pause()

    def _next(self) -> Any:
        if self.delegates is None or not self._subscribes():
            return super()._next()
        if len(self.found) >= BATCH_MESSAGES:
            return None  # what is pushed then would be too much; `Taken` says that we are here
        shelf = ShelfId(self.topic, self.delegates.current)
        return Subscribe(shelf, self.subscriber, self.cursor)

    def on_reply(self, number: int, body: Any, now: float) -> bool:
        """Take a reply; return whether it was to the open request."""
        if not super().on_reply(number, body, now):
            return False
        if isinstance(body, Subscribed):
            self.subscribed, self._redirects = True, 0
            self._renew()
            self._sent = now
        elif isinstance(body, Joined | Redirect):
            self.subscribed = False
        elif isinstance(body, Fetched) and len(body.messages) < BATCH_MESSAGES // 2:
            self._fetching = self._fetching and now < self._resume
        return True

    def on_push(self, body: Pushed | Resubscribe | FetchInstead, now: float) -> None:
        """Take what a broker says by itself."""
        if self.cursor < 0:
            return  # we do not know yet where we begin
        if isinstance(body, Pushed):
            self._take(body)
        elif isinstance(body, Resubscribe):
            self._hear_where(body.delegates)
        else:
            self._resume = max(self._resume, now + body.pause_ms / 1000)
            if not self._fetching:  # else it says again what we know
                self._fetching = True
                self._subscribe_anew()

    def _hear_where(self, told: DelegateList) -> None:
        """A broker keeps the subscription, says where the topic is, and asks where we are.

        Of two lists the one whose newest entry begins later is newer, unless they name the same
        place: its time begins earlier once a past delegate has handed messages on to it.

        A request that is open stays so when there is no news in this: begun anew with every such
        question, it would never be given up for joining the topic.
        """
        known = self.delegates
        news = told != known and (
            known is None
            or told.current == known.current
            or told.entries[-1].start >= known.entries[-1].start
        )
        if news:
            self.delegates = told
        if news or self.subscribed:
            self._subscribe_anew()

    def _take(self, pushed: Pushed) -> None:
        if pushed.after > self.cursor:
            if self.subscribed:
                self._subscribe_anew()  # something is missing
            return
        self.found.extend(message for message in pushed.messages if message.time > self.cursor)
        self.cursor = max(self.cursor, pushed.cursor)
        if not pushed.messages:
            self._told = -1  # the broker wants to hear from us

    def _subscribe_anew(self) -> None:
        self.subscribed = False
        self._renew()

    def acknowledge(self) -> Request | None:
        """Return word of what the application has taken, when the broker should hear of it."""
        taken = self.found[0].time - 1 if self.found else self.cursor
        due = self._told < 0 or (not self.found and taken > self._told)
        if not self.subscribed or self.delegates is None or not due:
            return None
        self._told = taken
        shelf = ShelfId(self.topic, self.delegates.current)
        return Request(shelf.coordinate, Taken(shelf, self.subscriber, taken), 0)

    def leave(self) -> Request | None:
        """Return word that the subscriber wants no more."""
        if self.delegates is None:
            return None
        shelf = ShelfId(self.topic, self.delegates.current)
        return Request(shelf.coordinate, Unsubscribe(shelf, self.subscriber), 0)
