"""The domain remembers where a consumer is: lives and deaths of a consumer and of nodes, at random.

A consumer tells every batch to all nodes before it works on it, and may be killed at any moment,
also while it tells. Nodes notice that at different times, and come and go meanwhile, one at a time.
A new life of the consumer hears what nodes keep for late readers, and waits as a follower does:
while a node may still have something to tell, but no longer than until all have noticed the death.
"""

from __future__ import annotations

import random

from hypothesis import example, given
from hypothesis import strategies as st

from evenflow.model.ids import NOWHERE, Position
from evenflow.model.messages import CommitCopy, ConsumerCommit, Progress
from evenflow.slices.actions import NodeGone
from evenflow.slices.consumer.core import ConsumerCore
from evenflow.slices.node.cache.slice_cache import SliceCache
from evenflow.slices.node.serving.rules import ServingRules

NAME = "audit"
Told = tuple[Position, Position]


class Domain:
    """Some serving nodes, what each of them keeps for late readers, and one consumer."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.nodes: dict[str, ServingRules] = {}
        self.copies: dict[str, CommitCopy] = {}
        self.inbox: dict[str, list[ConsumerCommit]] = {}
        """What a node has received and not yet looked at; one of them is always quick."""
        self.unaware: set[str] = set()
        """Nodes that have not noticed that the consumer died."""
        self.consumer: ConsumerCore | None = None
        self.commit: ConsumerCommit | None = None
        self.may_be: list[Told] = []
        """What the next life may find: what was told to all, or a newer one, told to some."""
        self._started = 0
        for _ in range(2):
            self.start_node()

    # -- nodes ------------------------------------------------------------------------------------

    def start_node(self) -> None:
        self._started += 1
        name = f"node-{self._started}"
        node = self.nodes[name] = ServingRules("items", name, SliceCache(1 << 20, serving=True))
        for other in self.nodes.values():
            node.on_consumer_message(progress(other))
        for copy in list(self.copies.values()):
            self._keep(node.on_copy(copy))
        if self.commit is not None:
            self._keep(node.on_consumer_message(self.commit))

    def stop_node(self, name: str) -> None:
        """A node leaves, which takes its time: the others have looked at what they received."""
        for other in list(self.inbox):
            self.take_in(other)
        del self.nodes[name]
        self.copies.pop(name, None)
        self.inbox.pop(name, None)
        self.unaware.discard(name)
        if self.consumer is not None:
            self.consumer.handle(NodeGone(name), 0.0)

    def notice_death(self, name: str) -> None:
        self.unaware.discard(name)
        self.take_in(name)
        self._keep(self.nodes[name].on_consumer_gone(NAME))

    def take_in(self, name: str) -> None:
        for commit in self.inbox.pop(name, []):
            self._keep(self.nodes[name].on_consumer_message(commit))

    def _keep(self, copy: CommitCopy | None) -> None:
        if copy is None:
            return
        self.copies[copy.node] = copy
        for node in list(self.nodes.values()):
            self._keep(node.on_copy(copy))
        if self.consumer is not None:
            self.consumer.handle(copy, 0.0)

    # -- the consumer -----------------------------------------------------------------------------

    def start_consumer(self, clock: int) -> Told | None:
        consumer = self.consumer = ConsumerCore("items", NAME, clock)
        late = [*map(progress, self.nodes.values()), *self.copies.values()]
        self.rng.shuffle(late)
        for message in late:
            consumer.handle(message, 0.0)
        while consumer.may_be_remembered and self.unaware:
            self.happen()
        if not self.unaware:
            for name in list(self.inbox):
                self.take_in(name)
        return consumer.remembered()

    def tell(self, told: Told, *, dying: bool = False) -> None:
        """Tell a commit to all nodes; one who dies meanwhile reaches some of them."""
        assert self.consumer is not None
        commit = self.consumer.commit(*told)
        reached = list(self.nodes)
        if dying:
            reached = self.rng.sample(reached, self.rng.randint(0, len(reached)))
        else:
            self.commit = commit
        self.may_be = [*self.may_be[-1:], told] if dying else [told]
        self.rng.shuffle(reached)
        for place, name in enumerate(reached):
            self.unaware.discard(name)  # the new writer is heard: nothing is missed of the old one
            self.inbox.setdefault(name, []).append(commit)
            if place == 0 or self.rng.random() < 0.7:
                self.take_in(name)
        if dying:
            self.die()

    def die(self) -> None:
        self.consumer = self.commit = None
        self.unaware = set(self.nodes)

    # -- chance -----------------------------------------------------------------------------------

    def happen(self) -> None:
        """Something that is not the consumer's doing."""
        choice = self.rng.random()
        if choice < 0.6 and self.unaware:
            self.notice_death(self.rng.choice(sorted(self.unaware)))
        elif choice < 0.8 and len(self.nodes) < 4:
            self.start_node()
        elif choice < 0.9 and len(self.nodes) > 2:
            leaving = self.rng.choice(sorted(self.nodes))
            if any(self.knows(name) for name in self.nodes.keys() - {leaving}):
                self.stop_node(leaving)

    def knows(self, name: str) -> bool:
        """Whether a node knows the newest of the consumer; one such node has to stay."""
        newest = self.nodes[name].consumers.newest(NAME)
        if newest is None:
            return not self.may_be
        planned = Position.of(newest.planned_writers, newest.planned_epochs)
        return (Position.of(newest.writers, newest.epochs), planned) in self.may_be


def progress(node: ServingRules) -> Progress:
    return Progress("items", "-", "grpc://-", (), (), node.consumers.names())


@given(st.integers(0, 1 << 32))
@example(105)  # one node has not noticed a death, another tells of the death before
@example(12_152)  # a node that is slow to hear of a return keeps an old commit
def test_every_life_goes_on_where_the_one_before_was(seed: int) -> None:
    rng = random.Random(seed)
    domain = Domain(rng)
    epoch = 0
    for life in range(rng.randint(2, 8)):
        found = domain.start_consumer(clock=1_000 * life)
        assert found in domain.may_be if life else found is None, f"{found} not in {domain.may_be}"
        domain.tell(found or (NOWHERE, NOWHERE))
        for _ in range(rng.randint(0, 5)):
            told = (Position({1: epoch}), Position({1: epoch + 1}))
            domain.tell(told)
            epoch += 1
            if rng.random() < 0.5:
                domain.happen()
        if rng.random() < 0.3:
            domain.tell((Position({1: epoch}), Position({1: epoch + 1})), dying=True)
            epoch += 1
        else:
            domain.die()
        for _ in range(rng.randint(0, 4)):
            domain.happen()
