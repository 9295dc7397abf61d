"""Experiments: each measures Evenflow and prints the papers' figures beside ours.

An experiment is one module with ``HELP``, ``add_arguments(parser)`` and ``run(args) -> int``, and
one line in the registry below. ``evenflow experiment`` gives each the options ``--json FILE``,
``--plot FILE`` and ``--quick``; `report` writes and prints what they find.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from evenflow.registry import Registry

if TYPE_CHECKING:
    import argparse

__all__ = ["EXPERIMENTS", "Experiment", "ExperimentModule"]


class ExperimentModule(Protocol):
    """What an experiment's module offers."""

    HELP: str
    """What is measured, how, and with which figure of which paper it compares."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the experiment's own arguments."""
        ...

    def run(self, args: argparse.Namespace) -> int:
        """Measure, report and return the exit code; `args` has json, plot and quick."""
        ...


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment before its module is imported."""

    module: str
    """Module that holds it."""
    help: str
    """One line that says what it measures."""

    def load(self) -> ExperimentModule:
        """Import the module."""
        return cast("ExperimentModule", import_module(self.module))


EXPERIMENTS: Registry[Experiment] = Registry(
    "experiment",
    {
        "codec": Experiment(
            "evenflow_experiments.slices.codec", "items per second: stock codec, ours, and batches"
        ),
        "exactly-once": Experiment(
            "evenflow_experiments.spark.exactly_once",
            "every id once, while nodes and Spark are killed",
        ),
        "handover": Experiment(
            "evenflow_experiments.slices.handover", "time of moving slices (MAPE-SDDL, Table II)"
        ),
        "overhead": Experiment(
            "evenflow_experiments.slices.overhead",
            "cost of a processing node (MAPE-SDDL, Figures 18, 19)",
        ),
        "overlay": Experiment(
            "evenflow_experiments.sedax", "even topics on brokers (SeDAX, Tables I-V)"
        ),
        "pipeline": Experiment(
            "evenflow_experiments.spark.pipeline", "items per second and delay through Spark"
        ),
        "skew": Experiment(
            "evenflow_experiments.balance.skew",
            "all balancing algorithms on uneven loads (simulated)",
        ),
        "store": Experiment(
            "evenflow_experiments.store.experiment",
            "the overlay store under deaths, returns and moves",
        ),
        "throughput": Experiment(
            "evenflow_experiments.slices.throughput",
            "five nodes join (MAPE-SDDL, Figures 15-17, Table I)",
        ),
    },
    group="evenflow_experiments",
)
