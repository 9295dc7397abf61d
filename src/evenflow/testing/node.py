"""A simulated node process: a real core, and what a process adds to it."""

from __future__ import annotations

from dataclasses import dataclass, field

from evenflow.model.batch import Batch
from evenflow.slices.actions import Action, Subscribe, Subscribed, Unsubscribe
from evenflow.slices.node.core import NodeCore
from evenflow.testing.network import Parcel


@dataclass(slots=True)
class SimNode:
    """A node process, which may be stopped and continued."""

    core: NodeCore
    subscribed: set[int] = field(default_factory=set)
    stopped: bool = False
    inbox: list[Parcel] = field(default_factory=list)
    """What waits while the process is stopped."""
    slow: bool = False
    """Its application takes its time: it ends what it has in hand only when it is told so."""

    def go_on(self) -> list[Parcel]:
        """Continue after a stop; return what was sent meanwhile."""
        self.stopped = False
        waiting, self.inbox = self.inbox, []
        return waiting

    def receive(self, parcel: Parcel, now: float) -> list[Action]:
        """Take a parcel in; return what the node does."""
        if self.stopped:
            self.inbox.append(parcel)
            return []
        match parcel.what:
            case Subscribe(slices, term):
                self.subscribed |= slices
                return self.core.handle(Subscribed(term), now)
            case Unsubscribe(slices):
                self.subscribed -= {s for s in slices if s not in self.core.cache.held}
                return []
            case Batch() as batch:
                self.core.receive(batch, now, replayed=parcel.replayed)
                return []
            case message:
                return self.core.handle(message, now)
