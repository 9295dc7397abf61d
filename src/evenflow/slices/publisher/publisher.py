"""Publish items into the slices of a topic.

.. code-block:: python

    with Publisher("items") as publisher:
        publisher.publish({"speed": 12.5}, sender="car-7")

``publish`` accepts an item: it has a place in the retention, and will reach the node that owns its
slice however often that changes. It returns before the item is sent or processed; ``close`` (and so
the end of the ``with`` block) waits until everything is committed. A block that ends by an
exception waits for at most 5 s, logs what is given up or kept in the outbox, and the exception goes
on. When as much is uncommitted as ``publisher.retention_bytes`` allows, ``publish`` blocks, for at
most ``publisher.block_s``: nothing is dropped.

With ``publisher.linger_ms = 0`` an item is written by the caller's thread at once; otherwise it
waits for others, as :mod:`evenflow.slices.publisher.sealing` says. Whoever brings what fills a
sample writes it. ``publish_columns`` touches no single item in Python. All methods may be called by
any thread, and by no process that is forked later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from os import PathLike
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Final

from evenflow.clock import SystemClock, seconds
from evenflow.config import Config
from evenflow.domain import enter
from evenflow.errors import UsageError
from evenflow.forking import watch
from evenflow.model.batch import Int32s
from evenflow.model.encoding import ITEM_BYTES, RUN_BYTES
from evenflow.model.given_headers import GivenHeaders
from evenflow.model.payload import Payload, encode_payloads
from evenflow.slices.assignment import Assignment, assignment_of
from evenflow.slices.publisher.diagnosis import (
    AFTER_ERROR_S,
    Complaints,
    PublisherStats,
    publisher_stats,
)
from evenflow.slices.publisher.intake import Intake
from evenflow.slices.publisher.outlet import begin_core, open_outbox
from evenflow.slices.publisher.sealing import Limits
from evenflow.slices.publisher.sending.forked import StaysWithParent
from evenflow.slices.publisher.thinning_shell import shell_for
from evenflow.slices.publisher.units import chunks, table_sizes, unit_of

if TYPE_CHECKING:
    from evenflow.clock import Clock
    from evenflow.domain.cyclone import Participant
    from evenflow.slices.publisher.columns import Table
    from evenflow.slices.publisher.exchange import CommitHook
    from evenflow.slices.publisher.gathering import Row

_OF_ITEM: Final = ITEM_BYTES + RUN_BYTES
"""Bytes that an item may add to its sample besides sender and payload."""


class Publisher(StaysWithParent):
    """Publishes to one topic.

    Args:
        topic: Name of the topic; it must be in the configuration.
        config: The configuration; by default that of ``evenflow.toml``.
        assignment: Gives items their slices, in place of the topic's own: a spec, a callable
            ``(fields, slice_count) -> slice``, or an :class:`Assignment`.
        participant: Shared with other parts of the process; by default the publisher opens its own.
        on_commit: Called with (slice, first, last, node) for each accepted commit, in a thread of
            the publisher: it must be quick and must not publish.
        outbox: A folder. What is not committed is kept there too, and survives the process: whoever
            opens it next goes on as the same writer. It belongs to one process at a time.
        clock: The time.

    Raises:
        OutboxRefused: Another process uses the outbox, or it is not of this topic.
        OutboxDamaged: The outbox cannot be read whole.
    """

    def __init__(
        self,
        topic: str = "items",
        *,
        config: Config | None = None,
        assignment: str | Assignment | Callable[[Mapping[str, Any], int], int | None] | None = None,
        participant: Participant | None = None,
        on_commit: CommitHook | None = None,
        outbox: str | PathLike[str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        config = Config.of(config)
        cut, settings = config.topic(topic), config.publisher
        clock, self.topic = clock or SystemClock(), topic
        assigned = assignment_of(cut.assignment if assignment is None else assignment)
        self._intake = Intake(topic, cut.slices, assigned, clock)
        self._block_s, self._most = settings.block_s, settings.retention_bytes
        self._leaving, self._left = Lock(), Event()
        self._closed, self._own = False, participant is None
        with ExitStack() as opened:
            self._outbox = None if outbox is None else open_outbox(outbox, config, topic)
            if self._outbox is not None:
                opened.callback(self._outbox.close)
                self._most = min(self._most, self._outbox.journal.largest)
            assign = self._intake.slices_of_columns
            self._core = begin_core(config, cut, Limits.of(settings), assign, self._outbox)
            self._recovered = self._core.retention.items
            self.domain = participant or enter(config.domain)
            if self._own:
                opened.callback(self.domain.close)
            self._shell = shell_for(config, self._core, self.domain, clock, on_commit, self._outbox)
            opened.pop_all()  # from here on they are closed with the publisher
        writers = self._shell.owner_writers
        self._complaints = Complaints(self._core, writers, clock, str(outbox or ""))
        watch(self, Publisher._leave_to_parent)

    @property
    def writer(self) -> int:
        """The id in the domain, of this run or of all that share an outbox; another after a cut."""
        return self._core.writer

    # -- items -------------------------------------------------------------------------------------

    def publish(
        self,
        payload: Payload,
        *,
        sender: str = "",
        id: int | None = None,
        time: int | None = None,
        headers: GivenHeaders | None = None,
        timeout: float | None = None,
    ) -> bool:
        """Publish one item.

        Args:
            payload: Bytes, a string (sent as UTF-8) or a mapping (sent as JSON); bytes arrive.
            sender: Who sends it; by default this process.
            id: A number the sender knows it by; by default a counter of this publisher.
            time: Microseconds since 1970; by default now.
            headers: What is said about the payload: names with bytes or strings (sent as UTF-8).
            timeout: Seconds to wait for room; by default ``publisher.block_s``.

        Returns:
            Whether it is published; else it was thinned out (``topics.NAME.thin``).

        Raises:
            AssignmentError: The item gets no slice; it is counted and not published.
            PublishTimeout: There was no room in time; the item is not published.
        """
        return self._add(self._intake.row(payload, sender, id, time, headers), timeout)

    def publish_many(
        self,
        payloads: Sequence[Payload],
        *,
        senders: str | Sequence[str] = "",
        ids: Sequence[int] | None = None,
        times: Sequence[int] | None = None,
        headers: GivenHeaders | Sequence[GivenHeaders | None] | None = None,
        timeout: float | None = None,
    ) -> int:
        """Publish many items; the columns are those of :meth:`publish`.

        One sender, and one map of headers, may be that of all items.

        Returns:
            How many are published; the others were thinned out.

        Raises:
            AssignmentError: One item gets no slice; none is published.
            PublishTimeout: There was no room in time; its ``accepted`` says how many are published
                or thinned out, which are the first ones.
        """
        encoded = encode_payloads(payloads)
        table = self._intake.table(encoded, senders, ids, times, headers)
        if any(isinstance(one, Mapping) for one in payloads):
            slices = self._intake.slices_of_mappings(table, payloads)
        else:
            slices = self._intake.slices(table, {})
        return self._publish_table(table, slices, timeout)

    def publish_columns(
        self,
        payloads: Any,
        *,
        senders: Any = "",
        ids: Any = None,
        times: Any = None,
        headers: Any = None,
        fields: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> int:
        """Publish many items given as NumPy or Arrow columns; like :meth:`publish_many`.

        Args:
            payloads: An Arrow array of binary or strings, or a two-dimensional NumPy array of
                ``uint8``, one payload a row.
            senders: One name for all, or a column of names.
            ids: A column of whole numbers.
            times: A column of whole numbers.
            headers: One map for all, a sequence of maps, or an Arrow array of maps from strings to
                binary.
            fields: More columns for the assignment to look at; they are not sent.
            timeout: Seconds to wait for room, each time room is needed.
        """
        table = self._intake.table(payloads, senders, ids, times, headers)
        return self._publish_table(table, self._intake.slices(table, fields or {}), timeout)

    def publish_unit(
        self,
        unit: int,
        payloads: Any,
        *,
        senders: Any = "",
        ids: Any = None,
        times: Any = None,
        headers: Any = None,
        timeout: float | None = None,
    ) -> bool:
        """Publish columns as one unit: the outbox has all of it or nothing, also after a crash.

        Units are numbered by the caller, upwards. One that the outbox has is not published again.

        Returns:
            Whether it was news.

        Raises:
            UsageError: There is no outbox, or the unit is too large for it.
            PublishTimeout: There was no room in time; nothing of it is published.
        """
        if self._outbox is None:
            raise UsageError("a unit is published by way of an outbox: Publisher(outbox=FOLDER)")
        columns = payloads, senders, ids, times, headers
        made = unit_of(unit, columns, self._intake, self._outbox, self._most)
        if made is None:
            return False
        timeout = self._block_s if timeout is None else seconds(timeout)
        if not self._shell.add_unit(made, timeout):
            raise self._complaints.full(timeout)
        return True

    @property
    def newest_unit(self) -> int:
        """The newest unit that the outbox has; -1 for none."""
        return -1 if self._outbox is None else self._outbox.newest_unit

    def wait_for_unit(self, unit: int, timeout: float) -> bool:
        """Wait until a unit is synced in the outbox; return whether it is."""
        return self._shell.wait_for_unit(unit, seconds(timeout))

    # -- what becomes of them ----------------------------------------------------------------------

    def flush(self, timeout: float | None = None) -> None:
        """Write everything and wait until the readers have acknowledged it.

        Raises:
            DeliveryTimeout: Some have not in time. The items stay retained and will arrive.
        """
        timeout = self._block_s if timeout is None else seconds(timeout)
        if not self._shell.flush(timeout):
            raise self._complaints.late("flush", timeout, self._core.retention.items)

    def close(self, timeout: float | None = None) -> None:
        """Write everything, wait until it is committed, and leave; a second call waits for that.

        Raises:
            DeliveryTimeout: Some items were not committed in time. They are lost with the publisher
                unless a node or the outbox holds them.
        """
        timeout = self._block_s if timeout is None else seconds(timeout)
        if not self._begin_to_leave():
            if not self._left.wait(timeout):
                raise self._complaints.late("close", timeout, self._core.uncommitted)
            return
        try:
            if not self._shell.finish(timeout):
                raise self._complaints.late("close", timeout, self._core.uncommitted)
        finally:
            self._leave()

    @property
    def committed(self) -> int:
        """Items committed by their nodes."""
        return self._core.counts.committed - self._core.committed_before

    @property
    def stats(self) -> PublisherStats:
        """What this publisher has done and holds."""
        return publisher_stats(
            self._core, refused=self._intake.refused, replayed=self._shell.replayed,
            writers=self._shell.owner_writers, recovered=self._recovered,
        )  # fmt: skip

    def why_uncommitted(self) -> str:
        """Why what is published is not committed yet, as far as this publisher can see."""
        return self._complaints.cause()

    def __enter__(self) -> Publisher:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
            return
        try:
            self.close(min(self._block_s, AFTER_ERROR_S))
        except Exception as error:  # noqa: BLE001 - what ended the block is what its caller sees
            self._complaints.tell_given_up(kind, error)

    # -- inside ------------------------------------------------------------------------------------

    def _begin_to_leave(self) -> bool:
        """Whether it is this call that closes the publisher, and no other was before it."""
        with self._leaving:
            first, self._closed = not self._closed, True
        return first

    def _leave(self) -> None:
        try:
            self._shell.close()
            if self._own:
                self.domain.close()
        finally:
            self._left.set()

    def _add(self, made: tuple[Row, int], timeout: float | None) -> bool:
        """Publish an item that was made; after a `PublishTimeout` the same may be tried again."""
        row, size = made[0], made[1] + _OF_ITEM
        if size > self._most:
            raise self._complaints.too_large(size, self._most)
        timeout = self._block_s if timeout is None else seconds(timeout)
        if (added := self._shell.add(row, size, timeout)) is None:
            raise self._complaints.full(timeout)
        return added > 0

    def _publish_table(self, table: Table, slices: Int32s, timeout: float | None) -> int:
        if not len(table):
            return 0
        published, timeout = 0, self._block_s if timeout is None else seconds(timeout)
        sizes = table_sizes(table)
        if (largest := int(sizes.max())) > self._most:
            raise self._complaints.too_large(largest, self._most)
        for start, rows, chosen, size in chunks(table, slices, sizes, self._most):
            if (added := self._shell.add_table(rows, chosen, size, timeout)) is None:
                raise self._complaints.full(timeout, accepted=start)
            published += added
        return published
