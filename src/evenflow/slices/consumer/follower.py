"""A consumer's place in the domain.

One thread follows slice map, progress of nodes and epochs of publishers, and repeats the newest
commit. Calls of other threads read what it found under one lock. Rules: :mod:`.core`.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from evenflow.domain import channels
from evenflow.domain.cyclone import Participant
from evenflow.errors import ClosedError, DomainError, NameTaken
from evenflow.forking import in_parent, watch, watch_no_more
from evenflow.model.ids import NOWHERE, Position
from evenflow.model.messages import ConsumerCommit, Progress
from evenflow.slices.actions import NodeGone, Send
from evenflow.slices.consumer.core import EARLIEST, LATEST, ConsumerCore
from evenflow.slices.consumer.reading import Share
from evenflow.slices.consumer.ticket import Range
from evenflow.slices.control_writers import ControlWriters

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.config import Config

TICK_S: Final = 0.1
REPEAT_S: Final = 1.0
"""How often the newest commit is repeated."""
HEARD_S: Final = 1.0
"""How long everybody has to acknowledge a commit."""
REGISTERED_WITHIN_S: Final = 10.0
"""How long the balancer has to write a new consumer down."""
SERVED_WITHIN_S: Final = 15.0
"""How long a consumer waits at its start for a domain that serves its topic."""
READ_TIMEOUT_S: Final = 120.0
"""How long a reader asks for items that nobody gives, unless told otherwise."""
LOOK_S: Final = 0.5
"""How long a new participant needs to hear what others keep for it."""
FOLLOWED: Final = (
    channels.MAPS, channels.PROGRESS, channels.EPOCHS, channels.CONSUMERS, channels.COPIES,
    channels.CUTS, channels.LEDGERS,
)  # fmt: skip
ANSWER_S: Final = 0.5
"""How often what a cut waits for is repeated."""
_LOG = logging.getLogger(__name__)
T = TypeVar("T")


class Follower:
    """One consumer of one served topic, until it is closed.

    Args:
        topic: The topic.
        consumer: Name by which it is registered.
        config: The configuration.
        read_timeout_s: How long a reader asks for items that nobody gives.
    """

    def __init__(
        self, topic: str, consumer: str, config: Config, *, read_timeout_s: float = READ_TIMEOUT_S
    ) -> None:
        self._topic = topic
        self._consumer = consumer
        self._name = f"consumer {consumer!r} of topic {topic!r}"
        self._config = config
        self._read_timeout_s = read_timeout_s
        keeps = config.topic(topic).kept is not None
        self._core = ConsumerCore(topic, consumer, time.time_ns(), keeps=keeps)
        self._changed = threading.Condition()
        self._stopping = False
        self._committed: ConsumerCommit | None = None
        self._position: Position | None = None
        self._planned = NOWHERE
        self._other = False
        """Whether somebody else commits under this name."""
        self._next_repeat = self._next_answer = 0.0
        self._failure: Exception | None = None
        with ExitStack() as opened:
            self.participant = opened.enter_context(Participant(config.domain))
            """For whoever watches over this consumer; closed with it."""
            self._readers = [self.participant.reader(channel) for channel in FOLLOWED]
            self._waiter = self.participant.waiter(*self._readers)
            self._writer = self.participant.writer(channels.CONSUMERS)
            self._control = ControlWriters(self.participant)
            self._control.prepare(channels.CUT_ANSWERS, "")
            opened.pop_all()
        self._thread = threading.Thread(target=self._follow, name="evenflow-follower", daemon=True)
        self._thread.start()
        watch(self, Follower._leave_to_parent)

    # -- calls of other threads -------------------------------------------------------------------

    def enter(self, *, alone: bool) -> None:
        """Wait until the topic can be read; when it cannot, close.

        Args:
            alone: Whether nobody else may have this name: it is to be registered.

        Raises:
            DomainError: Nobody serves the topic; `NameTaken`: another that runs has this name.
        """
        try:
            self.wait_until_served()
            if alone:
                self.check_alone()
        except BaseException:
            self.close()
            raise

    def wait_until_served(self) -> None:
        """Return when the topic can be read; `DomainError` says what is missing if it cannot."""
        with self._changed:
            served = self._wait_for(lambda: not self._core.lacking(), SERVED_WITHIN_S)
            lacking = self._core.lacking()
        if not served:
            domain = self._config.domain
            raise DomainError(
                f"topic {self._topic!r} in domain {domain.id} on interface {domain.interface}",
                f"{lacking}, or use the configuration (domain.id) of the other processes",
            )

    def check_alone(self) -> None:
        """Raise `NameTaken` when another live consumer has this one's name."""
        with self._changed:
            # The last words of a consumer that was killed are heard until its lease is over.
            self._wait_for(lambda: False, LOOK_S)
            lease = self._config.domain.participant_lease_s
            if not self._wait_for(lambda: not self._other, lease + LOOK_S):
                raise self._named_alike("another consumer that runs has this name")

    def remembered(self) -> tuple[Position, Position] | None:
        """Where the domain remembers this consumer: its position, and the batch it had planned.

        None when it is new, or every node that remembered it is gone. A consumer that was killed is
        remembered as soon as its lease is over; that is waited for.
        """
        lease = self._config.domain.participant_lease_s
        with self._changed:
            self._wait_for(lambda: not self._core.may_be_remembered, lease + LOOK_S)
            return self._core.remembered()

    @property
    def is_new(self) -> bool:
        """Whether no consumer of this name has run before that the domain keeps items for."""
        with self._changed:
            return self._core.is_new

    def begin(self, start: str | Position = EARLIEST) -> Position:
        """Where a consumer that has read nothing yet begins: `EARLIEST`, `LATEST` or a position."""
        with self._changed:
            if start == LATEST:
                return self._core.latest(NOWHERE)
            if not isinstance(start, str):
                return start
            position = self._core.earliest()
        # What others commit is forgotten until this one is registered: how far, is told now.
        self.register(position)
        with self._changed:
            self._wait_for(lambda: False, LOOK_S)
            return self._core.earliest()

    def register(
        self, position: Position, planned: Position = NOWHERE, *, tell: bool = True
    ) -> None:
        """Register at a position, unless that has been done.

        Args:
            position: The position.
            planned: The end of the batch that is planned already.
            tell: Whether the domain shall remember that, too.
        """
        with self._changed:
            if self._position is not None:
                return
            self._wait_for(lambda: self._core.ledger.version > 0, REGISTERED_WITHIN_S)
            if missing := self._core.missing(position):
                raise DomainError(self._name, missing)
            self._core.note_planned(planned)
        self.commit(position, planned if tell else NOWHERE)
        with self._changed:
            if not self._wait_for(lambda: self._core.is_confirmed, REGISTERED_WITHIN_S):
                raise DomainError(
                    self._name,
                    "the balancer has not registered it: is 'evenflow balancer' running, and can it"
                    " write its balancer.state_dir?",
                )

    def latest(self, start: Position, wait_s: float = 0.0) -> Position:
        """The newest position that can be read; waits a moment for one beyond ``start``."""
        with self._changed:
            self._wait_for(lambda: self._core.latest(start) != start, wait_s)
            return self._core.latest(start)

    def limited(self, start: Position, end: Position, items: int) -> Position:
        """A position between two, about this many items behind the first."""
        return self.ask(lambda core: core.limited(start, end, items))

    def closed(self) -> Position:
        """The newest closed epoch of every live writer."""
        return self.ask(lambda core: core.closed())

    def shares(self, start: Position, end: Position) -> list[Share]:
        """What is to be read of a batch: a share for each node."""
        return self.shares_of(Range((), start, end, {}))

    def shares_of(self, asked: Range) -> list[Share]:
        """What is to be read of a range, whatever its slices: a share for each node."""
        with self._changed:
            self._check()
            nobody = {"": tuple(range(self._config.topic(self._topic).slices))}
            owners = self._core.owners() or nobody
            addresses = {node: told.address for node, told in self._core.progress.items()}
            self._core.note_planned(asked.end)
        return [
            Share(
                self._topic,
                addresses.get(node, ""),
                tuple(sorted(addresses.values())),
                replace(asked, slices=slices),
                self._read_timeout_s,
                self._config.domain,
            )
            for node, slices in owners.items()
        ]

    def commit(self, position: Position, planned: Position = NOWHERE, *, last: bool = True) -> None:
        """Tell everybody, unless it is known, that all up to a position is processed.

        Args:
            position: The position.
            planned: The end of the next batch, when it shall be remembered.
            last: It may be the last one, and this process may end as soon as it is done: wait a
                moment until everybody has heard it.
        """
        with self._changed:
            self._check()
            if (position, planned) == (self._position, self._planned):
                return
            self._position, self._planned = position, planned
            self._committed = self._core.commit(position, planned)
            self._next_repeat = time.monotonic() + REPEAT_S
            self._writer.write(self._committed)
        if last:
            self.wait_heard()

    def wait_heard(self) -> None:
        """Wait a moment until everybody has heard the newest commit."""
        self._writer.wait_acked(HEARD_S)

    def close(self) -> None:
        """Leave the domain; the consumer stays registered, because it may come back."""
        with self._changed:
            if self._stopping:
                return
            self._stopping, self._failure = True, self._failure or ClosedError(self._name)
            watch_no_more(self)
            if self._committed is not None:
                self._writer.write(self._committed)
            self._changed.notify_all()
        self._waiter.wake()
        self._thread.join()
        self._writer.wait_acked(HEARD_S)
        self.participant.close()

    def lag(self) -> tuple[int, int]:
        """Closed epochs, of the writer that is furthest ahead, and items that are not committed."""
        position = self._position or NOWHERE
        with self._changed:
            epochs = position.epochs_behind(self._core.closed())
            return max(0, epochs), self._core.items_behind(position)

    def ask(self, question: Callable[[ConsumerCore], T]) -> T:
        """Ask the core, or tell it, while nothing changes it."""
        with self._changed:
            return question(self._core)

    def wait(self, question: Callable[[ConsumerCore], bool], seconds: float) -> None:
        """Wait until the core says yes, or the time is up."""
        with self._changed:
            self._wait_for(lambda: question(self._core), seconds)

    # -- inside -----------------------------------------------------------------------------------

    def _leave_to_parent(self) -> None:
        """This is a child: commit nothing here, and leave the place in the domain as it is."""
        self._changed, self._stopping = threading.Condition(), True  # who had that is not here
        self._failure = in_parent(self._name, "begin to read")

    def _named_alike(self, what: str) -> NameTaken:
        return NameTaken(self._name, f"{what}: choose another name with 'consumer'")

    def _wait_for(self, reached: Callable[[], bool], seconds: float) -> bool:
        done = self._changed.wait_for(lambda: self._failure is not None or reached(), seconds)
        self._check()
        return done

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure.with_traceback(None)

    def _follow(self) -> None:
        try:
            while not self._stopping:
                self._waiter.wait(TICK_S)
                self._turn()
        except Exception as failure:  # noqa: BLE001 - told to whoever calls next
            _LOG.exception("the consumer's place in the domain is lost")
            with self._changed:
                self._failure = failure
                self._changed.notify_all()

    def _turn(self) -> None:
        now = time.monotonic()
        with self._changed:
            for reader in self._readers:
                for message in reader.take():
                    self._see(message, now)
            self._changed.notify_all()
            if self._core.superseded:
                self._failure = self._named_alike("another consumer has taken this name over")
            elif self._committed and self._core.expired:
                self._failure = DomainError(self._name, self._core.missing(NOWHERE))
            elif self._committed is not None and now >= self._next_repeat:
                self._next_repeat = now + REPEAT_S
                self._writer.write(self._committed)
            if now >= self._next_answer and self._core.ledger.preparing():
                self._next_answer = now + ANSWER_S
                for answer in self._core.cut_answers():
                    self._control.send(Send(answer))

    def _see(self, message: Any, now: float) -> None:
        if isinstance(message, channels.Gone):
            if message.message_type is Progress and message.key[0] == self._topic:
                self._core.handle(NodeGone(message.key[1]), now)
            elif message.key == (self._topic, self._consumer):
                self._other = False
            return
        if message.topic != self._topic:
            return
        if isinstance(message, ConsumerCommit) and message.consumer == self._consumer:
            self._other = self._committed is None
        for send in self._core.handle(message, now):
            self._control.send(send)
