"""A node alone, without balancer, publishers and other nodes: what it is told, and what it does."""

from __future__ import annotations

from dataclasses import dataclass, field

from evenflow.model.batch import Batch, Item
from evenflow.model.messages import (
    Ack,
    CacheChunk,
    EpochClose,
    MapPage,
    Order,
    ReplayAnswer,
    ReplayRequest,
    SliceState,
    Step,
)
from evenflow.model.sample import Sample
from evenflow.model.slice_map import page_slices
from evenflow.slices.actions import Send
from evenflow.slices.node.core import NodeCore
from evenflow.slices.node.settings import NodeSettings
from evenflow.testing.samples import encode_items

TOPIC, ME, OTHER = "items", "me~1", "other~2"
WRITER = 7
SLICES = 6
TERM = (1 << 20) + 1
"""The first term of the first balancer."""
SESSION = TERM + 1
"""A session of the same balancer."""
NEXT_BALANCER = 2 << 20
SETTINGS = NodeSettings(deliver_items=2, lease=30.0, stall=1.0, writer_silence=10.0)


def sample_of(
    runs: dict[int, tuple[int, int]],
    writer: int = WRITER,
    *,
    serial: int = 1,
    epoch: int = 1,
    payload: bytes = b"x",
) -> Sample:
    """A sample with, for each slice, items from a first number on; an item's id is its number."""
    items = {
        slice_id: (first, [Item("s", first + i, 0, payload) for i in range(count)])
        for slice_id, (first, count) in runs.items()
    }
    return Sample(encode_items(writer, serial, epoch, items))


def batch(slice_id: int = 0, first: int = 1, count: int = 1, writer: int = WRITER) -> Batch:
    """A batch, alone in its sample; the serial numbers of such samples ascend as they should."""
    [one] = sample_of({slice_id: (first, count)}, writer, serial=first).batches()
    return one


def close(last: dict[int, int], writer: int = WRITER, slice_count: int = SLICES) -> EpochClose:
    return EpochClose(
        writer=writer, topic=TOPIC, epoch=1, slice_count=slice_count, slices=tuple(last),
        last=tuple(last.values()), closing=False, committed=0, items=0,
    )  # fmt: skip


def order(step: Step, *slices: int, term: int = TERM, peer: str = OTHER) -> Order:
    return Order(TOPIC, ME, term, step, slices, peer)


def map_page(
    owners: dict[int, str], term: int, version: int, *, page: int = 0, slice_count: int = SLICES
) -> MapPage:
    nodes = tuple(sorted(set(owners.values())))
    slices = page_slices(page, slice_count)
    of = tuple(nodes.index(owners[s]) + 1 if s in owners else 0 for s in slices)
    terms = tuple(term * (s in owners) for s in slices)
    return MapPage(TOPIC, page, 1, version, slice_count, nodes, of, terms)


@dataclass
class Node:
    """A node, and what it did so far, by kind."""

    core: NodeCore = field(default_factory=lambda: NodeCore(TOPIC, ME, SLICES, SETTINGS, 0.0))
    now: float = 0.0

    def does(self, actions: list[Send]) -> list[object]:
        return [action.message if isinstance(action, Send) else action for action in actions]

    def hears(self, *events: object) -> list[object]:
        return [one for event in events for one in self.does(self.core.handle(event, self.now))]

    def polls(self, seconds: float = 0.0, kind: type = object) -> list[object]:
        self.now += seconds
        return [one for one in self.does(self.core.poll(self.now)) if isinstance(one, kind)]

    def gets(self, *batches: Batch | Sample, replayed: bool = False) -> None:
        for one in batches:
            sample = one.sample if isinstance(one, Batch) else one
            self.core.receive(sample, self.now, replayed=replayed)

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
    node.hears(close({}), order(Step.TAKE, *slices))
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
    request: int = 1_000,
) -> ReplayAnswer:
    """What a writer answers; to the newest request, unless told otherwise."""
    refused = refused or {}
    return ReplayAnswer(
        TOPIC, writer, ME, request, tuple(floors), tuple(floors.values()),
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
        tuple(b.sample.size for b in batches), b"".join(b.sample.encoded for b in batches),
    )  # fmt: skip


def taker() -> Node:
    """A node that has added slice 3 and is ordered to become active."""
    node = owner_of(0)
    assert acks(node.hears(order(Step.ADD, 3, term=SESSION))) == [(Step.ADD, True)]
    assert acks(node.hears(order(Step.ACTIVATE, 3, term=SESSION))) == [(Step.ACTIVATE, True)]
    return node
