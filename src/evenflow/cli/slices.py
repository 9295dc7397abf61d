"""``evenflow slices``: who owns which slice, what moved, and a move by hand."""

from __future__ import annotations

import json
import secrets
import sys
import time
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from evenflow.cli.options import load_config
from evenflow.cli.running import seconds
from evenflow.domain.channels import MOVES, REPLIES
from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors import DomainError, MoveRefused
from evenflow.model.messages import MoveReply, MoveRequest, Receipt, SliceMap
from evenflow.model.ranges import ranges

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
  evenflow slices                                      how many slices each node owns, and which
  evenflow slices --moves                              the receipts of all moves
  evenflow slices --moves --json
  evenflow slices move --from node-1 --to node-2 --count 10
  evenflow slices move --from node-1 --to node-2 --slices 3,4,5
"""
ROOM_FOR_REASONS = 100
"""Columns a terminal needs to say why slices moved."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument(
        "action", nargs="?", choices=["list", "move"], default="list", help="list (default) or move"
    )
    parser.add_argument("--topic", metavar="T", help="the topic (the first configured)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--moves", action="store_true", help="list the receipts of moves")
    move = parser.add_argument_group("move")
    move.add_argument("--from", metavar="NODE", dest="giver", help="node that gives")
    move.add_argument("--to", metavar="NODE", dest="taker", help="node that takes")
    move.add_argument("--count", metavar="N", type=int, default=0, help="how many slices")
    move.add_argument("--slices", metavar="A,B,..", type=numbers, default=(), help="which slices")
    move.add_argument(
        "--within", metavar="TIME", type=seconds, default=30.0, help="how long to wait (30s)"
    )


def numbers(text: str) -> tuple[int, ...]:
    """Read ``3,4,5``."""
    return tuple(int(part) for part in text.split(","))


def run(args: argparse.Namespace) -> int:
    """List the assignment or the receipts, or move slices."""
    config = load_config(args)
    topic = (config.topic(args.topic) if args.topic else config.topics[0]).name
    with Participant(config.domain) as participant:
        observer = Observer(participant)
        if args.action == "move":
            return _move(args, participant, observer, topic)
        view = observer.look_around(topic)
    if args.moves:
        show_receipts(view.receipts, as_json=args.json)
    elif view.map is None:
        raise DomainError(
            f"topic {topic}", "nobody has assigned its slices: start 'evenflow balancer' first"
        )
    else:
        show_map(view.map, as_json=args.json)
    return 0


def show_map(slice_map: SliceMap, *, as_json: bool) -> None:
    """Print who owns what."""
    names = ("", *slice_map.nodes)
    owned: dict[str, list[int]] = {}
    for slice_id, owner in enumerate(slice_map.owners):
        owned.setdefault(names[owner], []).append(slice_id)
    if as_json:
        rows = [
            {"slice": s, "node": names[owner], "term": slice_map.terms[s]}
            for s, owner in enumerate(slice_map.owners)
        ]
        print(json.dumps({"topic": slice_map.topic, "slices": rows}, indent=2))
        return
    table = Table("node", "slices", "which", box=SIMPLE)
    for node, slices in sorted(owned.items()):
        table.add_row(node or "(nobody)", str(len(slices)), ranges(slices))
    Console().print(table)


def as_row(receipt: Receipt) -> dict[str, Any]:
    """A receipt as the listing shows it."""
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(receipt.time)),
        "cause": receipt.cause,
        "from": receipt.giver,
        "to": receipt.taker,
        "slices": list(receipt.slices),
        "ms": round(receipt.ms, 1),
        "moved": receipt.moved,
        "replayed": receipt.replayed,
        "lost": receipt.lost,
        "repeated": receipt.repeated,
        "outcome": receipt.outcome,
        "why": receipt.why,
    }


def show_receipts(receipts: list[Receipt], *, as_json: bool) -> None:
    """Print what moved."""
    rows = [as_row(receipt) for receipt in receipts]
    if as_json:
        print(json.dumps({"moves": rows}, indent=2))
    elif not rows:
        print("nothing has moved since the balancer started")
    else:
        console = Console()
        columns = ["cause", "slices", "from", "to", "ms", "moved", "replayed", "lost", "repeated"]
        roomy = console.width >= ROOM_FOR_REASONS
        columns += ["why"] if roomy else []
        table = Table(box=SIMPLE, show_edge=False, padding=(0, int(roomy), 0, 0))
        for column in ("time", *columns):
            table.add_column(column, no_wrap=column != "why")
        for row in rows:
            row["slices"], row["ms"] = len(row["slices"]), round(row["ms"])
            table.add_row(row["time"][11:19], *(str(row[column]) for column in columns))
            if row["outcome"] != "done":
                table.add_row("", row["outcome"])
        console.print(table)
        if not roomy:
            console.print("why: 'evenflow history', or a terminal of 100 columns", style="dim")


def _move(
    args: argparse.Namespace, participant: Participant, observer: Observer, topic: str
) -> int:
    if not args.giver or not args.taker or not (args.count > 0 or args.slices):
        raise MoveRefused("say --from NODE --to NODE and --count N or --slices A,B,..")
    observer.look_around(topic)
    if observer.view(topic).balancer is None:
        raise MoveRefused("no balancer is running in this domain: start 'evenflow balancer' first")
    request = MoveRequest(
        topic, secrets.randbits(63), args.giver, args.taker, args.count, args.slices
    )
    replies = participant.reader(REPLIES)
    participant.writer(MOVES).write(request)
    deadline = time.monotonic() + args.within
    reply: MoveReply | None = None
    while time.monotonic() < deadline:
        observer.look(0.05)
        reply = reply or next((r for r in replies.take() if r.request == request.request), None)
        if reply is None:
            continue
        if not reply.accepted:
            raise MoveRefused(reply.reason)
        done = [r for r in observer.view(topic).receipts if r.term == reply.term]
        if done:
            show_receipts(done, as_json=args.json)
            return 0 if done[-1].outcome == "done" else 1
    print(f"evenflow: error: no receipt within {args.within:g} s", file=sys.stderr)
    return 1
