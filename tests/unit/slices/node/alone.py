"""A node alone, without balancer, publishers and other nodes: what it is told, and what it does."""

from __future__ import annotations

from dataclasses import dataclass, field

from evenflow.model.batch import Batch, Item, encode_items
from evenflow.model.messages import (
    Ack,
    CacheChunk,
    EpochClose,
    Order,
    ReplayAnswer,
    ReplayRequest,
    SliceMap,
    SliceState,
    Step,
)
from evenflow.slices.actions import (
    Action,
    Send,
    Subscribe,
    Subscribed,
)
from evenflow.slices.node.core import NodeCore
from evenflow.slices.node.settings import NodeSettings

TOPIC, ME, OTHER = "items", "me~1", "other~2"
WRITER = 7
SLICES = 6
TERM = (1 << 20) + 1
"""The first term of the first balancer."""
SESSION = TERM + 1
"""A session of the same balancer."""
NEXT_BALANCER = 2 << 20
SETTINGS = NodeSettings(deliver_items=2, lease=30.0, stall=1.0, writer_grace=10.0)


def batch(slice_id: int = 0, first: int = 1, count: int = 1, writer: int = WRITER) -> Batch:
    items = [Item("s", first + i, 0, b"x") for i in range(count)]
    return Batch(encode_items(writer, slice_id, 1, first, items))


def close(last: dict[int, int], writer: int = WRITER, slice_count: int = SLICES) -> EpochClose:
    return EpochClose(
        writer=writer, topic=TOPIC, epoch=1, slice_count=slice_count, slices=tuple(last),
        last=tuple(last.values()), closing=False, committed=0, items=0,
    )  # fmt: skip


def order(step: Step, *slices: int, term: int = TERM, peer: str = OTHER) -> Order:
    return Order(TOPIC, ME, term, step, slices, peer)


def slice_map(owners: dict[int, str], term: int, version: int) -> SliceMap:
    nodes = tuple(sorted(set(owners.values())))
    of = tuple(nodes.index(owners[s]) + 1 if s in owners else 0 for s in range(SLICES))
    return SliceMap(
        TOPIC, 1, version, nodes, of, tuple(term * (s in owners) for s in range(SLICES))
    )


@dataclass
class Node:
    """A node, and what it did so far, by kind."""

    core: NodeCore = field(default_factory=lambda: NodeCore(TOPIC, ME, SLICES, SETTINGS, 0.0))
    now: float = 0.0

    def does(self, actions: list[Action]) -> list[object]:
        return [action.message if isinstance(action, Send) else action for action in actions]

    def hears(self, *events: object) -> list[object]:
        return [one for event in events for one in self.does(self.core.handle(event, self.now))]

    def polls(self, seconds: float = 0.0, kind: type = object) -> list[object]:
        self.now += seconds
        return [one for one in self.does(self.core.poll(self.now)) if isinstance(one, kind)]

    def gets(self, *batches: Batch, replayed: bool = False) -> None:
        for one in batches:
            self.core.receive(one, self.now, replayed=replayed)

    def works(self) -> list[int]:
        """The application processes all it can get; returns the numbers."""
        numbers = []
        while (one := self.core.next_delivery(self.now)) is not None:
            numbers += one.ids.tolist()
            self.core.delivered(0.01)
        return numbers

    def state(self, slice_id: int) -> SliceState | None:
        held = self.core.cache.held.get(slice_id)
        return held.state if held else None


def owner_of(*slices: int, floor: int = 0) -> Node:
    """A node that owns slices, knows a writer, and has heard from it where its numbers start."""
    node = Node()
    node.hears(close({}), order(Step.TAKE, *slices), Subscribed(TERM))
    [request] = node.polls(kind=ReplayRequest)
    assert isinstance(request, ReplayRequest)
    node.hears(answer(dict.fromkeys(slices, floor)))
    node.polls()
    return node


def answer(
    floors: dict[int, int],
    *,
    last: int = 0,
    refused: dict[int, int] | None = None,
    writer: int = WRITER,
) -> ReplayAnswer:
    refused = refused or {}
    return ReplayAnswer(
        TOPIC, writer, ME, 1, tuple(floors), tuple(floors.values()),
        tuple(max(last, floor) for floor in floors.values()), tuple(refused),
        tuple(refused.values()),
    )  # fmt: skip


def acks(done: list[object]) -> list[tuple[Step, bool]]:
    return [(Step(one.step), one.ok) for one in done if isinstance(one, Ack)]


def reason(done: list[object]) -> str:
    [one] = [one for one in done if isinstance(one, Ack)]
    assert not one.ok
    return one.reason


def chunk(done: int, *batches: Batch, known: int = 1, writer: int = WRITER) -> CacheChunk:
    return CacheChunk(
        TOPIC, SESSION, OTHER, ME, 0, 1, 0, (3,), (writer,), (done,), (known,),
        tuple(b.size for b in batches), b"".join(b.encoded for b in batches),
    )  # fmt: skip


def taker() -> Node:
    """A node that has added slice 3 and is ordered to become active."""
    node = owner_of(0)
    assert node.hears(order(Step.ADD, 3, term=SESSION)) == [Subscribe(frozenset({3}), SESSION)]
    assert acks(node.hears(Subscribed(SESSION))) == [(Step.ADD, True)]
    assert acks(node.hears(order(Step.ACTIVATE, 3, term=SESSION))) == [(Step.ACTIVATE, True)]
    return node
