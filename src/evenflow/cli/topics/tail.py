"""``evenflow tail``: the items of a topic as they come, for who only looks.

Nothing is registered, kept or committed, and no slices are taken. Of a served topic the nodes are
asked, so every item comes, once, when its epoch is closed. Of any other topic the command reads
along with the nodes, as a :class:`~evenflow.slices.subscriber.subscriber.Subscriber`: each item at
most once, and what is missed is counted.
"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import rich_click as click

from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import warn
from evenflow.cli.running import StopSignal
from evenflow.cli.values import COUNT, INDEX, seconds
from evenflow.errors import UsageError
from evenflow.slices.consumer.core import EARLIEST, LATEST
from evenflow.slices.consumer.served_batch import items_of
from evenflow.slices.consumer.watching import Watcher
from evenflow.slices.subscriber.subscriber import Subscriber

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.config import Config
    from evenflow.model.batch import Item

EXAMPLES = """\
  evenflow tail items                        what comes, until Ctrl-C
  evenflow tail items --sender car-7 --count 10
  evenflow tail fleet --from 10m --json      served: what is kept, too
  evenflow tail fleet --from 2026-05-01T12:00:00+00:00 --slice 3
"""
WAIT_S = 0.2
"""How long a look waits before it is seen whether to stop."""

Found = tuple[int, "Item"]
"""A slice, and an item of it."""


class Wanted(NamedTuple):
    """Which items are shown."""

    sender: str | None = None
    slice: int | None = None
    since: float = 0.0
    """Seconds since 1970, by the item's own time."""

    def fits(self, slice_id: int, item: Item) -> bool:
        """Whether an item is one of them."""
        return (
            (self.sender is None or item.sender == self.sender)
            and (self.slice is None or slice_id == self.slice)
            and item.time >= self.since * 1e6
        )


def moment(text: str) -> float:
    """Read a time, as ``10m`` ago or as a date with a zone; seconds since 1970."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        try:
            return time.time() - seconds(text)
        except click.BadParameter:
            raise click.BadParameter(
                f"{text!r} must be a time ago such as 60s, 10m or 1h, or a date such as 2026-05-01"
            ) from None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


@command("tail", examples=EXAMPLES)
@click.argument("topic", metavar="TOPIC", help="the topic")
@click.option("--sender", metavar="S", help="items of this sender alone")
@click.option("--slice", "slice_id", metavar="N", type=INDEX, help="items of this slice alone")
@click.option(
    "--from", "since", metavar="TIME", type=moment,
    help="what is kept since then, too: 10m ago, or a date (served topics)",
)  # fmt: skip
@click.option("--count", metavar="N", type=COUNT, help="end after this many items")
@click.option("--json", "as_json", is_flag=True, help="print a JSON object a line")
def tail(
    shared: Shared, *, topic: str, sender: str | None, slice_id: int | None, since: float | None,
    count: int | None, as_json: bool,
) -> int:  # fmt: skip
    """Show the items of a topic as they come, until Ctrl-C."""
    config = shared.config()
    served = config.topic(topic).served
    if since is not None and not served:
        raise UsageError(f"topic {topic} is not served: nobody keeps items, leave --from out")
    if since is not None and since > time.time():
        when = datetime.fromtimestamp(since, UTC)
        raise UsageError(
            f"--from {when:%Y-%m-%d %H:%M:%S} UTC is in the future: leave it out to see what comes"
        )
    wanted = Wanted(sender, slice_id, since or 0.0)
    stop = StopSignal()
    found = _kept(topic, config, since, stop) if served else _passing(topic, config, wanted, stop)
    shown = 0
    for at, item in found:
        if wanted.fits(at, item):
            print(line_of(at, item, as_json=as_json), flush=True)
            shown += 1
            if shown == count:
                break
    return 0


def line_of(slice_id: int, item: Item, *, as_json: bool) -> str:
    """An item as it is printed; what is no text as its repr."""
    payload = _text(item.payload)
    headers = {name: _text(value) for name, value in item.headers.items()}
    if as_json:
        row: dict[str, Any] = {"slice": slice_id, **item._asdict(), "payload": payload}
        return json.dumps(row | {"headers": headers})
    head = f"{_when(item.time)} {slice_id} {item.sender} {item.id}"
    said = ", ".join(f"{_shown(name)}={_shown(value)}" for name, value in headers.items())
    return f"{head} {f'[{said}] ' if said else ''}{_shown(payload)}"


def _when(time_us: int) -> str:
    """A time; as a number when no calendar has it: whoever published it counts in another unit."""
    try:
        return f"{datetime.fromtimestamp(time_us / 1e6, UTC):%Y-%m-%d %H:%M:%S.%f}"
    except (ValueError, OverflowError, OSError):
        return f"{time_us}us"


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return repr(value)


def _shown(text: str) -> str:
    return text if text.isprintable() else repr(text)


def _kept(topic: str, config: Config, since: float | None, stop: StopSignal) -> Iterator[Found]:
    """Items of a served topic, from its nodes."""
    with Watcher(topic, config, start=LATEST if since is None else EARLIEST) as watcher:
        told = 0
        while not stop.given:
            for rows in watcher.look(WAIT_S):
                yield from zip(rows.column("slice").to_pylist(), items_of(rows), strict=True)
                if stop.wait(0):  # what is kept may be much
                    return
            if watcher.overtaken > told:
                told = watcher.overtaken
                warn("items were forgotten before they were shown")


def _passing(topic: str, config: Config, wanted: Wanted, stop: StopSignal) -> Iterator[Found]:
    """Items on their way to the nodes of a topic."""
    senders = () if wanted.sender is None else (wanted.sender,)
    slices = () if wanted.slice is None else (wanted.slice,)
    with Subscriber(topic, senders=senders, slices=slices, config=config) as subscriber:
        while not stop.given:
            batch = subscriber.receive(WAIT_S)
            if batch is not None:
                yield from ((batch.slice, item) for item in batch)
        missed = subscriber.stats.missing + subscriber.stats.dropped
    if missed:
        warn(f"{missed:,} items were not shown")
