"""Experiments in parts: each part is a module, imported when it is asked for.

A part measures, and says how its figures are printed and drawn::

    PART = Part("loss", measure, show, draw)

``measure(given, progress)`` returns what stands in the JSON file under the part's name. ``show``
prints it, and returns what is wrong with it in words, if anything is; ``draw`` makes a plot of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from evenflow_experiments.report import Progress, write_json, write_plot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from matplotlib.axes import Axes

    from evenflow_experiments.options import Given


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an experiment."""

    name: str
    measure: Callable[[Given, Progress], Any]
    """Measures; returns figures for the JSON file."""
    show: Callable[[Any], list[str]]
    """Prints the figures; returns what they should not be, in words."""
    draw: Callable[[Any, Axes], None]
    """Draws the figures."""


def part_of(modules: Mapping[str, str], name: str) -> Part:
    """Import a part.

    Args:
        modules: Name of a part -> the module with its ``PART``.
        name: The part's.
    """
    part = import_module(modules[name]).PART
    assert isinstance(part, Part)
    return part


def run_parts(
    experiment: str, modules: Mapping[str, str], names: Iterable[str], given: Given
) -> int:
    """Measure the parts and report; return the exit status.

    Args:
        experiment: What the user typed.
        modules: As for `part_of`.
        names: Which parts; none: all.
        given: What the command line says.
    """
    progress = Progress(experiment)
    parts = [part_of(modules, name) for name in tuple(names) or modules]
    figures: dict[str, Any] = {}
    wrong: list[str] = []
    for part in parts:
        progress(part.name)
        figures[part.name] = part.measure(given, progress)
        write_json(given.json, figures)
        wrong += part.show(figures[part.name])
    for fault in wrong:
        progress(f"not as it should be: {fault}")
    if given.plot:
        plot(given, parts, figures)
    return 1 if wrong else 0


def plot(given: Given, parts: list[Part], figures: dict[str, Any]) -> None:
    """One picture for each part, side by side."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    figure = Figure(figsize=(5.5 * len(parts), 4.5))
    for number, part in enumerate(parts):
        part.draw(figures[part.name], figure.add_subplot(1, len(parts), number + 1))
    figure.tight_layout()
    write_plot(given.plot, figure)
