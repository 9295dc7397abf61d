"""What all experiments share: their options, and the decorator that makes them commands.

An experiment is a function under the decorator `experiment`, in a module of its own that is
imported only when its name is given::

    @experiment("codec", HELP)
    @click.option("--rounds", metavar="N", type=int, default=0, help="rounds over all rows (9)")
    def codec(given: Given, rounds: int) -> int:
        \"\"\"Measure all rows and report.\"\"\"
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from evenflow.cli.options import Command, Shared, pass_shared

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenflow.config import Config


@dataclass(frozen=True, slots=True)
class Given:
    """What every experiment is told on the command line."""

    shared: Shared
    json: Path | None = None
    """Where to write the figures."""
    plot: Path | None = None
    """Where to draw them."""
    quick: bool = False
    """Fewer repetitions, within the time that the help names."""
    repeats: int = 1
    """How often a part measures what it measures, where it can be told."""

    def config(self, defaults: Mapping[str, Any]) -> Config:
        """The experiment's configuration; what the command line says wins over ``defaults``."""
        return self.shared.config(defaults)


def experiment(
    name: str, explanation: str, *, quick_s: int = 60
) -> Callable[[Callable[..., int]], Command]:
    """Make a command of a function that takes `Given` and its own options.

    Args:
        name: What the user types after ``evenflow experiment``.
        explanation: What is measured, how, and with which figure of which paper it compares.
        quick_s: How many seconds it takes at most with ``--quick``.
    """

    def make(function: Callable[..., int]) -> Command:
        @click.option("--json", metavar="FILE", type=Path, help="write the figures as JSON")
        @click.option("--plot", metavar="FILE", type=Path, help="draw the figures (PNG, SVG, PDF)")
        @click.option("--quick", is_flag=True, help=f"fewer repetitions, within {quick_s} s")
        @pass_shared
        @wraps(function)
        def run(
            shared: Shared, /, *, json: Path | None, plot: Path | None, quick: bool, **own: Any
        ) -> int:
            return function(Given(shared, json, plot, quick), **own)

        examples = f"  evenflow experiment {name} --quick --json out.json"
        return click.command(name, cls=Command, help=explanation, examples=examples)(run)

    return make
