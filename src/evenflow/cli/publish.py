"""``evenflow publish``: publish lines, JSON objects, files, or generated items."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Any, Final

import numpy as np
import pyarrow as pa
import rich_click as click

from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import fail, say, warn
from evenflow.cli.output.metering import Metering, metrics_option
from evenflow.cli.output.progress import Progress
from evenflow.cli.running import StopSignal
from evenflow.cli.sources import Pace, Source
from evenflow.cli.values import COUNT, POSITIVE, Whole, named_values, seconds
from evenflow.errors import AssignmentError, DeliveryTimeout, PublishTimeout, UsageError
from evenflow.errors.words import counted
from evenflow.metrics.catalogue import PUBLISHER
from evenflow.model.given_headers import given_headers
from evenflow.slices.publisher.publisher import Publisher

EXAMPLES = """\
  tail -f access.log | evenflow publish --assignment random
  evenflow publish --json-lines --assignment hash:car fixes.jsonl
  evenflow publish --whole --topic images *.jpg       every file is an item
  evenflow publish --size 100 --rate 5000 --for 60s   generated items
  evenflow publish --outbox out fixes.jsonl           survives its own end
  evenflow publish --header type=text/csv rows.csv    every line with a header
  evenflow publish --size 7300 --count 10000 --json   as fast as possible

Ends when everything is committed, by Ctrl-C within a second. Exit code 1:
something was refused or stayed uncommitted.
"""

_SHOWN_FAULTS: Final = 5
_LOOK_S: Final = 0.01
"""How often it is looked whether everything is committed."""
_STOPPED_S: Final = 0.7
"""How long one that is told to stop still waits for commits."""
_PATIENCE_S: Final = 0.2
"""How long one attempt to publish waits before it looks whether it shall stop."""


@command("publish", examples=EXAMPLES)
@click.argument("files", metavar="[FILE]...", nargs=-1, help="where items come from; - is stdin")
@click.option("--topic", metavar="T", help="topic to publish to (the first configured)")
@click.option("--sender", metavar="NAME", default="", help="who sends (host-pid)")
@click.option(
    "--assignment", metavar="SPEC", help="which slice an item gets, in place of the topic's own"
)
@click.option(
    "--header", "headers", metavar="NAME=VALUE", multiple=True, callback=named_values,
    help="a header of every item; may be given several times",
)  # fmt: skip
@click.option("--json-lines", is_flag=True, help="every line is a JSON object")
@click.option(
    "--headers-field", metavar="FIELD",
    help="of JSON lines: take this object off, its strings are headers of the item",
)  # fmt: skip
@click.option("--whole", is_flag=True, help="every file is an item")
@click.option("--size", metavar="BYTES", type=COUNT, help="generate items of this size")
@click.option(
    "--senders",
    metavar="N",
    type=Whole(1, 10_000_000),
    default=1_000,
    help="how many senders generated items come from (1000)",
)
@click.option("--rate", metavar="N", type=POSITIVE, help="items a second, at most")
@click.option("--count", metavar="N", type=COUNT, help="stop after this many items")
@click.option("--for", "duration", metavar="TIME", type=seconds, help="stop after a time: 60s")
@click.option(
    "--within",
    metavar="TIME",
    type=seconds,
    default="30s",
    help="how long to wait at the end until everything is committed (30s)",
)
@click.option("--outbox", metavar="FOLDER", help="keep on disk what is not committed")
@click.option("--quiet", is_flag=True, help="show no progress")
@click.option("--json", "as_json", is_flag=True, help="print the summary as JSON")
@metrics_option
def publish(
    shared: Shared, *, files: tuple[str, ...], topic: str | None, sender: str,
    assignment: str | None, headers: dict[str, str], headers_field: str | None, json_lines: bool,
    whole: bool, size: int | None, senders: int,
    rate: float | None, count: int | None, duration: float | None, within: float,
    outbox: str | None, quiet: bool, as_json: bool, metrics: str | None,
) -> int:  # fmt: skip
    """Publish lines, files or generated items, then wait until they are committed."""
    config = shared.config()
    topic = (config.topic(topic) if topic else config.topics[0]).name
    stop = StopSignal()
    source = Source(
        files, stop, config.publisher.retention_bytes, size, json_lines=json_lines, whole=whole
    )
    if headers_field and not json_lines:
        raise UsageError("--headers-field is of JSON objects: give --json-lines, too")
    began = time.monotonic()
    metering = Metering("publish", metrics, config)
    publisher = Publisher(topic, config=config, assignment=assignment, outbox=outbox)
    names = Senders(sender, senders if source.generates else 0)
    feed = Feed(
        publisher, source, names, config.publisher.block_s, stop, Headers(headers, headers_field)
    )
    late: DeliveryTimeout | None = None
    with metering, Progress(publisher, shown=not quiet), publisher:
        metering.show(PUBLISHER, lambda: [((topic,), publisher.stats)])
        feed.run(Pace(stop, rate, count, duration))
        try:
            finish(publisher, within, stop)
        except DeliveryTimeout as error:
            late = error
    if late is not None:
        fail(f"{late}")
    summary = summarize(feed, time.monotonic() - began)
    show(summary, as_json=as_json)
    return 1 if summary["uncommitted"] or summary["refused"] else 0


def finish(publisher: Publisher, within_s: float, stop: StopSignal) -> None:
    """Close when everything is committed, or it is too late, or somebody does not want to wait.

    Raises:
        DeliveryTimeout: Something is not committed.
    """
    began = time.monotonic()
    deadline = began + within_s
    while publisher.stats.uncommitted and not stop.wait(_LOOK_S) and time.monotonic() < deadline:
        pass
    left = max(0.0, deadline - time.monotonic())
    try:
        # What nodes have in hand is committed within a few epochs.
        publisher.close(min(left, _STOPPED_S) if stop.given else left)
    except DeliveryTimeout as error:
        raise DeliveryTimeout(
            error.topic, error.operation, time.monotonic() - began, items=error.items,
            slices=error.slices, cause=error.cause, outbox=error.outbox,
        ) from None  # fmt: skip


class Senders:
    """Who sends: one name for all items, or generated names in turn.

    Args:
        name: The name; empty for the publisher's own.
        count: How many generated names; 0 for none.
    """

    def __init__(self, name: str, count: int) -> None:
        self._name = name
        self._names = pa.array([f"sender-{number}" for number in range(0 if name else count)])
        self._next = 0

    def take(self, count: int) -> Any:
        """The senders of the next items, as the publisher wants them."""
        if not len(self._names):
            return self._name
        numbers = np.arange(self._next, self._next + count, dtype=np.int64) % len(self._names)
        self._next += count
        return pa.DictionaryArray.from_arrays(pa.array(numbers), self._names)


class Headers:
    """The headers of items: some of all, and those that a field of each has.

    Args:
        common: Headers of every item.
        field: Field of a JSON object that holds its own; None: there is none.
    """

    def __init__(self, common: dict[str, str], field: str | None) -> None:
        given_headers(common)
        self._common = common
        self._field = field

    def take(self, part: Any) -> Any:
        """The headers of the next items, as the publisher wants them; their field is taken off."""
        if self._field is None:
            return self._common or None
        return [self._joined(one.pop(self._field, None)) for one in part]

    def _joined(self, own: Any) -> Any:
        # What is no object is refused with the item that it is of.
        return {**self._common, **own} if isinstance(own, dict) else own or self._common


class Feed:
    """Passes items from the source to the publisher.

    Args:
        publisher: Who publishes them.
        source: Where they come from.
        senders: Who sends them.
        block_s: How long to wait for room before giving up.
        stop: When to end.
        headers: Gives them their headers.
    """

    def __init__(
        self, publisher: Publisher, source: Source, senders: Senders, block_s: float,
        stop: StopSignal, headers: Headers,
    ) -> None:  # fmt: skip
        self.publisher = publisher
        self.refused = 0
        """Items and lines that could not be published."""
        self._source = source
        self._senders = senders
        self._block_s = block_s
        self._stop = stop
        self._headers = headers
        self._next_id = 1

    def run(self, pace: Pace) -> None:
        """Publish what the source gives, until it or the limits end."""
        for group in self._source.groups():
            for part in pace.parts(group):
                self._publish(part)
            if pace.over:
                return

    def _publish(self, part: Any) -> None:
        part, faults = self._source.read(part)
        for fault in faults:
            self._refuse(fault)
        headers = self._headers.take(part)
        first = self._next_id
        self._next_id += len(part)
        try:
            self._persist(part, first, headers)
        except (AssignmentError, UsageError) as error:
            # One of them is at fault: publish the others, and say which and why.
            known = error.id if isinstance(error, AssignmentError) else None
            for at in range(len(part)):
                if known == first + at:
                    self._refuse(str(error))
                else:
                    one = part[at : at + 1]
                    self._persist_one(one, first + at, _from(headers, at, at + 1))

    def _persist_one(self, part: Any, item_id: int, headers: Any) -> None:
        try:
            self._persist(part, item_id, headers)
        except (AssignmentError, UsageError) as error:
            self._refuse(str(error))

    def _persist(self, part: Any, first: int, headers: Any) -> None:
        """Publish all of a part, waiting for room as long as the configuration says."""
        senders = self._senders.take(len(part))
        ids = np.arange(first, first + len(part))
        deadline = time.monotonic() + self._block_s
        while len(part):
            give: Any = (
                self.publisher.publish_columns
                if isinstance(part, np.ndarray)
                else self.publisher.publish_many
            )
            try:
                give(part, senders=senders, ids=ids, headers=headers, timeout=_PATIENCE_S)
            except PublishTimeout as full:
                part, ids = part[full.accepted :], ids[full.accepted :]
                headers = _from(headers, full.accepted)
                senders = senders if isinstance(senders, str) else senders[full.accepted :]
                if self._stop.given:
                    return
                if full.accepted:
                    deadline = time.monotonic() + self._block_s
                elif time.monotonic() > deadline:
                    raise
            else:
                return

    def _refuse(self, fault: str) -> None:
        self.refused += 1
        if self.refused <= _SHOWN_FAULTS:
            warn(f"refused: {fault}")


def _from(headers: Any, start: int, end: int | None = None) -> Any:
    """The headers of some of the items; one map is that of all."""
    return headers[start:end] if isinstance(headers, list) else headers


def summarize(feed: Feed, elapsed: float) -> dict[str, Any]:
    """Return what was done, by name."""
    stats = asdict(feed.publisher.stats)
    stats["refused"] = feed.refused
    return {
        "topic": feed.publisher.topic,
        "seconds": round(elapsed, 3),
        "items_per_s": round(stats["published"] / elapsed, 1),
        **stats,
    }


def show(summary: dict[str, Any], *, as_json: bool) -> None:
    """Print what was done."""
    if as_json:
        print(json.dumps(summary, indent=2))
        return
    say(
        "published {items} in {seconds:.1f} s ({items_per_s:.0f}/s): {committed} committed, "
        "{uncommitted} uncommitted, {refused} refused".format(
            items=counted(summary["published"], "item"), **summary
        )
    )
