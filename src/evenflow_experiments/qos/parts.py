"""The parts of ``evenflow experiment qos``: each is a module, imported when it is asked for.

A part measures, and says how its figures are printed and drawn::

    PART = Part("loss", measure, show, draw)

``measure(given, progress)`` returns what stands in the JSON file under the part's name. ``show``
prints it, and returns what is wrong with it in words, if anything is; ``draw`` makes a plot of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from evenflow_experiments.options import Given
    from evenflow_experiments.report import Progress


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the experiment."""

    name: str
    measure: Callable[[Given, Progress], Any]
    """Measures; returns figures for the JSON file."""
    show: Callable[[Any], list[str]]
    """Prints the figures; returns what they should not be, in words."""
    draw: Callable[[Any, Axes], None]
    """Draws the figures."""


PARTS: Final = {
    "controller": "evenflow_experiments.qos.controlling",
    "cpu": "evenflow_experiments.qos.cpu",
    "filtered": "evenflow_experiments.qos.filtered",
    "loss": "evenflow_experiments.qos.losing",
    "missed": "evenflow_experiments.qos.missing",
    "overload": "evenflow_experiments.qos.overload",
}
"""Name of a part -> the module with its ``PART``."""


def part_of(name: str) -> Part:
    """Import a part."""
    part = import_module(PARTS[name]).PART
    assert isinstance(part, Part)
    return part
