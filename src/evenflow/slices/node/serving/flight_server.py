"""The service of a serving node: items as Arrow record batches, by Arrow Flight.

``do_get(ticket)`` streams the items of a :class:`~evenflow.slices.consumer.ticket.Range`, with
their headers if these are asked for and there are any. The choice is made at once, under the node's
lock, and the stream then runs without it: batches do not change. Each record batch carries in its
metadata which numbers its rows have (:mod:`evenflow.slices.consumer.row_numbers`), so a reader
whose stream breaks off asks for the rest, here or elsewhere.

``get_flight_info(descriptor)`` says who owns the slices now: an endpoint for each owner. Any node
can be asked.

``do_action("counts")`` says how many items a range has, by writer, epoch and slice, for a consumer
that may take only so many.

``do_action("since")`` says which epochs of a range are the first to have items of a time or later.

``do_action("reads")`` takes what a reader's task has read, an encoded
:class:`~evenflow.model.messages.SliceReads`, and tells the domain: executors are no part of it.

``do_action("held")`` tells how many items of a ticket are here, for who asks how far somebody is
behind.

A refusal is an error whose ``extra_info`` is the reason (``moved``, ``later``, ``forgotten``,
``wrong``). After ``forgotten`` there is no use in asking anybody.
"""

from __future__ import annotations

import logging
import os
import socket
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_address
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

import psutil
from pyarrow import ArrowException, flight

from evenflow.domain.codec import codec_of
from evenflow.errors import DecodeError, DomainError
from evenflow.errors.listening import why_not_listening
from evenflow.model.messages import SliceReads
from evenflow.slices.consumer.arrow_batches import HEADED, SCHEMA, record_batches
from evenflow.slices.consumer.counts import encode_runs
from evenflow.slices.consumer.row_numbers import spans_of
from evenflow.slices.consumer.ticket import (
    COUNTS,
    HELD,
    READS,
    SINCE,
    Range,
    Refusal,
    decode_question,
    decode_ticket,
    encode_ticket,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenflow.model.batch import Batch
    from evenflow.model.ids import Position
    from evenflow.slices.consumer.counts import Run
    from evenflow.slices.node.serving.directory import Directory

    Select = Callable[[Range], list[Batch] | Refusal]
    Count = Callable[[Range, int], list[Run] | Refusal]
    Since = Callable[[Range, int], Position | Refusal]
    Tell = Callable[[SliceReads], object]

WRONG: Final = "wrong"
FINISH_S: Final = 5.0
"""How long readers have to finish what they are reading from a node that leaves."""
AGAIN_S: Final = 0.2
_LOG = logging.getLogger(__name__)


def check_free(host: str, port: int) -> None:
    """Raise `OSError` when a port is taken; the service itself would share it, or tell in a log."""
    if port:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))


class FlightServer(flight.FlightServerBase):  # type: ignore[misc]
    """Serves one topic of one node, in threads of its own.

    Args:
        topic: The topic.
        interface: Network interface to listen on, by name or address.
        port: Port to listen on; 0 for any.
        select: Gives the batches of a range or says why not; called by any thread.
        count: Counts the items of a range or says why not; called by any thread.
        since: Finds the first epochs of a time or later, or says why not; called by any thread.
        held: Says how many items of a range are here in own slices.
        directory: Knows the other nodes.
        tell: Tells the domain what a task has read.
    """

    def __init__(
        self,
        topic: str,
        interface: str,
        port: int,
        *,
        select: Select,
        count: Count,
        since: Since,
        held: Callable[[Range], int],
        directory: Directory,
        tell: Tell,
    ) -> None:
        host = address_of(interface)
        shown = f"[{host}]" if ":" in host else host
        try:
            check_free(host, port)
            super().__init__(f"grpc://{shown}:{port}")
        except (flight.FlightError, ArrowException, OSError) as error:
            reason = why_not_listening(error) if isinstance(error, OSError) else str(error)
            advice = "set node.flight_port to a free port, or to 0 for any"
            raise DomainError(
                f"cannot listen at {shown}:{port}", f"{reason}, or {advice}"
            ) from None
        self.address = f"grpc://{shown}:{self.port}"
        """Where readers find this service."""
        self._topic = topic
        self._select = select
        self._count = count
        self._since = since
        self._held = held
        self._directory = directory
        self._tell = tell

    def leave(self) -> None:
        """Answer nobody any more. Who is reading may finish; who stands still is broken off.

        Flight itself would wait for a reader that was stopped, with its connection, for ever.
        """
        ending = Thread(target=self.shutdown, name="evenflow-flight-end", daemon=True)
        ending.start()
        ending.join(FINISH_S)
        while ending.is_alive():
            break_off(self.port)
            ending.join(AGAIN_S)

    def do_get(self, context: Any, ticket: Any) -> Any:  # noqa: ARG002 - Flight calls it so
        """Stream what a ticket asks for."""
        asked = self._decode(ticket.ticket)
        found = self._select(asked)
        if isinstance(found, Refusal):
            raise _unavailable(found)
        headed = asked.headers and any(batch.sample.headers_at for batch in found)
        return flight.GeneratorStream(HEADED if headed else SCHEMA, _stream(found, headed=headed))

    def get_flight_info(self, context: Any, descriptor: Any) -> Any:  # noqa: ARG002
        """Say which owners to ask for what a ticket asks for."""
        asked = self._decode(descriptor.command or b"")
        endpoints = []
        for address, slices in self._directory.owners(asked.slices).items():
            wanted = set(slices)
            after = {key: last for key, last in asked.after.items() if key[0] in wanted}
            part = replace(asked, slices=tuple(slices), after=after)
            endpoints.append(flight.FlightEndpoint(encode_ticket(self._topic, part), [address]))
        return flight.FlightInfo(SCHEMA, descriptor, endpoints, -1, -1)

    def do_action(self, context: Any, action: Any) -> list[bytes]:  # noqa: ARG002
        """Count the items of a range, or pass on what a task has read."""
        if action.type in (COUNTS, SINCE):
            return [self._answer(action.type, action.body.to_pybytes())]
        if action.type == HELD:
            return [str(self._held(self._decode(action.body.to_pybytes()))).encode()]
        if action.type == READS:
            self._pass_on(action.body.to_pybytes())
            return []
        raise self._refuse(f"unknown action {action.type!r}")

    def _answer(self, kind: str, encoded: bytes) -> bytes:
        try:
            topic, asked, number = decode_question(encoded)
        except DecodeError as error:
            raise self._refuse(str(error)) from None
        self._check_topic(topic, "a question about")
        found = (self._count if kind == COUNTS else self._since)(asked, number)
        if isinstance(found, Refusal):
            raise _unavailable(found)
        return encode_runs(found) if isinstance(found, list) else str(found).encode()

    def _pass_on(self, encoded: bytes) -> None:
        try:
            reads = codec_of(SliceReads).decode(encoded)
        except DecodeError as error:
            raise self._refuse(str(error)) from None
        self._check_topic(reads.topic, "reads of")
        self._tell(reads)

    def _decode(self, encoded: bytes) -> Range:
        try:
            topic, asked = decode_ticket(encoded)
        except DecodeError as error:
            raise self._refuse(str(error)) from None
        self._check_topic(topic, "a ticket for")
        return asked

    def _check_topic(self, topic: str, what: str) -> None:
        if topic != self._topic:
            raise self._refuse(f"{what} topic {topic!r} at a node of {self._topic!r}")

    def _refuse(self, reason: str) -> Exception:
        _LOG.warning("refused a reader: %s", reason)
        error: Exception = flight.FlightServerError(reason, WRONG.encode())
        return error


def _unavailable(refusal: Refusal) -> Exception:
    error: Exception = flight.FlightUnavailableError(refusal.detail, refusal.reason.encode())
    return error


def _stream(batches: list[Batch], *, headed: bool) -> Iterator[tuple[Any, bytes]]:
    for record, pieces in record_batches(batches, headed=headed):
        yield record, spans_of(pieces).encode()


def break_off(port: int) -> None:
    """End all connections that others have at a port of this process; they may ask elsewhere."""
    for one in psutil.Process().net_connections("tcp"):
        if one.status != psutil.CONN_LISTEN and one.laddr.port == port:
            with suppress(OSError), socket.socket(fileno=os.dup(one.fd)) as connection:
                if connection.getsockname()[1] == port:  # not closed, and another's, meanwhile
                    connection.shutdown(socket.SHUT_RDWR)


def address_of(interface: str) -> str:
    """The address of a network interface given by name or address; IPv4 before IPv6."""
    try:
        return str(ip_address(interface))
    except ValueError:
        pass
    known = psutil.net_if_addrs().get(interface, [])
    for family in (socket.AF_INET, socket.AF_INET6):
        for one in known:
            if one.family == family:
                return str(one.address).partition("%")[0]
    raise DomainError(f"interface {interface}", "has no IP address: set domain.interface")
