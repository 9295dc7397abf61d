"""Items on their way into units, and how far each client's items are accepted.

Items of all clients of a topic gather for a moment and become a *unit*. The unit is written down
with the new *marks* (how far each of its clients is accepted); when that is synced the clients are
told that they are safe. One unit of a topic is on its way to the disk at a time: while the disk
works the next one gathers, so a slow disk makes units larger. That is also what makes recovery
simple: a mark is that of the newest unit in the outbox, or one step ahead of it.

On one link the items of a topic follow one another without gaps. The first may be any that is not
accepted here: those before it may have gone to other doors. What is accepted already, or taken on
this link, is dropped.

Datagrams get lost and overtake one another. So over such a link a client says with its items which
is the first (``begin``): the first that comes may be a later one, and those before it would be
taken for another door's. And what comes again is answered, for the word that it is safe may be
lost.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evenflow.edge.actions import Accept, Chunk, Mark, TellSafe
from evenflow.edge.sessions import CLOSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenflow.edge.actions import Client, Out
    from evenflow.edge.room import Room
    from evenflow.edge.sessions import Session
    from evenflow.edge.settings import EdgeSettings

ITEM_BYTES: Final = 128
"""What an item costs besides its payload."""


@dataclass(slots=True)
class Pipeline:
    """The items of one topic that are not safe yet."""

    next_unit: int
    gathered: deque[Chunk] = field(default_factory=deque)
    size: int = 0
    since: float = 0.0
    """When the first of them came."""
    waiting: Counter[Client] = field(default_factory=Counter)
    """Chunks of each client that are gathered."""
    in_flight: Accept | None = None
    accepted: dict[Client, int] = field(default_factory=dict)
    """How far clients with gathered items are accepted."""

    def has(self, client: Client) -> bool:
        """Whether items of a client are on their way."""
        return client in self.waiting or (
            self.in_flight is not None and client in self.in_flight.marks
        )


class Uplink:
    """The pipelines of all topics.

    Args:
        newest_units: The topics that clients may publish to, with the newest unit in the outbox.
        by_client: The session of each client that counts.
        room: Memory for items.
        settings: Bounds and times.
        out: Where actions go.
    """

    def __init__(
        self,
        newest_units: Mapping[str, int],
        by_client: Mapping[str, Session],
        room: Room,
        settings: EdgeSettings,
        out: Out,
    ) -> None:
        self._pipelines = {topic: Pipeline(unit + 1) for topic, unit in newest_units.items()}
        self._by_client = by_client
        self._room = room
        self._settings = settings
        self._out = out
        self._unsafe: Counter[str] = Counter()
        """Chunks of each client that are not safe, of all its runs."""
        self.items = 0
        """Items accepted."""
        self.repeated = 0
        """Items that came again and were dropped."""

    # -- in ----------------------------------------------------------------------------------------

    def take(
        self,
        session: Session,
        topic: str,
        first: int,
        times: tuple[int, ...],
        payloads: tuple[bytes, ...],
        now: float,
        begin: int | None = None,
        headers: tuple[bytes, ...] = (),
    ) -> str:
        """Take items of a client; return what is wrong with them, in words, or nothing.

        Args:
            session: Whose they are.
            topic: Where they go.
            first: Number of the first.
            times: Microseconds since 1970, of each.
            payloads: What is in each.
            now: The time.
            begin: The first item of the topic that the client sends over this link; None where the
                link loses nothing and keeps order: it is the first that comes.
            headers: Of each, as a sample of it alone has them, and checked; none when there are
                none.
        """
        if session.stage in CLOSED:
            return f"this client {session.stage.value}"
        if topic not in session.topics:
            return f"this client may not publish to topic {topic}"
        accepted = session.accepted.get(topic, 0)
        newest = session.taken.get(topic)
        if newest is None and begin is not None:
            newest = max(begin - 1, accepted)
        if newest is not None and first > newest + 1:
            return f"item {first} of {topic} came after {newest}: numbers must follow"
        known = accepted if newest is None else newest
        if first <= known:
            old = min(known + 1 - first, len(payloads))
            self.repeated += old
            # Old items alone change nothing; what is in them is no beginning either.
            if old == len(payloads):
                if begin is not None and first <= accepted:
                    self._out.append(TellSafe(session.link, topic, accepted))
                return ""
            first, times, payloads = first + old, times[old:], payloads[old:]
            headers = headers[old:]
        chunk = _chunk_of(session, first, times, payloads, headers)
        session.taken[topic] = chunk.last
        self._gather(self._pipelines[topic], chunk, accepted, now)
        self._room.take(session, chunk.size)
        return ""

    def _gather(self, pipeline: Pipeline, chunk: Chunk, accepted: int, now: float) -> None:
        client = (chunk.client, chunk.run)
        self._unsafe[chunk.client] += 1
        if not pipeline.gathered:
            pipeline.since = now
        pipeline.gathered.append(chunk)
        pipeline.size += chunk.size
        pipeline.waiting[client] += 1
        pipeline.accepted.setdefault(client, accepted)

    # -- out ---------------------------------------------------------------------------------------

    def deadline(self) -> float | None:
        """When the next unit is to be written."""
        due: float | None = None
        for pipeline in self._pipelines.values():
            if pipeline.gathered and pipeline.in_flight is None:
                wait = pipeline.since + self._settings.linger_s
                due = wait if due is None or wait < due else due
        return due

    def emit(self, now: float) -> None:
        """Write the units whose time has come."""
        for topic, pipeline in self._pipelines.items():
            if not pipeline.gathered or pipeline.in_flight is not None:
                continue
            full = pipeline.size >= self._settings.unit_bytes
            if full or now >= pipeline.since + self._settings.linger_s:
                pipeline.in_flight = self._unit(topic, pipeline)
                self._out.append(pipeline.in_flight)

    def _unit(self, topic: str, pipeline: Pipeline) -> Accept:
        chunks, size = [], 0
        numbers: dict[Client, int] = {}
        while pipeline.gathered and size < self._settings.unit_bytes:
            chunk = pipeline.gathered.popleft()
            client = (chunk.client, chunk.run)
            chunks.append(chunk)
            size += chunk.size
            numbers[client] = chunk.last
            pipeline.waiting[client] -= 1
            if not pipeline.waiting[client]:
                del pipeline.waiting[client]
        pipeline.size -= size
        marks = {
            client: Mark(number, pipeline.accepted[client]) for client, number in numbers.items()
        }
        unit, pipeline.next_unit = pipeline.next_unit, pipeline.next_unit + 1
        return Accept(topic, unit, tuple(chunks), marks)

    def on_synced(self, topic: str, unit: int) -> Iterable[Client]:
        """A unit is safe: tell the clients; return those who had items in it."""
        pipeline = self._pipelines[topic]
        done = pipeline.in_flight
        assert done is not None
        assert done.unit == unit
        pipeline.in_flight = None
        for chunk in done.chunks:
            self.items += len(chunk.payloads)
            self._room.give_back(chunk.link, chunk.size)
            self._unsafe[chunk.client] -= 1
            if not self._unsafe[chunk.client]:
                del self._unsafe[chunk.client]
        for client, mark in done.marks.items():
            if client in pipeline.waiting:
                pipeline.accepted[client] = mark.number
            else:
                del pipeline.accepted[client]
            self._tell(client, topic, mark.number)
        self._room.resume()
        return done.marks

    def _tell(self, client: Client, topic: str, number: int) -> None:
        name, run = client
        session = self._by_client.get(name)
        if session is None or session.run != run:
            return
        if session.stage not in CLOSED:
            session.accepted[topic] = number
            self._out.append(TellSafe(session.link, topic, number))

    # -- questions ---------------------------------------------------------------------------------

    @property
    def topics(self) -> Iterable[str]:
        """Topics that clients may publish to."""
        return self._pipelines.keys()

    @property
    def is_idle(self) -> bool:
        """Whether every item that was taken is safe."""
        return all(not p.gathered and p.in_flight is None for p in self._pipelines.values())

    def has(self, client: str, run: str, topic: str) -> bool:
        """Whether items of a client's run are on their way to the disk."""
        pipeline = self._pipelines.get(topic)
        return pipeline is not None and pipeline.has((client, run))

    def has_any(self, client: str) -> bool:
        """Whether items of a client are on their way to the disk, of whichever run."""
        return client in self._unsafe


def _chunk_of(
    session: Session,
    first: int,
    times: tuple[int, ...],
    payloads: tuple[bytes, ...],
    headers: tuple[bytes, ...],
) -> Chunk:
    """Items of a client, with what they cost here."""
    size = sum(map(len, (*payloads, *headers))) + ITEM_BYTES * len(payloads)
    who = (session.client, session.run, session.sender, session.link)
    return Chunk(*who, first, times, payloads, size, headers)
