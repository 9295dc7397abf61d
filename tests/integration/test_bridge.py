"""Bridges, devices and stock DDS programs, each a process of its own."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evenflow.bridge.protocol.guid import guid_of
from evenflow.bridge.ring.circle import Circle
from evenflow.bridge.ring.identifiers import BITS, POINTS, hashed
from evenflow.cli import main
from evenflow.config import Config
from evenflow.domain.cyclone import Participant
from evenflow.slices.balancer.balancer import Balancer
from evenflow.slices.node.node import Node
from evenflow_experiments.faults.hosts import Hosts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(180)]

DEVICES = Path(__file__).parent / "bridge_devices.py"
STOCK = """
    import sys, time
    from dataclasses import dataclass
    from cyclonedds.core import Policy, Qos
    from cyclonedds.domain import Domain, DomainParticipant
    from cyclonedds.idl import IdlStruct
    from cyclonedds.idl.types import bounded_str, float64, uint8, uint32
    from cyclonedds.pub import DataWriter
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic
    from evenflow.config import DomainConfig
    from evenflow.domain.settings import cyclone_xml

    @dataclass
    class Reading(IdlStruct, typename="plant.Reading"):
        device: bounded_str[32]
        number: uint32
        celsius: float64

    @dataclass
    class Command(IdlStruct, typename="plant.Command"):
        valve: uint8
        note: bounded_str[40]

    config = DomainConfig(id=int(sys.argv[1]))
    domain = Domain(config.id, cyclone_xml(config))
    participant = DomainParticipant(config.id)
    reliable = Qos(Policy.Reliability.Reliable(1_000_000_000), Policy.History.KeepAll)
    reader = DataReader(participant, Topic(participant, "readings", Reading), reliable)
    writer = DataWriter(participant, Topic(participant, "commands", Command), reliable)
    number = 0
    print("ready", flush=True)
    while True:
        # What tells of a writer that is gone is no reading.
        for reading in [one for one in reader.take(1000) if isinstance(one, Reading)]:
            print(reading.device, reading.number, reading.celsius, flush=True)
        if number < 250:
            writer.write(Command(number, "open"))
            number += 1
        time.sleep(0.1)
"""


def lines_of(log: Path) -> list[str]:
    """The whole lines of a log."""
    return log.read_text("utf-8").split("\n")[:-1]


class Field:
    """Devices in a process of their own, as they say in its log that they are served."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._seen = 0
        self.bridges: dict[str, str] = {}
        self.sessions: dict[str, int] = {}
        self.got: dict[str, list[int]] = {}
        self.safe: dict[str, int] = {}
        self.changes: list[tuple[float, str, str]] = []

    def look(self) -> dict[str, str]:
        """Take in what they have said; return the bridge of each."""
        lines = lines_of(self._log)
        for line in lines[self._seen :]:
            said = json.loads(line)
            name = said["device"]
            if "got" in said:
                self.got.setdefault(name, []).append(said["got"][0])
                continue
            if "safe" in said:
                self.safe[name] = said["safe"]
                continue
            self.bridges[name] = said["bridge"]
            self.changes.append((said["at"], name, said["bridge"]))
            if said["bridge"]:
                self.sessions[name] = said["session"]
        self._seen = len(lines)
        return self.bridges

    def served_by(self, names: Sequence[str]) -> bool:
        """Whether each is served, by one of these bridges."""
        whose = self.look()
        return bool(whose) and set(whose.values()) <= set(names)

    def since(self, moment: float) -> float:
        """How long it took from a moment until the last change."""
        return max((at for at, _, _ in self.changes), default=moment) - moment


class Plant:
    """Starts bridges and devices on the loopback interface, and ends them."""

    def __init__(self, domain: int, folder: Path) -> None:
        self.domain = domain
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            self.group = ("239.255.76.2", int(probe.getsockname()[1]))

    def bridge(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        """Start a bridge; it has a port of its own."""
        group = f"{self.group[0]}:{self.group[1]}"
        own = ["--name", name, "--listen", "127.0.0.1:0", "--group", group]
        words = ["-m", "evenflow", "bridge", *own, *options, "--domain", str(self.domain)]
        self.start(name, *words)
        return self._started[-1]

    def said(self, name: str) -> str:
        """What a program has printed."""
        return (self._folder / f"{name}.log").read_text("utf-8")

    def devices(self, names: Sequence[str], **given: Any) -> Field:
        """Start devices in one process."""
        options = {"group": self.group, **given.pop("options", {})}
        whole = json.dumps({"names": list(names), "options": options, **given})
        return Field(self.start(f"devices-{names[0]}", str(DEVICES), whole))

    def start(self, name: str, *words: str) -> Path:
        """Start a program of Python; return its log."""
        log = self._folder / f"{name}.log"
        with log.open("ab") as output:
            command = [sys.executable, *words]
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=self._folder
            )
        self._started.append(process)
        return log

    def close(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()


@pytest.fixture
def plant(domain_id: int, tmp_path: Path) -> Iterator[Plant]:
    one = Plant(domain_id, tmp_path)
    yield one
    one.close()


@pytest.fixture
def listed(
    domain_id: int, capsys: pytest.CaptureFixture[str]
) -> Callable[..., list[dict[str, Any]]]:
    def run(what: str, *more: str) -> list[dict[str, Any]]:
        capsys.readouterr()
        assert main([what, *more, "--json", "--domain", str(domain_id)]) == 0
        found = json.loads(capsys.readouterr().out)
        rows: list[dict[str, Any]] = found[more[0] if more else what]
        return rows

    return run


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Show a figure that is measured and not asserted."""

    def write(text: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n  {text}\n")

    return write


def owners(names: Sequence[str], bridges: Sequence[str]) -> dict[str, str]:
    """Who should serve each device, by the ring."""
    circle = Circle.of(dict.fromkeys(bridges, POINTS), hashed(BITS), {}, BITS)
    return {name: circle.owner(guid_of(name)) for name in names}


NAMES = [f"therm-{number}" for number in range(24)]


def test_devices_and_stock_programs_talk_while_bridges_come_and_go(
    plant: Plant,
    listed: Callable[..., list[dict[str, Any]]],
    eventually: Callable[..., None],
    say: Callable[[str], None],
) -> None:
    first = plant.bridge("b1")
    plant.bridge("b2")
    stock = plant.start("stock", "-c", textwrap.dedent(STOCK), str(plant.domain))
    eventually(lambda: "listens" in plant.said("b1") and "listens" in plant.said("b2"), "both")
    field = plant.devices(NAMES, publish_s=0.2, subscribe=True)
    eventually(lambda: field.look() == owners(NAMES, ["b1", "b2"]), "each is served by its owner")

    def readings() -> dict[str, list[int]]:
        read: dict[str, list[int]] = {}
        for line in lines_of(stock)[1:]:
            device, number, celsius = line.split()
            assert float(celsius) == 20.0 + int(number)
            read.setdefault(device, []).append(int(number))
        return read

    eventually(lambda: set(readings()) == set(NAMES), "a stock reader reads every device")
    eventually(lambda: field.look() and set(field.got) == set(NAMES), "and each is commanded")
    rows = listed("devices")
    assert {row["device"]: row["bridge"] for row in rows} == owners(NAMES, ["b1", "b2"])
    assert rows[0]["entities"][1] == {
        "role": "subscriber", "topic": "commands", "reliable": True,
        "type": "plant::Command(valve u8, note text40)",
    }  # fmt: skip
    assert all(row["received"] > 0 and row["sent"] > 0 for row in rows)
    sessions = dict(field.sessions)

    third = plant.bridge("b3")
    now_owned = owners(NAMES, ["b1", "b2", "b3"])
    eventually(lambda: field.look() == now_owned, "a third bridge has its share")
    moved = {name for name in NAMES if now_owned[name] == "b3"}
    assert moved
    assert {name for name in NAMES if field.sessions[name] != sessions[name]} == moved
    counts = Counter(row["bridge"] for row in listed("devices"))
    assert counts == Counter(now_owned.values())

    first.send_signal(signal.SIGTERM)
    eventually(lambda: field.look() == owners(NAMES, ["b2", "b3"]), "the others have b1's devices")
    assert first.wait(30) == 0
    before = {name: numbers[-1] for name, numbers in readings().items()}
    eventually(lambda: all(readings()[name][-1] > before[name] for name in NAMES), "data goes on")
    for name, numbers in readings().items():
        assert len(numbers) == len(set(numbers)), f"{name} is served twice"
    for name, commands in field.got.items():
        assert len(commands) == len(set(commands)), f"{name} got a command twice"
    gaps = sum(numbers[-1] - numbers[0] + 1 - len(numbers) for numbers in readings().values())
    say(f"handed over {len(moved)} to b3, then b1's: {gaps} readings lost")

    moment = time.time()
    third.kill()
    eventually(lambda: field.served_by(["b2"]), "each is served by the one that is left")
    say(f"b3 killed: all are served again {field.since(moment):.2f} s later")
    before = {name: numbers[-1] for name, numbers in readings().items()}
    eventually(lambda: all(readings()[name][-1] > before[name] for name in NAMES), "data goes on")
    (row,) = listed("bridges")
    assert (row["bridge"], row["devices"]) == ("b2", len(NAMES))


def test_items_of_devices_are_processed_once_though_a_bridge_is_killed(
    plant: Plant, domain_id: int, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    most, names = 200, NAMES[:6]
    config = Config.load(None, {"domain.id": domain_id, "topics.items.slices": 4})
    arrived: dict[str, list[int]] = {}

    def process(batch: Any) -> None:
        for item in batch:
            arrived.setdefault(item.sender, []).append(int(item.payload))

    own = ("--set", 'bridge.topics=["items"]', "--set", "topics.items.slices=4")
    with (
        Participant(config.domain) as participant,
        Balancer(config=config, participant=participant),
        Node("items", process, config=config, participant=participant),
    ):
        first = plant.bridge("b1", *own)
        plant.bridge("b2", *own)
        for name in ("b1", "b2"):
            eventually(lambda name=name: "listens" in plant.said(name), f"{name} listens")
        field = plant.devices(names, items=most)
        eventually(lambda: field.look() and len(arrived) == len(names), "items of all arrive")
        first.kill()
        first.wait()
        plant.bridge("b1", *own)
        eventually(
            lambda: field.look() and field.safe == dict.fromkeys(names, most), "all items are safe"
        )
        eventually(lambda: sum(map(len, arrived.values())) >= most * len(names), "all arrive")
    assert {name: sorted(numbers) for name, numbers in arrived.items()} == {
        name: list(range(1, most + 1)) for name in names
    }


def test_a_bridge_that_wants_keys_serves_those_that_have_one(
    plant: Plant, tmp_path: Path, eventually: Callable[..., None],
    listed: Callable[..., list[dict[str, Any]]], capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    keys = tmp_path / "keys"
    assert main(["keys", "device", "known", "--dir", str(keys)]) == 0
    key = capsys.readouterr().out.strip()
    wanted = ("--set", "bridge.require_keys=true", "--set", f"access.dir={keys}")
    plant.bridge("b1", *wanted)
    known = plant.devices(["known"], options={"key": key})
    forged = plant.devices(["forged"], options={"key": key})
    stranger = plant.devices(["stranger"])
    eventually(lambda: known.served_by(["b1"]), "who has a key is served")
    eventually(lambda: listed("bridges")[0]["refused"] >= 6, "others are refused, and counted")
    assert [row["device"] for row in listed("devices")] == ["known"]
    assert set(forged.look().values()) | set(stranger.look().values()) == {""}
    assert main(["keys", "device", "late", "--dir", str(keys)]) == 0
    late = plant.devices(["late"], options={"key": capsys.readouterr().out.strip()})
    eventually(lambda: late.served_by(["b1"]), "a key that is added counts at once")


def test_rubbish_is_refused_and_devices_are_served_throughout(
    plant: Plant,
    eventually: Callable[..., None],
    listed: Callable[..., list[dict[str, Any]]],
) -> None:
    bridge = plant.bridge("b1")
    field = plant.devices(["a", "b"], publish_s=0.2)
    eventually(lambda: field.served_by(["b1"]), "the devices are served")
    sessions, chance, count = dict(field.sessions), random.Random(1), 5_000
    host, _, port = listed("bridges")[0]["addresses"][0].removeprefix("udp://").partition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for number in range(count):
            guid = chance.choice([guid_of("a"), guid_of("b"), chance.randbytes(12)])
            head = b"EF\1" + bytes((chance.randrange(24), chance.randrange(2), 0)) + guid
            data = chance.choice([b"", head]) + chance.randbytes(chance.randrange(100))
            sender.sendto(data, (host, int(port)))
            if number % 100 == 0:
                time.sleep(0.01)  # a socket holds so much
    eventually(lambda: listed("bridges")[0]["refused"] > 0.9 * count, "it is refused, and counted")
    field.look()
    assert (field.bridges, field.sessions) == ({"a": "b1", "b": "b1"}, sessions)
    assert bridge.poll() is None


def test_a_second_bridge_of_a_name_is_refused(
    plant: Plant, eventually: Callable[..., None]
) -> None:
    first = plant.bridge("b1")
    eventually(lambda: "listens" in plant.said("b1"), "the first is there")
    second = plant.bridge("b1")
    assert second.wait(30) == 2
    assert "is running already" in plant.said("b1")
    assert first.poll() is None


def test_a_bridge_that_is_cut_off_from_the_others_lets_its_devices_go(
    domain_id: int, tmp_path: Path, eventually: Callable[..., None], say: Callable[[str], None]
) -> None:
    """Three hosts with a bridge each, and one with the devices, which all bridges still reach."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "nsenter", "unshare", "nft"))):
        pytest.skip("hosts need root and the commands ip, nsenter, unshare and nft")
    bridges = ["b1", "b2", "b3"]
    with Hosts([*bridges, "field"]) as hosts, ExitStack() as ending:

        def evenflow(host: str, *words: str) -> list[str]:
            own = ["--domain", str(domain_id), "--set", f"domain.interface={hosts.addresses[host]}"]
            return [sys.executable, "-m", "evenflow", *words, *own]

        def start(host: str, command: list[str]) -> Path:
            log = tmp_path / f"{host}.log"
            process = hosts.start(host, command, log=log, folder=tmp_path)
            ending.callback(process.wait)
            ending.callback(process.kill)
            return log

        def devices_of(bridge: str) -> int:
            """As the bridge itself says, on its own host."""
            said = hosts.ask(bridge, evenflow(bridge, "bridges", "--json"))
            rows = {row["bridge"]: row["devices"] for row in json.loads(said)["bridges"]}
            return int(rows[bridge])

        for bridge in bridges:
            listen = ["--listen", f"{hosts.addresses[bridge]}:7600", "--interface", "cable"]
            log = start(bridge, evenflow(bridge, "bridge", "--name", bridge, *listen))
            eventually(lambda log=log: "listens at" in log.read_text(), f"{bridge} listens")
        options = {"interface": hosts.addresses["field"]}
        given = json.dumps({"names": NAMES, "options": options, "publish_s": 0.5})
        log = start("field", [sys.executable, str(DEVICES), given])
        field = Field(log)
        eventually(lambda: field.look() == owners(NAMES, bridges), "each is served by its owner")

        moment = time.time()
        for other in ("b2", "b3"):
            hosts.block("b1", other)
            hosts.block(other, "b1")
        eventually(lambda: field.look() == owners(NAMES, ["b2", "b3"]), "the others serve them all")
        say(f"b1 cut off: all are served by the others {field.since(moment):.2f} s later")
        assert devices_of("b1") == 0, "each is served by one bridge"
        moved = {name for at, name, _ in field.changes if at > moment}
        assert moved == {name for name, owner in owners(NAMES, bridges).items() if owner == "b1"}

        for host in bridges:
            hosts.unblock(host)
        eventually(lambda: field.look() == owners(NAMES, bridges), "b1 has its devices again")
        assert devices_of("b1") == Counter(owners(NAMES, bridges).values())["b1"]


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--listen", "nowhere"], "--listen"),
        (["--listen", "0.0.0.0:0"], "--advertise"),
        (["--group", "10.0.0.1:7601"], "multicast"),
        (["--interface", "nowhere"], "on nowhere"),
        (["--name", "a b"], "--name"),
        (["--keys", "/"], "keys"),
    ],
)
def test_what_a_bridge_cannot_be_is_told(
    options: list[str], fault: str, domain_id: int, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--name", "b1", "--listen", "127.0.0.1:0", "--domain", str(domain_id)]
    assert main(["bridge", *given, *options]) != 0
    assert fault in capsys.readouterr().err
