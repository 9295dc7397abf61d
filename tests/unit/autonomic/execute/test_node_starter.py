"""Nodes are started and stopped once, whatever is repeated."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from evenflow.autonomic.execute.actions import START_NODE, STOP_NODE
from evenflow.autonomic.execute.node_starter import PATIENCE_S, NodeStarter
from evenflow.config import Config, ElasticConfig
from evenflow.model.messages import ActionOrder, ActionOutcome

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START = ActionOrder("p-1", "a", 1, "nodes", START_NODE, b"", undo=False)
STOP = ActionOrder("p-2", "a", 1, "nodes", STOP_NODE, b"old~1", undo=False)


@dataclass(frozen=True)
class Place:
    host: str
    pid: int


STARTERS: list[NodeStarter] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while STARTERS:
        STARTERS.pop().close()


class Fleet:
    """A starter, and the nodes it sees."""

    def __init__(self, start: tuple[str, ...] = (), stop: tuple[str, ...] = ()) -> None:
        self.nodes: dict[str, Place] = {}
        self.starter = NodeStarter(Config(elastic=ElasticConfig(start, stop)), lambda: self.nodes)
        STARTERS.append(self.starter)

    def answer(self, now: float = 0.0) -> ActionOutcome:
        """Wait for the answer; the commands of these tests end by themselves."""
        while True:
            for child in self.starter._launcher.children:
                child.wait(30)
            answers = self.starter.poll(now)
            if answers:
                return answers[0]


def touching(path: Path) -> tuple[str, ...]:
    """A command that leaves a mark with what it was told."""
    program = f"import sys; open({str(path)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')"
    return (sys.executable, "-c", program, "{name}")


def test_a_start_is_acknowledged_when_the_node_has_joined(tmp_path: Path) -> None:
    fleet = Fleet(touching(tmp_path / "started"))
    fleet.starter.order(START, 0.0)
    assert fleet.starter.poll(0.0) == []
    fleet.starter.order(START, 1.0)
    assert fleet.starter.poll(1.0) == []
    assert fleet.starter.starting == ("p-1",)
    for child in fleet.starter._launcher.children:
        child.wait(30)
    assert fleet.starter.poll(2.0) == []
    fleet.nodes["p-1~7"] = Place("here", 1)
    assert fleet.answer().ok
    assert (tmp_path / "started").read_text() == "p-1\n"
    assert fleet.starter.starting == ()


def test_a_second_attempt_waits_for_the_node_of_the_first(tmp_path: Path) -> None:
    fleet = Fleet(touching(tmp_path / "started"))
    fleet.starter.order(replace(START, attempt=2), 0.0)
    fleet.starter.poll(PATIENCE_S / 2)
    assert not fleet.starter._launcher.children
    fleet.nodes["p-1~7"] = Place("here", 1)
    assert fleet.answer(PATIENCE_S / 2).ok
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ((sys.executable, "-c", "raise SystemExit(3)"), "p-1 ended with 3"),
        (("/no/such/program",), "No such file"),
    ],
)
def test_a_start_that_fails_is_refused(command: tuple[str, ...], reason: str) -> None:
    fleet = Fleet(command)
    fleet.starter.order(START, 0.0)
    answer = fleet.answer()
    assert not answer.ok
    assert reason in answer.reason


def test_a_node_of_this_machine_is_told_to_end() -> None:
    fleet = Fleet()
    node = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    fleet.nodes["old~1"] = Place(socket.gethostname(), node.pid)
    fleet.starter.order(STOP, 0.0)
    assert fleet.starter.poll(0.0) == []
    assert node.wait(30) != 0
    assert fleet.starter.poll(1.0) == []
    del fleet.nodes["old~1"]
    assert fleet.answer().ok


def test_a_node_elsewhere_needs_a_command(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.nodes["old~1"] = Place("far-away", os.getpid())
    fleet.starter.order(STOP, 0.0)
    assert "elastic.stop" in fleet.answer().reason
    fleet = Fleet(stop=(*touching(tmp_path / "stopped"), "{host}", "{pid}"))
    fleet.nodes["old~1"] = Place("far-away", 77)
    fleet.starter.order(STOP, 0.0)
    fleet.starter.poll(0.0)
    for child in fleet.starter._launcher.children:
        child.wait(30)
    assert (tmp_path / "stopped").read_text() == "old~1 far-away 77\n"


def test_the_default_command_is_a_node_with_the_balancers_own_configuration() -> None:
    fleet = Fleet()
    command = fleet.starter._start_command("p-1")
    assert command[1:6] == ["-m", "evenflow", "node", "--name", "p-1"]
    assert Config.load(command[-1]).as_tables() == Config().as_tables()
