"""Panels: tables of metrics, each with its name, its meaning and how it is read.

One panel describes one kind of thing (a node, a publisher). A thing is read whole, at one moment;
the metrics are its attributes, or what a function finds in it. A metric with labels of its own
gives a value for each of their combinations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

PREFIX = "evenflow_"
COUNTER = "counter"
GAUGE = "gauge"

Labelled = Mapping[tuple[str, ...], float]
"""Values by the labels of a metric that has some of its own."""
Source = Callable[[], Iterable[tuple[tuple[str, ...], Any]]]
"""Gives the things of a panel, each after the values of the panel's labels."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric."""

    name: str
    """Its whole name; that of a counter ends in ``_total``."""
    kind: str
    """`COUNTER`, which only grows while the process lives, or `GAUGE`."""
    meaning: str
    """What it means, in a sentence."""
    read: Callable[[Any], float | Labelled | None]
    """Finds it in a thing; None: there is nothing to say."""
    labels: tuple[str, ...] = ()
    """Labels besides those of the panel."""

    def values(self, thing: Any) -> Labelled:
        """Its values in a thing, by its own labels."""
        found = self.read(thing)
        if found is None:
            return {}
        return found if isinstance(found, Mapping) else {(): float(found)}


@dataclass(frozen=True, slots=True)
class Panel:
    """The metrics of one kind of thing."""

    what: str
    """What they are of, in words."""
    labels: tuple[str, ...]
    """Labels of all of them."""
    metrics: tuple[Metric, ...]


def counter(
    name: str, read: str | Callable[[Any], Any], meaning: str, labels: tuple[str, ...] = ()
) -> Metric:
    """A number that only grows; ``read`` is an attribute, or a function of the thing."""
    return Metric(f"{PREFIX}{name}_total", COUNTER, meaning, _reader(read), labels)


def gauge(
    name: str, read: str | Callable[[Any], Any], meaning: str, labels: tuple[str, ...] = ()
) -> Metric:
    """A number that goes up and down."""
    return Metric(PREFIX + name, GAUGE, meaning, _reader(read), labels)


def _reader(read: str | Callable[[Any], Any]) -> Callable[[Any], Any]:
    return attrgetter(read) if isinstance(read, str) else read
