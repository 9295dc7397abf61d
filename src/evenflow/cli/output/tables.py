"""Tables of the commands that list: one style, as wide as the terminal, and no name is cut.

A column is a number, a name, or prose. What does not fit is left out, by columns: those of the
highest rank first, and a line says which. Prose is wrapped, and where there is room for nothing
else names are too; nothing is ever shortened. Where no terminal says how wide it is (a pipe, a
file) and ``COLUMNS`` is not set, everything is shown.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP: Final = 2
"""Spaces between two columns."""
LEAST: Final = 12
"""Prose and, where it must be, names are wrapped to this width at the least."""
UNBOUNDED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str
    rank: int = 0
    """0: it is always shown; of the others the highest is left out first."""
    number: bool = False
    """Whether it is set to the right and never wrapped."""
    prose: bool = False
    """Whether it may be wrapped before other columns are left out."""


def number(title: str, rank: int = 0) -> Column:
    """A column of numbers."""
    return Column(title, rank, number=True)


def prose(title: str, rank: int = 0) -> Column:
    """A column of words that may be wrapped."""
    return Column(title, rank, prose=True)


def print_table(columns: Sequence[Column | str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of cells; a cell may have several lines."""
    shown = [Column(one) if isinstance(one, str) else one for one in columns]
    width = available()
    widths = fitted(shown, [natural(shown, rows, at) for at in range(len(shown))], width)
    # The box itself puts a space between two columns.
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
    for at, wide in widths.items():
        table.add_column(
            shown[at].title,
            justify="right" if shown[at].number else "left",
            width=wide,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(row[at] for at in widths))
    console = Console(width=width, markup=False, highlight=False)
    console.print(table)
    left_out = [one.title for at, one in enumerate(shown) if at not in widths]
    if left_out:
        print_text(f"(no room for: {', '.join(left_out)}; a wider terminal or --json has them)")


def print_text(text: str, indent: str = "") -> None:
    """Print a line of words, wrapped to the width of the terminal."""
    print(fill(text, available(), initial_indent=indent, subsequent_indent=indent))


def available() -> int:
    """How wide a table may be."""
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS"):
        return UNBOUNDED
    return Console().width


def natural(columns: Sequence[Column], rows: Sequence[Sequence[str]], at: int) -> int:
    """How wide a column would like to be."""
    cells = (line for row in rows for line in row[at].splitlines())
    return max(cell_len(columns[at].title), *map(cell_len, cells), 1)


def fitted(columns: Sequence[Column], wished: Sequence[int], width: int) -> dict[int, int]:
    """Which columns are shown, by their place, and how wide.

    Args:
        columns: The columns.
        wished: How wide each would like to be.
        width: How wide they may be together.
    """
    shown = list(range(len(columns)))

    def least(at: int) -> int:
        return min(wished[at], LEAST) if columns[at].prose else wished[at]

    def needed() -> int:
        return sum(map(least, shown)) + GAP * (len(shown) - 1)

    while needed() > width and any(columns[at].rank for at in shown):
        shown.remove(max(shown, key=lambda at: columns[at].rank))
    rigid = [at for at in shown if columns[at].number]
    soft = [at for at in shown if at not in rigid]
    if needed() <= width:  # only prose has to give way
        rigid, soft = (
            [at for at in shown if not columns[at].prose],
            [at for at in shown if columns[at].prose],
        )
    room = width - GAP * (len(shown) - 1) - sum(wished[at] for at in rigid)
    given = shared(room, {at: wished[at] for at in soft})
    return {at: given.get(at, wished[at]) for at in shown}


def shared(room: int, wished: dict[int, int]) -> dict[int, int]:
    """Share room among columns: who wishes for less than an even share gets it, the rest share."""
    given: dict[int, int] = {}
    left = dict(wished)
    while left:
        even = max(1, room // len(left))
        at = min(left, key=lambda one: left[one])
        given[at] = min(left.pop(at), even)
        room -= given[at]
    return given
