"""Subscriptions to a topic, kept by its primary: it pushes what comes (sections I-A, III-A, III-B).

Who is subscribed stands on the shelf's label, so every copy has it, and it goes along when the
topic is moved. How far a subscriber is, only the subscriber knows for sure. So whoever leads the
topic and finds a subscription whose position it does not know asks the subscriber (`Resubscribe`,
with the delegate list: that is how clients are told where the topic went), and begins where it
says. What must always hold:

1. *Nothing is missing, nothing comes twice.* A push says after which message it follows. The
   subscriber takes from it what is newer than its own position; when something before it is
   missing it subscribes again from where it is. Only what is committed is pushed.
2. *Nothing is queued.* Messages are read from the disk when there is room in the subscriber's
   window, which is what was pushed and not yet taken by the application. When the window is full
   and there is more, the subscriber is told to fetch; nothing is pushed until it subscribes again.
3. *Bounded.* A topic has `MOST_SUBSCRIPTIONS`; further subscribers fetch, and try again later.
4. *A subscription ends* when the subscriber says so, or was not heard for `LEASE_S`. A primary that
   is new gives each the whole time. A subscriber that was taken for gone subscribes again.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from evenflow.overlay.protocol.messages import (
    FetchInstead,
    Pushed,
    Redirect,
    Resubscribe,
    Subscribed,
    Subscription,
)

if TYPE_CHECKING:
    from evenflow.overlay.ports import ClientsHost
    from evenflow.overlay.protocol.messages import (
        Envelope,
        Message,
        Subscribe,
        Taken,
        Unsubscribe,
    )
    from evenflow.overlay.replica.replica import Replica

MOST_SUBSCRIPTIONS = 256
"""Subscriptions to one topic; each costs some 30 bytes of its label."""
LEASE_S = 180.0
"""A subscriber that was not heard for this long is gone; it says that it is there every 60 s."""
WINDOW_MESSAGES = 512
WINDOW_BYTES = 1 << 20
"""What may be pushed and not yet taken; one message may always be."""
ASK_S = 1.0
"""How often a subscriber that does not answer is asked."""
REMIND_S = 10.0
"""How often a subscriber that was told to fetch is told again, until it subscribes."""
PAUSE_MS = 10_000
"""For how long a subscriber fetches that there is no room for."""


@dataclass(slots=True)
class Window:
    """What was pushed to a subscriber and is not taken yet."""

    pushes: deque[tuple[int, int, int]] = field(default_factory=deque)
    """Of each push its last time, its messages and its bytes."""
    messages: int = 0
    size: int = 0

    @property
    def room(self) -> tuple[int, int]:
        """How many messages and bytes may be pushed."""
        if not self.pushes:
            return WINDOW_MESSAGES, WINDOW_BYTES
        if self.size >= WINDOW_BYTES:
            return 0, 0
        return WINDOW_MESSAGES - self.messages, WINDOW_BYTES - self.size

    def add(self, messages: list[Message]) -> None:
        """Note a push."""
        size = sum(len(message.payload) for message in messages)
        self.pushes.append((messages[-1].time, len(messages), size))
        self.messages += len(messages)
        self.size += size

    def take(self, upto: int) -> None:
        """The application has all up to a time."""
        while self.pushes and self.pushes[0][0] <= upto:
            _, messages, size = self.pushes.popleft()
            self.messages -= messages
            self.size -= size


@dataclass(slots=True)
class Flow:
    """How far a subscriber is, as its primary knows."""

    until: float
    """When it is taken for gone."""
    sent: int | None = None
    """Time of the newest message that was pushed; None: it has not said where it is."""
    searched: int = 0
    """Nothing is committed between ``sent`` and this time."""
    paused: bool = False
    """Whether it was told to fetch."""
    asked: float = -1.0
    """When it was last asked something, or answered."""
    window: Window = field(default_factory=Window)


class Subscribers:
    """The subscriptions to one topic, at one copy."""

    def __init__(self, replica: Replica, host: ClientsHost) -> None:
        self._copy = replica.copy
        self._replication = replica.replication
        self._host = host
        self._flows: dict[int, Flow] = {}
        self._unanswered: dict[int, Envelope] = {}
        """Subscribers that wait until their subscription is on all disks."""

    def on_subscribe(self, envelope: Envelope, wish: Subscribe) -> None:
        """Keep a subscription, here being where the topic is, and push from a time on."""
        copy, label = self._copy, self._copy.label
        if wish.after + 1 < label.delegates.entries[-1].start:
            self._host.mail.reply(envelope, Redirect(label.delegates))
            return
        others = tuple(s for s in label.subscriptions if s.subscriber != wish.subscriber)
        if len(others) >= MOST_SUBSCRIPTIONS:
            self._host.mail.reply(envelope, FetchInstead(wish.subscriber, PAUSE_MS))
            return
        self._flows[wish.subscriber] = Flow(self._host.now + LEASE_S, wish.after)
        self._unanswered[wish.subscriber] = envelope
        kept = Subscription(wish.subscriber, envelope.origin, envelope.client)
        if kept not in label.subscriptions:
            self._replication.relabel(replace(copy.label, subscriptions=(*others, kept)))
        self.progress()

    def on_taken(self, taken: Taken) -> None:
        """The application has taken what was pushed: there is room for more."""
        flow = self._flows.get(taken.subscriber)
        if flow is not None:
            flow.window.take(taken.upto)
            flow.until, flow.asked = self._host.now + LEASE_S, self._host.now
            self.progress()

    def on_unsubscribe(self, wish: Unsubscribe) -> None:
        """End a subscription; one that moves just now ends when it is not heard."""
        if not self._copy.label.ticket:
            self._end({wish.subscriber})

    def progress(self) -> None:
        """Push what is committed, ask who is silent, and let go who is gone."""
        copy = self._copy
        if not copy.leading:
            self._flows, self._unanswered = {}, {}
            return
        if not (copy.label.subscriptions or self._flows) or not copy.verified:
            return
        subscriptions = copy.label.subscriptions if copy.delegated_here else ()
        here = {subscription.subscriber for subscription in subscriptions}
        self._flows = {each: flow for each, flow in self._flows.items() if each in here}
        self._confirm()
        found: dict[tuple[int, int, int], list[Message]] = {}
        for subscription in subscriptions:
            flow = self._flows.setdefault(subscription.subscriber, Flow(self._host.now + LEASE_S))
            if flow.sent is not None and not flow.paused:
                self._push(subscription, flow, flow.sent, found)
            self._ask(subscription, flow)
        if not copy.label.ticket and self._replication.label_kept:
            self._end({each for each in here if self._flows[each].until <= self._host.now})

    def due(self) -> float:
        """Return when there is something to do, if nothing happens before."""
        return min((self._due(flow) for flow in self._flows.values()), default=float("inf"))

    def _due(self, flow: Flow) -> float:
        if flow.paused:
            return min(flow.until, flow.asked + REMIND_S)
        asks = flow.sent is None or flow.window.pushes
        return min(flow.until, flow.asked + ASK_S) if asks else flow.until

    def _confirm(self) -> None:
        """Tell subscribers that their subscription is on all disks."""
        if self._replication.label_kept:
            unanswered, self._unanswered = self._unanswered, {}
            for subscriber, envelope in unanswered.items():
                if subscriber in self._flows:
                    self._host.mail.reply(envelope, Subscribed(subscriber))

    def _push(
        self,
        subscription: Subscription,
        flow: Flow,
        sent: int,
        found: dict[tuple[int, int, int], list[Message]],
    ) -> None:
        """Push what there is room for; ``found`` is what was read for others just now."""
        copy = self._copy
        if max(sent, flow.searched) >= copy.committed:
            return
        limit, size = flow.window.room
        key = (sent, max(1, limit), size)
        if key not in found:
            found[key] = copy.host.store.read(copy.shelf, sent + 1, copy.committed + 1, *key[1:])
        messages = found[key]
        if not messages:
            flow.searched = copy.committed
        elif not limit:
            flow.paused, flow.window, flow.asked = True, Window(), self._host.now
            self._tell(subscription, FetchInstead(subscription.subscriber, 0))
        else:
            flow.window.add(messages)
            flow.sent, flow.asked = messages[-1].time, self._host.now
            pushed = Pushed(subscription.subscriber, sent, tuple(messages), flow.sent)
            self._tell(subscription, pushed)
            self._push(subscription, flow, flow.sent, found)

    def _ask(self, subscription: Subscription, flow: Flow) -> None:
        """Ask a subscriber where it is, or whether it has what was pushed, when that is due."""
        copy = self._copy
        if self._host.now < flow.asked + (REMIND_S if flow.paused else ASK_S):
            return
        if flow.paused:
            flow.asked = self._host.now
            self._tell(subscription, FetchInstead(subscription.subscriber, 0))
            return
        if flow.sent is None and not copy.label.ticket:
            flow.asked = self._host.now
            self._tell(subscription, Resubscribe(subscription.subscriber, copy.label.delegates))
        elif flow.sent is not None and flow.window.pushes:
            flow.asked = self._host.now
            self._tell(subscription, Pushed(subscription.subscriber, flow.sent, (), flow.sent))

    def _tell(self, subscription: Subscription, body: Pushed | Resubscribe | FetchInstead) -> None:
        self._host.mail.tell(subscription.broker, subscription.client, body)

    def _end(self, gone: set[int]) -> None:
        """Forget subscriptions, here and at the other copies."""
        label = self._copy.label
        kept = tuple(s for s in label.subscriptions if s.subscriber not in gone)
        if kept != label.subscriptions:
            self._replication.relabel(replace(label, subscriptions=kept))
