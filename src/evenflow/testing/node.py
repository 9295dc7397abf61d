"""A simulated node process: a real core, and what a process adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evenflow.model.batch import Batch
from evenflow.model.messages import SliceState
from evenflow.model.sample import Sample
from evenflow.slices.actions import Send
from evenflow.slices.balancer.owners import Owners
from evenflow.slices.node.core import NodeCore
from evenflow.testing.folding import Folding
from evenflow.testing.network import Parcel


@dataclass(slots=True)
class SimNode:
    """A node process, which may be stopped and continued."""

    core: NodeCore
    app: Folding
    """Its application, as far as it has state."""
    stopped: bool = False
    inbox: list[Parcel] = field(default_factory=list)
    """What waits while the process is stopped."""
    misfit: bool = False
    """It has the topic set up otherwise than all: it is given nothing."""
    slow: bool = False
    """Its application takes its time: it ends what it has in hand only when it is told so."""

    def go_on(self) -> list[Parcel]:
        """Continue after a stop; return what was sent meanwhile."""
        self.stopped = False
        waiting, self.inbox = self.inbox, []
        return waiting

    def tend_state(self) -> list[Send]:
        """The application gives, takes and forgets states, as it is asked."""
        done: list[Send] = []
        while (task := self.core.next_task()) is not None:
            terms = {held.slice: held.term for held in self.core.cache.held.values()}
            done += self.core.task_done(task, self.app.do(task, terms))
        return done

    def deliver(self, batch: Batch) -> list[Send]:
        """The application has processed what it has in hand."""
        if self.core.states is not None:
            self.app.fold(batch)
        return self.core.delivered(0.001)

    def receive(self, parcel: Parcel, now: float) -> list[Send]:
        """Take a parcel in; return what the node does."""
        if self.stopped:
            self.inbox.append(parcel)
            return []
        if isinstance(parcel.what, Sample):
            self.core.receive(parcel.what, now, replayed=parcel.replayed)
            return []
        return self.core.handle(parcel.what, now)


def hold_what_they_own(nodes: Mapping[str, SimNode], owners: Owners) -> bool:
    """Whether every node holds what it owns by the map and nothing else, and who leaves nothing."""
    held_by = [(node, sim.core.cache.held.values()) for node, sim in nodes.items()]
    places = {(h.slice, node, h.term, h.state) for node, held in held_by for h in held}
    mapped = {
        (slice_id, owner, term, SliceState.AVAILABLE)
        for slice_id, (owner, term) in enumerate(zip(owners.of, owners.terms, strict=True))
    }
    return places == mapped and not any(
        sim.core.leaving and sim.core.cache.held for sim in nodes.values()
    )
