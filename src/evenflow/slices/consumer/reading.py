"""Reads a range of items from whoever has them; in Spark, in an executor.

A reader is given slices, two positions, and the addresses of the nodes. It first asks the node that
owned the slices when the batch was planned. When that node refuses (the slices moved, or an epoch
is not whole yet), breaks off or says nothing for `SILENT_S`, it asks any node who owns what is
still lacking, and goes on there. How far each slice and writer was read is in the metadata of every
record batch, so nothing is read twice and nothing is left out, wherever a stream broke off.

When no node answers at all, the domain is asked where others are. It gives up when nothing at all
came for ``timeout_s``, or at once when the nodes were told to forget what it asks for.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from pyarrow import ArrowException, flight

from evenflow.domain.codec import encode
from evenflow.errors import DecodeError, ReadFailed
from evenflow.model.ids import Position
from evenflow.slices.consumer.connections import FlightClients
from evenflow.slices.consumer.counts import Run, decode_runs
from evenflow.slices.consumer.finding import find_addresses
from evenflow.slices.consumer.idle_limit import streamed
from evenflow.slices.consumer.row_numbers import Reached, decode_spans, numbered
from evenflow.slices.consumer.ticket import (
    COUNTS,
    HELD,
    READS,
    SINCE,
    Range,
    decode_ticket,
    encode_question,
    encode_ticket,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyarrow import RecordBatch

    from evenflow.config import DomainConfig
    from evenflow.model.messages import SliceReads
    from evenflow.slices.consumer.row_numbers import Spans

FIRST_PAUSE_S: Final = 0.01
LONGEST_PAUSE_S: Final = 0.2
CALL_S: Final = 10.0
"""How long a call that gives directions may take."""
SILENT_S: Final = 20.0
"""A node that is asked and says nothing for this long stands still, or is gone with its host."""
LOST_S: Final = 3.0
"""When no node at all has answered for so long, the domain is asked where others are."""
TELL_S: Final = 1.0
"""How long a call may take that no item depends on."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Share:
    """What is read at once from one node; in Spark, by one task in another process."""

    topic: str
    address: str
    """The node that owned the slices when the batch was planned; empty when there was none."""
    addresses: tuple[str, ...]
    """All nodes, to ask the way."""
    asked: Range
    timeout_s: float
    domain: DomainConfig | None = None
    """Where to look for nodes when none of these answers."""


class Reading(Generic[T]):
    """A reader's way through its share, from owner to owner."""

    def __init__(self, share: Share) -> None:
        self.share = share
        self.pending = set(share.asked.slices)
        self.reached = Reached(share.asked.slices, share.asked.end)
        self.addresses = set(share.addresses) | ({share.address} - {""})
        self.said = "no node answers"
        self.answered = time.monotonic()
        """When a node last gave the way."""
        self.chunks = 0
        self.deadline = time.monotonic() + share.timeout_s

    def run(self) -> Iterator[T]:
        """Ask until nothing is lacking; `ReadFailed` when nobody gives it."""
        asked = self.share.asked
        ways: list[tuple[str, tuple[int, ...]]] = []
        if self.share.address:
            ways.append((self.share.address, asked.slices))
        pause = FIRST_PAUSE_S
        while self.pending:
            before = self.chunks, len(self.pending)
            for address, slices in ways:
                lacking = [s for s in slices if s in self.pending]
                if lacking:
                    yield from self._try(address, lacking)
            if not self.pending:
                return
            if before != (self.chunks, len(self.pending)):
                pause = FIRST_PAUSE_S
            elif time.monotonic() > self.deadline:
                raise ReadFailed(
                    self.share.topic,
                    sorted(self.pending),
                    f"nothing came for {self.share.timeout_s:g} s, the last answer: {self.said};"
                    " see 'evenflow nodes' and 'evenflow slices'",
                )
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, LONGEST_PAUSE_S)
            ways = self._ask_the_way()

    def _range(self, slices: list[int]) -> Range:
        return replace(self.share.asked, slices=tuple(slices), after=self.reached.after(slices))

    def _try(self, address: str, slices: list[int]) -> Iterator[T]:
        """Ask one node for some slices."""
        try:
            yield from self.ask(_clients.get(address), self._range(slices))
            self.pending -= set(slices)
            self._came()
        except (flight.FlightError, ArrowException, OSError) as error:
            self._failed(address, slices, error)

    def ask(self, client: Any, asked: Range) -> Iterator[T]:
        """Ask one node; errors of Flight are its refusals."""
        raise NotImplementedError

    def _came(self) -> None:
        self.chunks += 1
        self.deadline = time.monotonic() + self.share.timeout_s

    def _failed(self, address: str, slices: list[int], error: Exception) -> None:
        reason = bytes(getattr(error, "extra_info", b"") or b"").decode(errors="replace")
        self.said = f"{reason or 'no answer'} from {address} ({str(error)[:200]})"
        if reason == "forgotten":
            raise ReadFailed(
                self.share.topic,
                slices,
                f"{self.said}; the consumer was not registered while these items were kept:"
                " start it under a new name, a Spark query with a new checkpoint",
                forgotten=True,
            ) from None
        if reason not in {"moved", "later"}:
            _clients.drop(address)

    def _ask_the_way(self) -> list[tuple[str, tuple[int, ...]]]:
        """Who owns what is still lacking; from the first node that answers."""
        command = encode_ticket(self.share.topic, self._range(sorted(self.pending)))
        descriptor = flight.FlightDescriptor.for_command(command)
        options = flight.FlightCallOptions(timeout=CALL_S)
        for address in random.sample(sorted(self.addresses), len(self.addresses)):
            try:
                info = _clients.get(address).get_flight_info(descriptor, options)
                ways = [
                    (one.locations[0].uri.decode(), decode_ticket(one.ticket.ticket)[1].slices)
                    for one in info.endpoints
                ]
            except (flight.FlightError, ArrowException, OSError, DecodeError) as error:
                self.said = f"no answer from {address} ({str(error)[:200]})"
                _clients.drop(address)
                continue
            self.addresses |= {owner for owner, _ in ways}
            self.answered = time.monotonic()
            return ways
        if self.share.domain is not None and time.monotonic() > self.answered + LOST_S:
            self.answered = time.monotonic()
            # All nodes are others than when the batch was planned.
            self.addresses |= find_addresses(self.share.domain, self.share.topic)
        return []


class _Items(Reading["tuple[RecordBatch, Spans]"]):
    """Reads the items themselves."""

    def ask(self, client: Any, asked: Range) -> Iterator[tuple[RecordBatch, Spans]]:
        ticket = flight.Ticket(encode_ticket(self.share.topic, asked))
        silent_s = min(SILENT_S, self.share.timeout_s)
        for chunk in streamed(lambda: client.do_get(ticket), silent_s):
            spans = decode_spans(chunk.app_metadata.to_pybytes(), chunk.data.num_rows)
            yield chunk.data, spans
            self.reached.add(spans)
            self._came()


class _Answers(Reading[bytes]):
    """Asks something about a share.

    Args:
        share: What is asked about.
        kind: The kind of question.
        number: What it asks for beside the share.
    """

    def __init__(self, share: Share, kind: str, number: int) -> None:
        super().__init__(share)
        self._kind, self._number = kind, number

    def ask(self, client: Any, asked: Range) -> Iterator[bytes]:
        action = flight.Action(self._kind, encode_question(self.share.topic, asked, self._number))
        options = flight.FlightCallOptions(timeout=min(SILENT_S, self.share.timeout_s))
        for answer in list(client.do_action(action, options)):
            yield answer.body.to_pybytes()


def tell_reads(share: Share, reads: SliceReads) -> None:
    """Give a node what a task has read, to pass on; it is no matter when none takes it."""
    action = flight.Action(READS, encode(reads))
    options = flight.FlightCallOptions(timeout=TELL_S)
    others = [address for address in share.addresses if address != share.address]
    for address in ([share.address] if share.address else []) + others[:1]:
        try:
            list(_clients.get(address).do_action(action, options))
        except (flight.FlightError, ArrowException, OSError):
            _clients.drop(address)
        else:
            return


def count_held(topic: str, address: str, asked: Range) -> int | None:
    """How many items of a range a node has in its own slices; None when it does not say."""
    action = flight.Action(HELD, encode_ticket(topic, asked))
    try:
        [told] = _clients.get(address).do_action(action, flight.FlightCallOptions(timeout=TELL_S))
        return int(told.body.to_pybytes())
    except (flight.FlightError, ArrowException, OSError, ValueError):
        _clients.drop(address)
        return None


def read_share(share: Share) -> Iterator[RecordBatch]:
    """Read what a task shall read; `ReadFailed` when nobody gives it."""
    return (rows for rows, _ in _Items(share).run())


def read_numbered(share: Share) -> Iterator[RecordBatch]:
    """The same, with the writer and the number of each item as columns before the others.

    If items have headers, these are the last column.
    """
    whole = replace(share, asked=replace(share.asked, headers=True))
    return (numbered(rows, spans) for rows, spans in _Items(whole).run())


def count_share(share: Share, most: int) -> Iterator[Run]:
    """Count what a task would read; what lies behind so many items may be left out."""
    return (run for one in _Answers(share, COUNTS, most).run() for run in decode_runs(one))


def first_epochs(share: Share, time_us: int) -> Iterator[Position]:
    """Which epochs are the first to have items of a time or later, of some of the slices each."""
    return (Position.parse(one) for one in _Answers(share, SINCE, time_us).run())


_clients: Final = FlightClients()
"""Workers are used again, so connections are kept from task to task."""
