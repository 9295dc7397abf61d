"""``evenflow archive``: write durable topics to the overlay store, until stopped.

Every topic is archived by itself, in a thread of its own: it begins when its nodes and the brokers
are there, and what it fails by ends no other. A topic that failed is told of at once and again at
the end, and its place is left: another process may take it.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final

import rich_click as click

from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import fail, say
from evenflow.cli.output.metering import Metering, metrics_option
from evenflow.cli.running import StopSignal, exit_code_of
from evenflow.durable.archiver import Archiver, check_archived
from evenflow.errors import ConfigError, DomainError, EvenflowError, NameTaken, StoreTimeout
from evenflow.errors.words import counted
from evenflow.metrics.catalogue import ARCHIVER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LOOK_S: Final = 0.2
FINISH_S: Final = 3.0
"""How long what is in hand may take at the end: less than a supervisor waits before it kills."""
LET_GO_S: Final = 1.0
"""How long after that: who reads from nodes that do not answer is left behind."""
RETRY_S: Final = 1.0
"""Between two tries to begin."""

EXAMPLES = """\
  evenflow archive                  every served topic with durable = true
  evenflow archive --topic fleet
  evenflow archive --set 'store.brokers=["127.0.0.1:7400"]'

One archiver for each topic; what one waits for or fails by does not stop the
others. It may be killed at any moment: started again, it goes on where the
archive ends. To read, in Python:
  for item in evenflow.read_from("fleet", start): ...
"""

_log = logging.getLogger(__name__)


@command("archive", examples=EXAMPLES)
@click.option(
    "--topic", "topics", metavar="T", multiple=True, help="a durable topic (all; may be repeated)"
)
@metrics_option
def archive(shared: Shared, topics: tuple[str, ...], metrics: str | None) -> int:
    """Keep durable topics in the overlay store, until a signal or until all have failed."""
    config = shared.config()
    topics = tuple(dict.fromkeys(topics)) or tuple(
        topic.name for topic in config.topics if topic.archived
    )
    if not topics:
        raise ConfigError(
            "topics",
            [one.name for one in config.topics],
            "none is durable: set topics.NAME.durable and served = true",
        )
    for topic in topics:
        check_archived(topic, config)
    say(f"looking for the nodes and brokers of {', '.join(topics)}")
    works = [Work(topic, partial(Archiver, topic, config)) for topic in topics]
    with Metering("archive", metrics, config) as metering:
        metering.show(ARCHIVER, lambda: [((one.topic,), one) for one in works])
        store_until(StopSignal(), works)
    code = exit_code(works)
    say(f"{counted(sum(one.items for one in works), 'item')} stored")
    return code


class Work:
    """The archiving of one topic, in a thread of its own.

    Args:
        topic: The topic.
        begin: Makes its archiver, which nodes and brokers must be there for.
    """

    def __init__(self, topic: str, begin: Callable[[], Archiver]) -> None:
        self.topic = topic
        self.fault: Exception | None = None
        """What it failed by, for good."""
        self._begin = begin
        self._archiver: Archiver | None = None
        self._thread: threading.Thread | None = None
        self._over = False

    @property
    def items(self) -> int:
        """Items stored since start."""
        return 0 if self._archiver is None else self._archiver.items

    @property
    def running(self) -> bool:
        """Whether it stores, or waits to begin."""
        return self._thread is not None and self._thread.is_alive() and self.fault is None

    @property
    def stores(self) -> bool:
        """Whether it has begun, and not ended."""
        return self.running and self._archiver is not None

    def start(self, stop: StopSignal) -> None:
        """Begin, and store until it is time to stop."""
        name = f"archive-{self.topic}"
        self._thread = threading.Thread(target=self._run, args=(stop,), name=name, daemon=True)
        self._thread.start()

    def join(self, deadline: float) -> None:
        """Wait until it has ended, or the time is up."""
        assert self._thread is not None
        self._thread.join(max(0.0, deadline - time.monotonic()))

    def let_go(self) -> None:
        """It need not finish what it has in hand, and nobody asks any more what it fails by."""
        self._over = True
        if self._archiver is not None:
            self._archiver.let_go()

    def leave(self) -> None:
        """Leave the domain, though the thread may still wait for somebody."""
        if self._archiver is not None:
            self._archiver.close()

    def _run(self, stop: StopSignal) -> None:
        try:
            self._archive(stop)
        except Exception as fault:  # noqa: BLE001 - told to the operator, and by the exit code
            if self._over:
                return
            if not isinstance(fault, EvenflowError):  # which says by itself what is wrong
                _log.error("topic %r cannot be archived", self.topic, exc_info=fault)
            self.fault = fault

    def _archive(self, stop: StopSignal) -> None:
        try:
            archiver = self._begun(stop)
            if archiver is not None:
                with archiver:
                    self._archiver = archiver
                    say(f"archiving {self.topic}")
                    archiver.run(lambda: stop.given)
        except NameTaken:
            raise NameTaken(
                f"topic {self.topic!r}",
                "another process archives it already, and one does it all; stop that one first"
                " if this one is to take its place",
            ) from None

    def _begun(self, stop: StopSignal) -> Archiver | None:
        """Begin, as soon as the topic's nodes and the brokers are there; None: stopped before."""
        told = ""
        while not stop.given:
            try:
                return self._begin()
            except NameTaken:
                raise
            except (DomainError, StoreTimeout) as error:
                if told != (told := str(error)):
                    say(f"waiting: {error}")
                stop.wait(RETRY_S)
        return None


def store_until(stop: StopSignal, works: Sequence[Work], finish_s: float = FINISH_S) -> None:
    """Let each store until it is time to stop, or none is left; tell at once of one that fails.

    What they have in hand then may be finished, but brokers and nodes that do not answer are not
    waited for: what is not committed stays at the nodes. Nor is one that has not begun.
    """
    for one in works:
        one.start(stop)
    told: list[Work] = []
    while not stop.wait(LOOK_S) and any(one.running for one in works):
        for one in works:
            if one.fault is not None and one not in told:
                told.append(one)
                fail(_ended(one))
    deadline = time.monotonic() + finish_s
    for one in works:
        if one.stores:
            one.join(deadline)
    for one in works:
        one.let_go()
    deadline = time.monotonic() + LET_GO_S
    with ExitStack() as stack:
        for one in works:
            stack.callback(one.leave)
        for one in works:
            one.join(deadline)


def exit_code(works: Sequence[Work]) -> int:
    """Tell once more which topics failed, and return the exit code.

    Raises:
        EvenflowError: All of them failed: what the last one failed by.
    """
    failed = [one for one in works if one.fault is not None]
    last = failed.pop() if len(failed) == len(works) else None
    for one in failed:
        fail(_ended(one))
    if last is not None:
        return exit_code_of("archiver", last.fault)
    return 1 if failed else 0


def _ended(one: Work) -> str:
    return f"topic {one.topic!r} is not archived any more: {one.fault}"
