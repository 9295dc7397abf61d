"""Gateways are started once, whatever is repeated; one that has nodes is not stopped."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.unit.mobile.gateway.harness import Harness, written

from evenflow.config import Config, ElasticConfig, GatewayConfig
from evenflow.errors import ConfigError, DecodeError
from evenflow.mobile.gateway.events import Drain, Started
from evenflow.mobile.gateway.shell.elastic_folders import ElasticFolders, started_by
from evenflow.mobile.gateway.shell.starting import (
    START,
    STOP,
    Doors,
    StartArgs,
    StartExecutor,
    StopExecutor,
)
from evenflow.mobile.link.address import with_ports
from evenflow.model.messages import ActionOrder, GatewayReport

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOORS = Doors(("quic://0.0.0.0:7501", "tls://0.0.0.0:7501"), ("quic://a.example:7501",))


def order(name: str, attempt: int = 1, *, retiring: bool = False) -> ActionOrder:
    args = json.dumps({"name": name, "retiring": retiring}).encode()
    return ActionOrder("p-1", "a", attempt, "g1", START, args, undo=False)


class Starting:
    """An executor, and the gateways that are heard."""

    def __init__(self, *command: str, folder: Path | None = None) -> None:
        self.heard: set[str] = set()
        gateways = GatewayConfig(state_dir=str(folder)) if folder else GatewayConfig()
        config = Config(elastic=ElasticConfig(start_gateway=command), gateway=gateways)
        self.executor = StartExecutor("g1", config, DOORS, self.heard.__contains__)

    def ended(self) -> None:
        for child in self.executor._launcher.children:
            child.wait(30)


@pytest.fixture
def marks(tmp_path: Path) -> Iterator[tuple[Starting, Path]]:
    """A command that leaves a mark with what it was told."""
    path = tmp_path / "started"
    program = f"import sys; open({str(path)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')"
    made = Starting(sys.executable, "-c", program, "{name}", "{retiring}", folder=tmp_path)
    yield made, path
    made.executor.close()


def test_a_start_is_done_when_the_gateway_is_heard(marks: tuple[Starting, Path]) -> None:
    starting, path = marks
    (path.parent / "domain-0" / "g1+1").mkdir(parents=True)
    starting.executor.order(order("g1+1", retiring=True), 0.0)
    assert starting.executor.poll(0.0) == []
    starting.executor.order(order("g1+1", attempt=2, retiring=True), 1.0)
    starting.ended()
    assert starting.executor.poll(1.0) == []
    starting.heard.add("g1+1")
    (outcome,) = starting.executor.poll(2.0)
    assert (outcome.ok, outcome.attempt, outcome.reason) == (True, 2, "g1+1 is there")
    assert starting.executor.poll(3.0) == []
    assert path.read_text() == "g1+1 --retiring\n", "it was started once"


def test_one_that_has_never_lived_is_not_started_for_its_word(
    marks: tuple[Starting, Path],
) -> None:
    starting, path = marks
    starting.executor.order(order("g1+17", retiring=True), 0.0)
    (outcome,) = starting.executor.poll(0.0)
    starting.ended()
    assert (outcome.ok, "has no word to say" in outcome.reason) == (False, True)
    assert starting.executor.poll(1.0) == []
    assert not path.exists()


def test_one_that_ends_at_once_is_refused_and_can_be_started_again() -> None:
    starting = Starting(sys.executable, "-c", "raise SystemExit(3)")
    for attempt in (1, 2):
        starting.executor.order(order("g1+1", attempt), 0.0)
        assert starting.executor.poll(0.0) == []
        starting.ended()
        (outcome,) = starting.executor.poll(1.0)
        assert (outcome.ok, outcome.reason) == (False, "g1+1 ended with 3")
    starting.executor.close()


def test_one_that_was_there_and_died_is_started_again_at_once(
    marks: tuple[Starting, Path],
) -> None:
    starting, path = marks
    for plan in ("p-1", "p-2"):
        starting.heard.clear()
        starting.executor.order(replace(order("g1+1"), plan_id=plan), 0.0)
        assert starting.executor.poll(0.0) == []
        starting.heard.add("g1+1")
        (outcome,) = starting.executor.poll(1.0)
        assert outcome.ok
        starting.ended()
    assert path.read_text() == "g1+1\ng1+1\n"


def test_only_its_own_are_started() -> None:
    starting = Starting("/no/such/program")
    for name in ("g1", "g2+1", "other"):
        with pytest.raises(DecodeError, match="is not started by g1"):
            starting.executor.order(order(name), 0.0)
    starting.executor.order(order("g1+1"), 0.0)
    (outcome,) = starting.executor.poll(0.0)
    assert "elastic.start_gateway: " in outcome.reason
    starting.executor.close()


def test_by_default_with_the_same_configuration_folders_and_addresses() -> None:
    executor = Starting().executor
    command = executor.command(StartArgs("g1+1"))
    assert command[1:6] == ["-m", "evenflow", "gateway", "--name", "g1+1"]
    assert "--retiring" not in command
    assert command[8:] == [
        *("--listen", "quic://0.0.0.0:0", "--listen", "tls://0.0.0.0:0"),
        *("--advertise", "quic://a.example:0"),
    ]
    read = Config.load(command[7])
    assert read.gateway_folder == Config().gateway_folder.resolve()
    assert read.access_folder == Config().access_folder.resolve()
    assert "--retiring" in executor.command(StartArgs("g1+1", retiring=True))
    executor.close()


def test_an_advertised_port_of_0_is_that_of_the_listener_in_its_place() -> None:
    listening = ("quic://0.0.0.0:4433", "tls://0.0.0.0:4434")
    assert with_ports(["quic://a:0", "tls://a:9"], listening) == ("quic://a:4433", "tls://a:9")
    assert with_ports([], listening) == ()
    with pytest.raises(ConfigError, match="port 0"):
        with_ports(["quic://a:0"], [])


class Stopping:
    """A gateway that shall end."""

    def __init__(self) -> None:
        self.gateway = Harness("g1+1")
        self.core = self.gateway.core
        self.uncommitted = 0
        self.ended = 0
        self.executor = StopExecutor(self, self.end)

    def end(self) -> None:
        self.ended += 1

    def order(self, attempt: int) -> None:
        wanted = ActionOrder("p-2", "a", attempt, "g1+1", STOP, b"{}", undo=False)
        self.executor.order(wanted, 0.0)


def test_a_gateway_ends_only_when_it_retires_and_nobody_and_nothing_is_left() -> None:
    stopping = Stopping()
    link = stopping.gateway.attach()
    stopping.order(1)
    (outcome,) = stopping.executor.poll(0.0)
    assert (outcome.ok, "is not retiring" in outcome.reason) == (False, True)
    stopping.gateway.handle(Drain(on=True, retire=True))
    stopping.order(2)
    (outcome,) = stopping.executor.poll(0.0)
    assert (outcome.ok, outcome.reason) == (False, "g1+1 has 1 node")
    stopping.gateway.publish(link, 1, b"x")
    stopping.gateway.lose(link)
    stopping.order(3)
    stopping.uncommitted = 1
    assert stopping.executor.poll(0.0) == []
    stopping.gateway.settle()
    assert stopping.executor.poll(0.0) == []
    stopping.uncommitted = 0
    (outcome,) = stopping.executor.poll(0.0)
    assert (outcome.ok, stopping.ended) == (True, 1)


def test_a_retiring_gateway_says_so_and_takes_no_nodes() -> None:
    gateway = Harness("g1+1", retiring=True)
    gateway.attach()
    assert gateway.core.sessions.clients == 0
    gateway.wait(1.0)
    report = written(gateway.log, GatewayReport)[-1]
    assert (report.draining, report.retiring) == (True, True)
    gateway.handle(Drain(on=False))
    gateway.attach(connection=2)
    assert gateway.core.sessions.clients == 1


def test_a_gateway_says_which_of_those_it_has_started_are_lost(tmp_path: Path) -> None:
    for name in ("g1", "g1+1", "g1+2", "g1+x", "g2+1"):
        (tmp_path / name).mkdir()
    ElasticFolders("g1+1", tmp_path / "g1+1").end()
    assert started_by("g1", tmp_path) == Started(frozenset({"g1+2"}), frozenset({"g1+1"}))
    none = Started(frozenset())
    assert started_by("g1+1", tmp_path) == started_by("g1", tmp_path / "none") == none
    folders = ElasticFolders("g1", tmp_path / "g1")
    assert asyncio.run(folders.news()) == [started_by("g1", tmp_path)]
    assert asyncio.run(folders.news()) == []
    ElasticFolders("g1+1", tmp_path / "g1+1").begin()
    assert asyncio.run(folders.news()) == [Started(frozenset({"g1+1", "g1+2"}))]
    gateway = Harness("g1")
    gateway.handle(Started(frozenset({"g1+1", "g1+2"})))
    heard = GatewayReport("g1+1", ("quic://g:1",), 0, 9, False, ())
    gateway.hear(heard)
    gateway.wait(1.1)
    assert written(gateway.log, GatewayReport)[-1].awaits == ("g1+2",)
