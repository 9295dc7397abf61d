"""The balancer's half of a handover: the coordinator of one session, as a state machine.

The five actions of DPSLB (thesis section 3.4) in their order, each acknowledged, each repeated
until it is, after pauses that grow, all within a deadline::

    FREEZING -> ADDING -> REMOVING -> ACTIVATING -> SENDING -> MERGED
        |          |          |           |            |
        |          +----------+-----+-----+------------+
        |                           v
        +--> RETURNED <------- CANCELLING -------> MERGED

A step that fails, a deadline that passes or a giver that dies leads to CANCELLING as soon as the
taker may know of the session: only the taker can say whether it has merged, so it is asked to
promise that it never will, and asked until it answers or is gone. A taker that has merged owns the
slices, whatever the coordinator wanted. If the taker is gone, the giver gets the slices back under
a new term: the publishers, asked under that term, say how far the taker came and refuse it from
then on.

A coordinator that was restarted finds sessions in the nodes' reports and begins with CANCELLING.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto

from evenflow.model.messages import Ack, Order, Step
from evenflow.slices.actions import Send
from evenflow.slices.backoff import Backoff


class Stage(Enum):
    """Where the coordinator stands."""

    FREEZING = auto()
    ADDING = auto()
    REMOVING = auto()
    ACTIVATING = auto()
    SENDING = auto()
    CANCELLING = auto()
    MERGED = auto()
    """Over: the taker owns the slices."""
    RETURNED = auto()
    """Over: the taker does not own them; the giver gets them back, if it lives."""


NEXT = {
    (Stage.FREEZING, Step.FREEZE): Stage.ADDING,
    (Stage.ADDING, Step.ADD): Stage.REMOVING,
    (Stage.REMOVING, Step.REMOVE): Stage.ACTIVATING,
    (Stage.ACTIVATING, Step.ACTIVATE): Stage.SENDING,
    (Stage.SENDING, Step.MERGED): Stage.MERGED,
    (Stage.CANCELLING, Step.MERGED): Stage.MERGED,
    (Stage.CANCELLING, Step.CANCEL): Stage.RETURNED,
}
"""What an acknowledged step leads to."""

ORDERS = {
    Stage.FREEZING: Step.FREEZE,
    Stage.ADDING: Step.ADD,
    Stage.REMOVING: Step.REMOVE,
    Stage.ACTIVATING: Step.ACTIVATE,
    Stage.SENDING: Step.SEND_CACHE,
    Stage.CANCELLING: Step.CANCEL,
}
"""What is ordered in each stage."""

TO_GIVER = {Stage.FREEZING, Stage.REMOVING, Stage.SENDING}
OVER = {Stage.MERGED, Stage.RETURNED}


class Session:
    """One load balancing session between two nodes."""

    def __init__(
        self,
        topic: str,
        term: int,
        giver: str,
        taker: str,
        slices: Iterable[int],
        now: float,
        *,
        deadline: float,
        retry: float,
        stage: Stage = Stage.FREEZING,
        cause: str = "handover",
        why: str = "",
    ) -> None:
        self.topic = topic
        self.term = term
        self.giver = giver
        self.taker = taker
        self.slices = tuple(sorted(slices))
        self.stage = stage
        self.cause = cause
        self.why = why
        """The reason it was begun, in words."""
        self.started = now
        """When the first order went out."""
        self.ended = now
        self.reason = ""
        """Why the session was cancelled; empty when it was not."""
        self.moved = self.repeated = 0
        self._deadline = now + deadline
        self._patience = deadline
        self._retry = retry
        self._ordered = False
        self._next_order = now
        self._backoff = self._pauses()

    @property
    def over(self) -> bool:
        """Whether it is decided who owns the slices."""
        return self.stage in OVER

    def handle(self, ack: Ack, now: float) -> None:
        """Take an acknowledgement of this session in."""
        if self.over or ack.node != self._expected(Step(ack.step)):
            return
        step = Step(ack.step)
        if step is Step.MERGED and self.stage is not Stage.SENDING:
            # The taker is ahead of what the coordinator heard: acknowledgements were lost.
            self._enter(Stage.MERGED, now)
        elif not ack.ok:
            if step is ORDERS[self.stage]:
                self.cancel(f"{ack.node} refused {step.name}: {ack.reason}", now)
            return
        else:
            stage = NEXT.get((self.stage, step))
            if stage is None:
                return
            self._enter(stage, now)
        if self.stage is Stage.MERGED:
            self.moved, self.repeated = ack.moved, ack.repeated

    def _expected(self, step: Step) -> str:
        return self.giver if step in (Step.FREEZE, Step.REMOVE, Step.SEND_CACHE) else self.taker

    def node_gone(self, node: str, now: float) -> None:
        """One of the two died."""
        if self.over:
            return
        if node == self.taker:
            self.reason = self.reason or f"taker {node} died"
            self._enter(Stage.RETURNED, now)
        elif node == self.giver:
            self.cancel(f"giver {node} died", now)

    def cancel(self, reason: str, now: float) -> None:
        """Begin the way back; once begun it ends only by the taker's answer or its death."""
        if self.over or self.stage is Stage.CANCELLING:
            return
        self.reason = reason
        self._enter(Stage.RETURNED if self.stage is Stage.FREEZING else Stage.CANCELLING, now)

    def poll(self, now: float) -> list[Send]:
        """What to order now."""
        if not self.over and now >= self._deadline:
            self.cancel(f"{ORDERS[self.stage].name} took longer than {self._patience:g} s", now)
        if self.over or now < self._next_order:
            return []
        self._next_order = now + self._backoff.next()
        if not self._ordered:
            self._ordered, self.started = True, now
        to, peer = self.taker, self.giver
        if self.stage in TO_GIVER:
            to, peer = peer, to
        order = Order(self.topic, to, self.term, ORDERS[self.stage], self.slices, peer)
        return [Send(order, to=to)]

    def _enter(self, stage: Stage, now: float) -> None:
        self.stage = stage
        self.ended = now
        self._deadline = now + self._patience
        self._next_order = now
        self._backoff = self._pauses()

    def _pauses(self) -> Backoff:
        """Between the orders of a stage; a cache may take longer to arrive than a word."""
        return Backoff(self._retry * (4 if self.stage is Stage.SENDING else 1))
