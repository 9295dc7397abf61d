"""``evenflow archive``: write durable topics to the overlay store, until stopped."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Final

import rich_click as click

from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import say
from evenflow.cli.output.metering import Metering, metrics_option
from evenflow.cli.running import StopSignal
from evenflow.durable.archiver import Archiver
from evenflow.errors import ConfigError, DomainError, NameTaken, StoreTimeout
from evenflow.errors.words import counted
from evenflow.metrics.catalogue import ARCHIVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.config import Config

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

One archiver for each topic. It may be killed at any moment: started again, it
goes on where the archive ends. To read, in Python:
  for item in evenflow.read_from("fleet", start): ...
"""


@command("archive", examples=EXAMPLES)
@click.option(
    "--topic", "topics", metavar="T", multiple=True, help="a durable topic (all; may be repeated)"
)
@metrics_option
def archive(shared: Shared, topics: tuple[str, ...], metrics: str | None) -> int:
    """Keep durable topics in the overlay store, until a signal or a fault."""
    config = shared.config()
    topics = topics or tuple(topic.name for topic in config.topics if topic.archived)
    if not topics:
        raise ConfigError(
            "topics",
            [one.name for one in config.topics],
            "none is durable: set topics.NAME.durable and served = true",
        )
    say(f"looking for the nodes and brokers of {', '.join(topics)}")
    with contextlib.ExitStack() as stack:
        metering = stack.enter_context(Metering("archive", metrics, config))
        archivers = [stack.enter_context(_begin(topic, config)) for topic in topics]
        shown = [((topic,), one) for topic, one in zip(topics, archivers, strict=True)]
        metering.show(ARCHIVER, lambda: shown)
        stop = StopSignal()  # before, a signal ends the command at once: nothing is in hand
        say(f"archiving {', '.join(topics)}")
        store_until(stop, archivers)
    say(f"{counted(sum(one.items for one in archivers), 'item')} stored")
    return 0


def store_until(
    stop: StopSignal, archivers: Sequence[Archiver], finish_s: float = FINISH_S
) -> None:
    """Let all of them store until it is time to stop, or one fails; raise what it failed by.

    What they have in hand then may be finished, but brokers and nodes that do not answer are not
    waited for: what is not committed stays at the nodes.
    """
    faults: list[Exception] = []
    over = threading.Event()

    def work(archiver: Archiver) -> None:
        try:
            archiver.run(lambda: stop.given or bool(faults))
        except Exception as fault:  # noqa: BLE001 - told below, and ends the command
            if not over.is_set():
                faults.append(fault)

    threads = [threading.Thread(target=work, args=(one,), daemon=True) for one in archivers]
    for thread in threads:
        thread.start()
    while not stop.wait(LOOK_S) and any(thread.is_alive() for thread in threads) and not faults:
        pass
    deadline = time.monotonic() + finish_s
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    over.set()
    for archiver in archivers:
        archiver.let_go()
    deadline = time.monotonic() + LET_GO_S
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    if faults:
        raise faults[0]


def _begin(topic: str, config: Config) -> Archiver:
    """Begin to archive a topic, as soon as its nodes and the brokers are there."""
    told = ""
    while True:
        try:
            return Archiver(topic, config)
        except NameTaken:
            raise NameTaken(
                f"topic {topic!r}",
                "another process archives it already, and one does it all; stop that one first if"
                " this one is to take its place",
            ) from None
        except (DomainError, StoreTimeout) as error:
            if told != (told := str(error)):
                say(f"waiting: {error}")
            time.sleep(RETRY_S)
