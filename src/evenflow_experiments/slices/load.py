"""A steady load for experiments: publishers in processes of their own, each with its own ids.

A publisher has a participant to itself, as every program has that publishes; several of them may
share a process, so that many publishers fit on a small machine. Items are published one by one, as
they fall due. Each publisher numbers its items from a first id of its own, so that it can be told
afterwards what became of every one of them; with the assignment ``modulo:id`` the first ids also
say where in the slices a publisher begins, so that all slices get their items in turn.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenflow.closing import Closing
from evenflow.domain.cyclone import Participant
from evenflow.errors import EvenflowError
from evenflow.slices.publisher.publisher import Publisher
from evenflow_experiments.slices.helper import FAREWELL_S, Helper

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

    from evenflow.config import Config
    from evenflow_experiments.slices.arrivals import Arrivals

MOST_PROCESSES: Final = 10
"""More publishers than this share processes."""
END_S: Final = 60.0
"""How long the publishers wait at the end until everything is committed."""
_TURN_S: Final = 0.01
_MOST: Final = 1_000
"""Items of a publisher in one turn: who has fallen behind still listens to orders."""
_SPAN: Final = 10**12
"""Ids that lie between two publishers."""
GO, LOOK, END = "go", "look", "end"


@dataclass(frozen=True, slots=True)
class Stream:
    """What one publisher is to send."""

    first: int
    """Id of its first item."""
    rate: float
    """Items a second."""
    octets: int
    """Size of a payload."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What one publisher has sent so far."""

    ids: range
    committed: int
    endpoints: int
    """DDS readers and writers it has open."""
    fault: str = ""
    """Why it stopped, when it did not stop by order."""


def books(sent: Sequence[Sent], arrivals: Arrivals) -> dict[str, int]:
    """What was published and what became of it, from what nodes have really processed.

    ``lost`` was never processed although nobody waits for it any more. What a publisher had to give
    up, because it was not committed in time, and nobody has processed, is ``unfinished`` instead.
    """
    lost = unfinished = repeated = 0
    found = arrivals.audit(each.ids for each in sent)
    for each, (lacking, again) in zip(sent, found, strict=True):
        held = min(lacking, len(each.ids) - each.committed)
        lost, unfinished, repeated = lost + lacking - held, unfinished + held, repeated + again
    published = sum(len(each.ids) for each in sent)
    return {
        "published": published, "lost": lost, "unfinished": unfinished, "repeated": repeated,
    }  # fmt: skip


def streams(publishers: int, slices: int, rate: float, octets: int) -> list[Stream]:
    """Cut a load into the streams of several publishers, which begin at different slices."""
    each = rate / publishers
    return [
        Stream(_SPAN * n + 1 + _first_slice(n, publishers, slices), each, octets)
        for n in range(publishers)
    ]


def _first_slice(number: int, publishers: int, slices: int) -> int:
    """What to add to an id so that the publishers' first slices lie evenly."""
    return (number * slices // publishers - _SPAN * number - 1) % slices


class Source:
    """One publisher with its stream. Used by one thread."""

    def __init__(self, config: Config, stream: Stream) -> None:
        self._stream = stream
        self._next = stream.first
        self._payload = bytes(stream.octets)
        self._participant = Participant(config.domain)
        self._publisher = Publisher(
            config.topics[0].name,
            config=config,
            assignment="modulo:id",
            participant=self._participant,
        )
        self._fault = ""

    def publish_due(self, elapsed_s: float) -> None:
        """Publish what is due since the load began, or some of it; after a fault nothing more."""
        end = self._stream.first + int(elapsed_s * self._stream.rate)
        end = min(end, self._next + _MOST)
        try:
            while self._next < end and not self._fault:
                self._publisher.publish(self._payload, id=self._next)
                self._next += 1
        except EvenflowError as error:
            self._fault = str(error)

    def look(self) -> Sent:
        """What was sent so far."""
        return Sent(
            range(self._stream.first, self._next),
            self._publisher.committed,
            self._participant.endpoints,
            self._fault,
        )

    def finish(self, timeout_s: float) -> Sent:
        """Wait until everything is committed, and leave."""
        endpoints = self._participant.endpoints
        try:
            self._publisher.close(timeout_s)
        except EvenflowError as error:
            self._fault = self._fault or str(error)
        sent = self.look()
        return Sent(sent.ids, sent.committed, endpoints, sent.fault)

    def close(self) -> None:
        """Leave the domain."""
        self._participant.close()


def serve_load(config: Config, mine: Sequence[Stream], pipe: Connection) -> None:
    """Publish some streams: from ``GO`` to ``END``, answering with what was sent to ``LOOK``."""
    with ExitStack() as stack:
        sources = [Source(config, stream) for stream in mine]
        for source in sources:
            stack.callback(source.close)
        pipe.send("ready")
        try:
            if pipe.recv() != GO or _publish(sources, pipe) != END:
                return
            deadline = time.monotonic() + END_S
            pipe.send([one.finish(max(0.0, deadline - time.monotonic())) for one in sources])
            pipe.recv()
        except EOFError:
            return


def _publish(sources: list[Source], pipe: Connection) -> str | None:
    """Publish what falls due until there is an order other than to look; return that."""
    started = time.monotonic()
    while True:
        if pipe.poll(_TURN_S):
            order: str | None = pipe.recv()
            if order != LOOK:
                return order
            pipe.send([source.look() for source in sources])
        elapsed = time.monotonic() - started
        for source in sources:
            source.publish_due(elapsed)


class Load(Closing):
    """All publishers of an experiment, in at most ``MOST_PROCESSES`` processes.

    Args:
        experiment: Whose they are, for errors.
        config: The configuration; they publish to its first topic.
        wanted: What each publisher is to send.
    """

    def __init__(self, experiment: str, config: Config, wanted: Sequence[Stream]) -> None:
        count = min(len(wanted), MOST_PROCESSES)
        self._helpers = [
            Helper(experiment, serve_load, config, wanted[number::count]) for number in range(count)
        ]

    @property
    def pids(self) -> list[int]:
        """The processes."""
        return [helper.pid for helper in self._helpers]

    def begin(self) -> None:
        """Wait until all publishers are in the domain, then let them publish."""
        for helper in self._helpers:
            helper.answer()
        for helper in self._helpers:
            helper.tell(GO)

    def look(self) -> list[Sent]:
        """What every publisher has sent so far."""
        return self._ask(LOOK)

    def end(self) -> list[Sent]:
        """Stop publishing and wait until everything is committed, ``END_S`` at most."""
        return self._ask(END)

    def _ask(self, order: str) -> list[Sent]:
        for helper in self._helpers:
            helper.tell(order)
        return [sent for helper in self._helpers for sent in helper.answer()]

    def close(self) -> None:
        """End the processes."""
        for helper in self._helpers:
            helper.dismiss()
        deadline = time.monotonic() + FAREWELL_S
        for helper in self._helpers:
            helper.close(max(0.0, deadline - time.monotonic()))
