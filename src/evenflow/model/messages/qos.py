"""Adaptive quality of service: how full writers are, and what is thinned where."""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.model.wire import F64, KeyText, Number, Numbers, Text, Texts


@dataclass(frozen=True, slots=True)
class WriterUse:
    """How full the writers of a topic are in one process (the monitor topic of the paper).

    The columns are those of :class:`evenflow.qos.use.Use`; a limit of 0 means that there is none.
    """

    topic: KeyText
    process: KeyText
    """Id under which the process reports."""
    names: Texts
    """Its writers, or what stands in for them on a sliced topic."""
    used: Numbers
    """For each: samples that it manages; of a publisher: bytes that it retains."""
    used_most: Numbers
    """For each: its resource limit; of a publisher: what it may retain."""
    kept: Numbers
    """For each: samples in its history; of a node: bytes that wait."""
    kept_most: Numbers
    """For each: its history depth; of a node: its cache."""


@dataclass(frozen=True, slots=True)
class SeparationReport:
    """Which separation is in effect at one executor, and what it has left out."""

    topic: KeyText
    process: KeyText
    """Who is ordered to change it: the id under which the process reports."""
    name: KeyText
    """What is thinned there: a publisher, a reader."""
    policy: Text
    """Where the topic is thinned: ``never``, ``readers``, ``source`` or ``instance``. Empty: it is
    no more."""
    separation_s: F64
    """Of each sender (instance) at most one item in so many seconds; 0: all."""
    most_s: F64
    """The largest separation that its other policies allow; infinite when they allow any."""
    deadline_s: F64
    """Longest time between two items of a sender; infinite when there is none."""
    thinned: Number
    """Items left out since it was started."""
