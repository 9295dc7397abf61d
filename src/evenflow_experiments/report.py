"""How an experiment tells what it found.

Progress goes to stderr, one line at a time. Results go to stdout as a table in which the paper's
figure stands beside ours, to a JSON file with the machine they were measured on, and to a plot.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import psutil
from rich.console import Console
from rich.table import Table

import evenflow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

FILE_WIDTH = 120
"""Columns of a table that does not go to a terminal."""
FIRST_DOMAIN, DOMAINS = 90, 10
"""The DDS domains of experiments."""
PAPER = "paper"
"""A column whose title begins with this word holds the paper's figures, and is printed dim."""


@dataclass(slots=True)
class Progress:
    """Lines on stderr that say how far an experiment is, with the seconds since it began."""

    experiment: str
    started: float = field(default_factory=time.monotonic)

    def __call__(self, message: str) -> None:
        """Print one line."""
        seconds = time.monotonic() - self.started
        print(f"{self.experiment} {seconds:6.1f} s  {message}", file=sys.stderr, flush=True)


def own_domain() -> int:
    """Return a DDS domain that nobody on this machine uses, if there is one.

    Its ports lie below those that the system gives out by itself, so that nobody is in the way;
    and above the domains that people choose, and tests.
    """
    ports = {one.laddr.port for one in psutil.net_connections("udp") if one.laddr}
    domains = [FIRST_DOMAIN + (os.getpid() + i) % DOMAINS for i in range(DOMAINS)]
    return next((domain for domain in domains if 7_400 + 250 * domain not in ports), domains[0])


def environment() -> dict[str, Any]:
    """Return what the figures depend on besides our code."""
    return {
        "evenflow": evenflow.__version__,
        "cyclonedds": version("cyclonedds"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def write_json(path: Path | None, figures: Mapping[str, Any]) -> None:
    """Write the figures with their environment; do nothing without a path."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**figures, "environment": environment()}, indent=2)
    path.write_text(text + "\n", encoding="utf-8")


def write_plot(path: Path | None, figure: Figure) -> None:
    """Save a plot in the format its name says; do nothing without a path."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, bbox_inches="tight", dpi=150)


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    note: str = "",
    console: Console | None = None,
) -> None:
    """Print rows under their columns; numbers to the right, the paper's figures dim.

    Args:
        title: What the table shows, with the paper's figure or table it answers.
        columns: Titles, with units.
        rows: One sequence of cells each; None prints as a dash.
        note: A line below the table.
        console: Where to print, stdout unless told.
    """
    table = Table(title=title, caption=note or None)
    for column in columns:
        style = "dim" if column.startswith(PAPER) else ""
        word = max(map(len, column.split()), default=0)  # titles are wrapped, words never cut
        table.add_column(column, justify="right", style=style, min_width=word, overflow="fold")
    for row in rows:
        table.add_row(*(cell(value) for value in row))
    (console or _stdout()).print(table)


def _stdout() -> Console:
    """The terminal as wide as it is; a file or a pipe wide enough for a table."""
    return Console() if sys.stdout.isatty() else Console(width=FILE_WIDTH)


def cell(value: object) -> str:
    """Write a value for people: a dash for None, thousands apart, three digits that matter."""
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
