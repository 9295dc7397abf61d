"""What a message must be besides well encoded, so that no core stumbles over it.

A sample may be perfect CDR and still be no message of ours: columns of different lengths, a step
nobody knows, an index that points nowhere, a number beyond its bound
(:mod:`evenflow.model.bounds`). Such a sample is foreign, and is counted and skipped like a damaged
one.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

from evenflow.errors import DecodeError
from evenflow.model import messages
from evenflow.model.bounds import LONGEST_SEPARATION_S, MOST_ARCS, MOST_TERM
from evenflow.model.headers import decode_headers
from evenflow.model.messages import SliceState, Step
from evenflow.model.slice_map import page_slices

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.model.wire import Kind

_PARALLEL: Final[dict[type[Any], tuple[tuple[str, ...], ...]]] = {
    messages.EpochClose: (("slices", "last"),),
    messages.ReplayRequest: (("slices", "terms", "have"),),
    messages.ReplayAnswer: (("slices", "floor", "last"), ("refused", "refused_terms")),
    messages.Commit: (("slices", "terms", "upto"),),
    messages.ConsumerCommit: (("writers", "epochs"), ("planned_writers", "planned_epochs")),
    messages.Progress: (("writers", "epochs"),),
    messages.CommitCopy: (("writers", "epochs"), ("planned_writers", "planned_epochs")),
    messages.CacheChunk: (
        ("slices", "writers", "done", "known"),
        ("state_slices", "state_lengths"),
    ),
    messages.ItemReplies: (("numbers", "senders", "ids", "lengths"),),
    messages.NodeReport: (("slices", "states", "terms"),),
    messages.SliceLoads: (("slices", "terms", "items", "octets", "busy_us", "arrived"),),
    messages.SliceReads: (("slices", "items", "octets"),),
    messages.SliceCosts: (("slices", "work_ns"),),
    messages.Beat: (("nodes", "numbers"),),
    messages.MapPage: (("owners", "terms"),),
    messages.Ledger: (("writers", "terms", "stages"), ("consumers", "numbers")),
    messages.CutAnswer: (("slices", "owner_terms", "have", "last"), ("close_slices", "close_last")),
    messages.WriterCut: (("slices", "upto"),),
    messages.PendingCuts: (("writers", "reasons", "waited_s"),),
    messages.PropertyReport: (("names", "values", "ranges"),),
    messages.WriterUse: (("names", "used", "used_most", "kept", "kept_most"),),
    messages.EventNotice: (("names", "values", "times"),),
    messages.Positions: (("nodes", "latitudes", "longitudes"),),
    messages.Mail: (("nodes", "numbers", "previous"),),
    messages.MailReceipt: (("nodes", "received"),),
    messages.NodeOutcome: (("topics", "left"),),
    messages.DeviceCounts: (("guids", "received", "sent", "lost"),),
    messages.DeviceRecord: (("roles", "reliable", "topics", "types"),),
    messages.BridgeReport: (("arcs", "arc_devices"),),
    messages.ArcTable: (("arcs", "takers"),),
}
"""Fields that are columns of one table."""

_STEPS: Final = frozenset(Step)
_STATES: Final = frozenset(SliceState)


def fault_of(message: Any, newest_term: int = MOST_TERM) -> str:
    """Return what makes a message foreign, ``""`` when nothing does.

    Args:
        message: The message.
        newest_term: No term may be newer; :func:`evenflow.model.bounds.newest_term` knows it.
    """
    kind = type(message)
    for name, bound in _bounds_of(kind):  # type: ignore[arg-type]
        values = getattr(message, name)
        most = newest_term if bound.is_term else bound.most
        found = max(values, default=0) if bound.sequence else values
        if most is not None and found > most:
            return f"{name} is {found}, above {most}"
    for columns in _PARALLEL.get(kind, ()):
        lengths = [len(getattr(message, column)) for column in columns]
        if len(set(lengths)) > 1:
            return f"columns {', '.join(columns)} of {', '.join(map(str, lengths))} rows"
    check = _CHECKS.get(kind)
    return check(message) if check else ""


@cache
def _bounds_of(kind: type[Any]) -> tuple[tuple[str, Kind], ...]:
    """The fields of a message that have a bound of their own."""
    hints = get_type_hints(kind, include_extras=True)
    kinds = ((name, get_args(hints[name])[1]) for name in kind.__dataclass_fields__)
    return tuple((name, one) for name, one in kinds if one.most is not None)


def _step(message: messages.Order | messages.Ack) -> str:
    return "" if message.step in _STEPS else f"unknown step {message.step}"


def _states(report: messages.NodeReport) -> str:
    return "" if _STATES.issuperset(report.states) else "unknown state of a slice"


def _page(page: messages.MapPage) -> str:
    most, rows = len(page.nodes), len(page.owners)
    if not rows or rows != len(page_slices(page.page, page.slice_count)):
        return f"{rows} slices on page {page.page} of a map of {page.slice_count}"
    return "" if max(page.owners) <= most else f"an owner beyond {most} nodes"


def _chunk(chunk: messages.CacheChunk) -> str:
    if chunk.index >= chunk.total:
        return f"chunk {chunk.index} of {chunk.total}"
    if sum(chunk.lengths) != len(chunk.batches):
        return f"{sum(chunk.lengths)} bytes of batches announced, {len(chunk.batches)} here"
    announced, here = sum(chunk.state_lengths), len(chunk.state_octets)
    return "" if announced == here else f"{announced} bytes of states announced, {here} here"


def _replies(replies: messages.ItemReplies) -> str:
    announced, here = sum(replies.lengths), len(replies.payloads)
    if announced != here:
        return f"{announced} bytes of replies announced, {here} here"
    if replies.headers:
        try:
            decode_headers(replies.headers, len(replies.numbers))
        except DecodeError as error:
            return str(error)
    return ""


def _owner_terms(cut: messages.WriterCut) -> str:
    most, rows = len(cut.slices), len(cut.owner_terms)
    return "" if rows in (0, most) else f"terms of {rows} owners for {most} slices"


def _separation(report: messages.SeparationReport) -> str:
    if not 0.0 <= report.separation_s <= LONGEST_SEPARATION_S:
        return f"a separation of {report.separation_s} s"
    if not (report.most_s >= 0.0 and report.deadline_s >= 0.0):
        return f"at most {report.most_s} s, a deadline of {report.deadline_s} s"
    return ""


def _bridge(report: messages.BridgeReport) -> str:
    most = len(report.arcs)
    return f"{most} arcs, above {MOST_ARCS}" if most > MOST_ARCS else ""


def _arc_table(table: messages.ArcTable) -> str:
    most = len(table.arcs)
    if most > MOST_ARCS:
        return f"{most} arcs, above {MOST_ARCS}"
    if any(later <= earlier for earlier, later in pairwise(table.arcs)):
        return "arcs that are not in order"
    bridges = len(table.bridges)
    return "" if max(table.takers, default=-1) < bridges else f"a taker beyond {bridges} bridges"


_CHECKS: Final[dict[type[Any], Callable[[Any], str]]] = {
    messages.Order: _step,
    messages.Ack: _step,
    messages.NodeReport: _states,
    messages.MapPage: _page,
    messages.CacheChunk: _chunk,
    messages.ItemReplies: _replies,
    messages.WriterCut: _owner_terms,
    messages.SeparationReport: _separation,
    messages.BridgeReport: _bridge,
    messages.ArcTable: _arc_table,
}
