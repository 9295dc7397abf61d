"""``bridge.arcs``: the action by which a plan has bridges go by a new table of arcs.

It is ordered of one bridge, and done when that goes by the table and tells it. All others hear it
from there (:mod:`evenflow.bridge.ring.core`): so it survives the balancer, the restart of any
bridge, and reaches who comes later. It is not undone: where arcs shall be next is the next plan's
business. A table that is older than the one a bridge goes by is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from evenflow.autonomic.execute.executors import CallExecutor
from evenflow.bridge.ring.arc_table import is_newer
from evenflow.domain.shape import fault_of
from evenflow.errors import DecodeError
from evenflow.model.bounds import MOST_ARCS
from evenflow.model.checked_json import CheckedJson, Whole, encode_json, fits
from evenflow.model.messages import ArcTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.autonomic.execute.executors import MakeExecutor, Surroundings

ARCS: Final = "bridge.arcs"


class ArcsArgs(msgspec.Struct, frozen=True):
    """Arguments of ``bridge.arcs``: the columns of an `ArcTable`."""

    term: Whole
    number: Whole
    arcs: Annotated[tuple[Whole, ...], msgspec.Meta(max_length=MOST_ARCS)]
    takers: Annotated[tuple[Whole, ...], msgspec.Meta(max_length=MOST_ARCS)]
    bridges: tuple[str, ...]


_ARGS: Final = CheckedJson(ARCS, ArcsArgs)


def process_of(bridge: str) -> str:
    """The id under which a bridge reports its properties, and plans name it."""
    return f"bridge/{bridge}"


def arguments_of(table: ArcTable) -> bytes:
    """The arguments of the action that brings a table to bridges."""
    return encode_json(ArcsArgs(table.term, table.number, table.arcs, table.takers, table.bridges))


def table_of(args: bytes) -> ArcTable:
    """The table that an action brings.

    Raises:
        DecodeError: The arguments are no table.
    """
    read = _ARGS.decode(args)
    for end in read.arcs:
        fits(ARCS, end)
    table = ArcTable("", read.term, read.number, read.arcs, read.takers, read.bridges)
    fault = fault_of(table)
    if fault:
        raise DecodeError(f"{ARCS}: {fault}", size=len(args))
    return table


def arcs_executor(
    current: Callable[[], ArcTable], post: Callable[[ArcTable], object]
) -> MakeExecutor:
    """The executor of this action at a bridge.

    Args:
        current: Gives the table that the bridge goes by.
        post: Gives the bridge a planned table (`ArcsPlanned`).
    """

    def bring(args: bytes) -> None:
        table, known = table_of(args), current()
        if is_newer(known, table):
            raise DecodeError(
                f"{ARCS}: table {table.number} of term {table.term} is older than the one in use,"
                f" {known.number} of term {known.term}"
            )
        post(table)

    def make(_: Surroundings) -> CallExecutor:
        return CallExecutor(bring, lambda _: None)

    return make
