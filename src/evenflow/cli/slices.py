"""``evenflow slices``: who owns which slice, what moved, and a move by hand."""

from __future__ import annotations

import json
import secrets
import time
from typing import Any

import rich_click as click

from evenflow.cli.options import Shared, command
from evenflow.cli.output.log import fail
from evenflow.cli.output.tables import Column, number, print_table, prose
from evenflow.cli.values import seconds
from evenflow.domain.channels import MOVES, REPLIES
from evenflow.domain.cyclone import Participant
from evenflow.domain.observer import Observer
from evenflow.errors import DomainError, MoveRefused
from evenflow.model.messages import MoveReply, MoveRequest, Receipt
from evenflow.model.ranges import ranges
from evenflow.model.slice_map import SliceMap

EXAMPLES = """\
  evenflow slices                  how many slices each node owns, and which
  evenflow slices --moves          the receipts of all moves
  evenflow slices --moves --json
  evenflow slices move --from node-1 --to node-2 --count 10
  evenflow slices move --from node-1 --to node-2 --slices 3,4,5
"""
MOVE_COLUMNS = (
    Column("time", 4), Column("cause", 3), number("slices"), "from", "to", number("ms", 5),
    number("moved", 7), number("replayed", 8), number("repeated", 9),
    prose("why"),
)  # fmt: skip


def numbers(text: str) -> tuple[int, ...]:
    """Read ``3,4,5``."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} must be numbers such as 3,4,5") from None


@command("slices", examples=EXAMPLES)
@click.argument("action", type=click.Choice(["list", "move"]), default="list")
@click.option("--topic", metavar="T", help="the topic (the first configured)")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@click.option("--moves", is_flag=True, help="list the receipts of moves")
@click.option("--from", "giver", metavar="NODE", help="move: node that gives")
@click.option("--to", "taker", metavar="NODE", help="move: node that takes")
@click.option("--count", metavar="N", type=int, default=0, help="move: how many slices")
@click.option("--slices", "which", metavar="A,B,..", type=numbers, help="move: which slices")
@click.option(
    "--within", metavar="TIME", type=seconds, default="30s", help="move: how long to wait (30s)"
)
def slices(
    shared: Shared, action: str, topic: str | None, giver: str | None, taker: str | None,
    count: int, which: tuple[int, ...] | None, within: float, *, as_json: bool, moves: bool,
) -> int:  # fmt: skip
    """List slices and moves, or move some."""
    config = shared.config()
    topic = (config.topic(topic) if topic else config.topics[0]).name
    with Participant(config.domain) as participant:
        observer = Observer(participant)
        if action == "move":
            if not giver or not taker or not (count > 0 or which):
                raise MoveRefused("say --from NODE --to NODE and --count N or --slices A,B,..")
            request = MoveRequest(topic, secrets.randbits(63), giver, taker, count, which or ())
            return _move(request, participant, observer, within, as_json=as_json)
        view = observer.look_around(topic)
    if moves and (view.receipts or view.map is not None):
        show_receipts(view.receipts, as_json=as_json)
    elif view.map is None:
        raise DomainError(
            f"topic {topic}", "nobody has assigned its slices: start 'evenflow balancer' first"
        )
    else:
        show_map(topic, view.map, as_json=as_json)
    return 0


def show_map(topic: str, slice_map: SliceMap, *, as_json: bool) -> None:
    """Print who owns what."""
    if as_json:
        owned = zip(slice_map.owners, slice_map.terms.tolist(), strict=True)
        rows = [
            {"slice": slice_id, "node": node, "term": term}
            for slice_id, (node, term) in enumerate(owned)
        ]
        print(json.dumps({"topic": topic, "slices": rows}, indent=2))
        return
    print(f"topic {topic}")
    by_node = sorted(slice_map.by_node().items())
    cells = [(node or "(nobody)", f"{len(some):,}", ranges(some)) for node, some in by_node]
    print_table(("node", number("slices"), prose("which")), cells)


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
        print(
            "nothing has moved since the balancer started (evenflow history knows what was before)"
        )
    else:
        print_table(MOVE_COLUMNS, [_cells(row) for row in rows])


def _cells(row: dict[str, Any]) -> list[str]:
    """A move; of a plan without its id, and of one that failed how."""
    why = row["why"] if row["outcome"] == "done" else f"failed: {row['outcome']}"
    return [
        row["time"][11:19],
        row["cause"].partition(" ")[0],
        f"{len(row['slices']):,}",
        row["from"] or "-",
        row["to"],
        f"{row['ms']:,.0f}",
        *(f"{row[key]:,}" for key in ("moved", "replayed", "repeated")),
        why,
    ]


def _move(
    request: MoveRequest, participant: Participant, observer: Observer, within: float, *,
    as_json: bool,
) -> int:  # fmt: skip
    observer.look_around(request.topic)
    if observer.view(request.topic).balancer is None:
        raise MoveRefused("no balancer is running in this domain: start 'evenflow balancer' first")
    replies = participant.reader(REPLIES)
    participant.writer(MOVES).write(request)
    deadline = time.monotonic() + within
    reply: MoveReply | None = None
    while time.monotonic() < deadline:
        observer.look(0.05)
        reply = reply or next((r for r in replies.take() if r.request == request.request), None)
        if reply is None:
            continue
        if not reply.accepted:
            raise MoveRefused(reply.reason)
        done = [r for r in observer.view(request.topic).receipts if r.term == reply.term]
        if done:
            show_receipts(done, as_json=as_json)
            return 0 if done[-1].outcome == "done" else 1
    fail(f"no receipt within {within:g} s")
    return 1
