"""``evenflow publish``: publish lines, JSON objects, files, or generated items."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from itertools import chain
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from evenflow.cli.options import load_config
from evenflow.cli.running import StopSignal, seconds
from evenflow.cli.sources import Pace, generated, lines, objects, whole_files
from evenflow.errors import AssignmentError, DeliveryTimeout, PublishTimeout, UsageError
from evenflow.slices.publisher.publisher import Publisher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.config import Config

EXAMPLES = """\
  tail -f access.log | evenflow publish --assignment random   every line is an item
  evenflow publish --json-lines --assignment hash:car f.jsonl   every line is a JSON object
  evenflow publish --whole --topic images *.jpg           every file is an item
  evenflow publish --size 100 --rate 5000 --for 60s       generated items, 5,000 a second
  evenflow publish --size 7300 --count 10000 --json       as fast as possible; a summary in JSON

Ends when everything is committed. Exit code 1: something was refused or stayed uncommitted.
"""

_SHOWN_FAULTS: Final = 5
_PATIENCE_S: Final = 0.2
"""How long one attempt to publish waits before it looks whether it shall stop."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument(
        "files", metavar="FILE", nargs="*", help="where items come from; - is the standard input"
    )
    parser.add_argument("--topic", metavar="T", help="topic to publish to (the first configured)")
    parser.add_argument("--sender", metavar="NAME", default="", help="who sends (host-pid)")
    parser.add_argument(
        "--assignment", metavar="SPEC", help="which slice an item gets, in place of the topic's own"
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--json-lines", action="store_true", help="every line is a JSON object")
    kind.add_argument("--whole", action="store_true", help="every file is an item")
    kind.add_argument("--size", metavar="BYTES", type=whole_number, help="generate items")
    parser.add_argument(
        "--senders", metavar="N", type=whole_number, default=1_000,
        help="generated items come from so many senders (1000)",
    )  # fmt: skip
    parser.add_argument("--rate", metavar="N", type=positive, help="items a second, at most")
    parser.add_argument("--count", metavar="N", type=whole_number, help="stop after so many items")
    parser.add_argument(
        "--for", metavar="TIME", type=seconds, dest="duration", help="stop after a time, as in 60s"
    )
    parser.add_argument(
        "--within", metavar="TIME", type=seconds, default=30.0,
        help="how long to wait at the end until everything is committed (30s)",
    )  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def whole_number(text: str) -> int:
    """Read a whole number above 0."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number above 0")
    return int(text)


def positive(text: str) -> float:
    """Read a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} must be a number above 0")
    return number


def run(args: argparse.Namespace) -> int:
    """Publish until the source or the limits end, then wait for the commits."""
    config = load_config(args)
    if args.size is not None and args.files:
        raise UsageError("--size generates items: give it, or files, but not both")
    topic = (config.topic(args.topic) if args.topic else config.topics[0]).name
    stop = StopSignal()
    began = time.monotonic()
    publisher = Publisher(topic, config=config, assignment=args.assignment)
    feed = Feed(publisher, args, config, stop)
    progress = Progress(publisher, shown=not args.quiet)
    late: DeliveryTimeout | None = None
    with progress, publisher:
        feed.run()
        try:
            publisher.close(args.within)
        except DeliveryTimeout as error:
            late = error
    if late is not None:
        print(f"evenflow: error: {late}", file=sys.stderr)
    summary = summarize(feed, time.monotonic() - began)
    if args.json:
        print(json.dumps(summary, indent=2))
    else:
        print(
            "published {published} items in {seconds:.1f} s ({items_per_s:.0f}/s): {committed} "
            "committed, {uncommitted} uncommitted, {refused} refused".format(**summary),
            file=sys.stderr,
        )
    return 1 if summary["uncommitted"] or summary["refused"] else 0


class Feed:
    """Passes items from the source to the publisher."""

    def __init__(
        self, publisher: Publisher, args: argparse.Namespace, config: Config, stop: StopSignal
    ) -> None:
        self.publisher = publisher
        self.refused = 0
        """Items and lines that could not be published."""
        self._args = args
        self._longest = config.publisher.retention_bytes
        self._block_s = config.publisher.block_s
        self._stop = stop
        self._number = 0
        self._names = pa.array([f"sender-{number}" for number in range(args.senders)])

    def run(self) -> None:
        """Publish what the source gives, until it or the limits end."""
        args = self._args
        pace = Pace(self._stop, args.rate, args.count, args.duration)
        for group in self._source():
            for part in pace.parts(group):
                self._publish(part)
            if pace.over:
                return

    def _source(self) -> Iterator[Any]:
        args = self._args
        if args.size is not None:
            return generated(args.size, self._stop)
        paths = args.files or ["-"]
        if args.whole:
            return whole_files(paths, self._stop)
        return chain.from_iterable(lines(path, self._stop, self._longest) for path in paths)

    def _publish(self, part: Any) -> None:
        if self._args.json_lines:
            part, faults = objects(part)
            for fault in faults:
                self._refuse(fault)
        try:
            self._persist(part)
        except (AssignmentError, UsageError):
            # One of them is at fault: publish the others, and say which and why.
            for one in part:
                try:
                    self._persist([one])
                except (AssignmentError, UsageError) as error:
                    self._refuse(str(error))

    def _persist(self, part: Any) -> None:
        """Publish all of a part, waiting for room as long as the configuration says."""
        senders = self._senders(len(part))
        deadline = time.monotonic() + self._block_s
        while len(part):
            try:
                if isinstance(part, np.ndarray):
                    self.publisher.publish_columns(part, senders=senders, timeout=_PATIENCE_S)
                else:
                    self.publisher.publish_many(part, senders=senders, timeout=_PATIENCE_S)
            except PublishTimeout as full:
                part = part[full.accepted :]
                senders = senders if isinstance(senders, str) else senders[full.accepted :]
                if self._stop.given:
                    return
                if full.accepted:
                    deadline = time.monotonic() + self._block_s
                elif time.monotonic() > deadline:
                    raise
            else:
                return

    def _senders(self, count: int) -> Any:
        args = self._args
        if args.sender or args.size is None:
            return args.sender
        numbers = np.arange(self._number, self._number + count, dtype=np.int64) % args.senders
        self._number += count
        return pa.DictionaryArray.from_arrays(pa.array(numbers), self._names)

    def _refuse(self, fault: str) -> None:
        self.refused += 1
        if self.refused <= _SHOWN_FAULTS:
            print(f"evenflow: refused: {fault}", file=sys.stderr)


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


class Progress:
    """Shows once a second on stderr how far it is, in a thread of its own."""

    def __init__(self, publisher: Publisher, *, shown: bool) -> None:
        self._publisher = publisher
        self._ended = Event()
        self._before = 0
        self._shown = shown
        self._thread = Thread(target=self._show, name="evenflow-progress", daemon=True)

    def __enter__(self) -> Progress:
        if self._shown:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._shown:
            self._thread.join()

    def _show(self) -> None:
        while not self._ended.wait(1.0):
            stats = self._publisher.stats
            rate, self._before = stats.published - self._before, stats.published
            line = (
                f"{stats.published} published ({rate}/s), {stats.committed} committed,"
                f" {stats.uncommitted} to go ({stats.retained_bytes / 1e6:.1f} MB)"
            )
            print(line, file=sys.stderr, flush=True)
