"""How a fault is done, and undone."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from evenflow_experiments.faults.kinds import Action

if TYPE_CHECKING:
    from pathlib import Path

    from evenflow_experiments.faults.kinds import Fault
    from evenflow_experiments.faults.stage import Stage


def strike(stage: Stage, fault: Fault) -> None:
    """Begin a fault."""
    hosts, target = stage.hosts, fault.target
    match fault.action:
        case Action.KILL:
            stage.kill(target)
        case Action.STOP:
            stage.send_all(target, signal.SIGSTOP)
        case Action.LINK:
            hosts.set_cable(target, "down")
        case Action.PATH:
            for sender, receiver in fault.ways:
                hosts.block(sender, receiver)
        case Action.CLOCK:
            stage.kill(target)
            stage.start(target, fault.skew_s)
        case Action.DISK:
            hosts.fill(target, _disk(stage, target))


def heal(stage: Stage, fault: Fault) -> None:
    """End a fault."""
    hosts, target = stage.hosts, fault.target
    match fault.action:
        case Action.KILL:
            stage.start(target)
        case Action.STOP:
            stage.send_all(target, signal.SIGCONT)
        case Action.LINK:
            hosts.set_cable(target, "up")
        case Action.PATH:
            for _, receiver in fault.ways:
                hosts.unblock(receiver)
        case Action.CLOCK:
            stage.kill(target)
            stage.start(target)
        case Action.DISK:
            hosts.free(target, _disk(stage, target))


def _disk(stage: Stage, name: str) -> Path:
    disk = stage.parts[name].disk
    assert disk is not None
    return disk
