"""The commands of ``evenflow``: name, module, one line of help.

The help stands here and not in the modules, so that ``evenflow --help`` imports none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from evenflow.registry import Registry

if TYPE_CHECKING:
    import argparse


class CommandModule(Protocol):
    """What a command's module offers."""

    EXAMPLES: str
    """Shown at the end of the command's ``--help``."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's own arguments."""
        ...

    def run(self, args: argparse.Namespace) -> int:
        """Do the work and return the exit code."""
        ...


@dataclass(frozen=True, slots=True)
class Command:
    """A command before its module is imported."""

    module: str
    """Module that holds it."""
    help: str
    """One line that says what it does."""

    def load(self) -> CommandModule:
        """Import the module."""
        return cast("CommandModule", import_module(self.module))


COMMANDS: Registry[Command] = Registry(
    "command",
    {
        "archive": Command("evenflow.cli.archive", "keep durable topics in the overlay store"),
        "balancer": Command("evenflow.cli.balancer", "assign slices to nodes and move them"),
        "broker": Command("evenflow.cli.broker", "store topics as part of the overlay"),
        "config": Command("evenflow.cli.config", "check the configuration and print it"),
        "consumers": Command("evenflow.cli.consumers", "list who reads a served topic"),
        "experiment": Command(
            "evenflow_experiments.command", "measure, beside the papers' figures"
        ),
        "history": Command("evenflow.cli.history", "tell what was planned, done, and why"),
        "node": Command("evenflow.cli.node", "process the items of slices with an application"),
        "nodes": Command("evenflow.cli.nodes", "list the processing nodes and their load"),
        "plan": Command("evenflow.cli.plan", "show what an algorithm would move now"),
        "publish": Command("evenflow.cli.publish", "publish lines, files or generated items"),
        "slices": Command("evenflow.cli.slices", "list slices and moves, or move some"),
        "up": Command("evenflow.cli.up", "run everything on this machine, with a live table"),
    },
    group="evenflow.commands",
)
