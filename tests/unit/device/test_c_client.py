"""The C client: no warnings, the same bytes as the Python client, sound under sanitizers."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from tests.unit.device.recording import lives

import evenflow.device
from evenflow.testing.bridge.world import TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
SOURCES = Path(evenflow.device.__file__).parent / "c"
THOROUGH = settings.default.max_examples > 50
SEEDS = 12 if THOROUGH else 4
DATAGRAMS = 100_000 if THOROUGH else 5_000
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
LARGE = ("-DEF_MOST_DATAGRAM=1200", "-DEF_MOST_ITEMS=8")
MOST_CODE, MOST_MEMORY = 10_240, 2_048

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc: run scripts/setup")


def compile_driver(folder: Path, *options: str) -> Path:
    program = folder / "driver"
    sources = (SOURCES / "evenflow_device.c", HERE / "driver.c")
    subprocess.run(["gcc", *STRICT, *options, f"-I{SOURCES}", *sources, "-o", program], check=True)
    return program


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_driver(tmp_path_factory.mktemp("c"), "-Os", *LARGE)


@pytest.fixture(scope="module")
def watched_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With sanitizers: whatever is out of bounds or undefined ends it."""
    sanitizers = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    return compile_driver(tmp_path_factory.mktemp("watched"), *sanitizers, *LARGE)


def play(program: Path, commands: list[str]) -> list[list[str]]:
    """Give a driver its commands; return what it printed for each."""
    given = "\n".join(commands) + "\n"
    done = subprocess.run(
        [program], input=given, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers: list[list[str]] = [[]]
    for line in done.stdout.splitlines():
        if line == ".":
            answers.append([])
        else:
            answers[-1].append(line)
    assert len(answers) == len(commands) + 1
    return answers[:-1]


def beginning(name: str, run: int, key: str) -> list[str]:
    entities = (f"entity 1 1 up {TYPE}", f"entity 2 0 down {TYPE}", "entity 3 1 items -")
    return [f"init {name} {run} {key or '-'}", *entities]


def command(step: list[Any]) -> str:
    match step:
        case ["recv", data, host, now, _]:
            return f"recv {data} {host} 1 {now}"
        case ["poll", now, _]:
            return f"poll {now}"
        case ["data", entity, payload]:
            return f"data {entity} {payload or '-'}"
        case [_, entity, payload, time]:
            return f"item {entity} {payload} {time}"
    raise AssertionError(step)


def differences(steps: list[list[Any]], answers: list[list[str]]) -> Iterator[str]:
    """Where the C client did something else than the Python client."""
    sent: list[str] = []
    for step, lines in zip(steps, answers, strict=True):
        sent += [line for line in lines if line.startswith("send")]
        if step[0] == "recv" and len(lines) - sum(x.startswith("send") for x in lines) != step[4]:
            yield f"{step}: samples {lines}"
        if step[0] == "poll":
            wanted = [f"send {data} {f'{to} 1' if to else '*'}" for data, to in step[2]]
            if sent != wanted:
                yield f"at {step[1]}: {sent} and not {wanted}"
            sent = []


@pytest.mark.parametrize("seed", range(SEEDS))
def test_c_sends_what_python_sends(driver: Path, seed: int) -> None:
    found = lives(seed)
    assert sum(step[0] == "recv" for life in found for step in life.steps) > 50
    for life in found:
        commands = beginning(life.name, life.run, life.key)
        answers = play(driver, commands + [command(step) for step in life.steps])
        assert next(differences(life.steps, answers[len(commands) :]), None) is None


@pytest.mark.parametrize("keyed", [False, True])
def test_nothing_that_comes_breaks_it(watched_driver: Path, keyed: bool) -> None:
    """A device lives its life, and gets changed copies of all that was ever said to it as well."""
    rng = random.Random(7)
    commands: list[str] = []
    seed = 1 if keyed else 0
    while len(commands) < DATAGRAMS:
        for life in lives(seed, 5.0):
            said = [bytes.fromhex(step[1]) for step in life.steps if step[0] == "recv"]
            commands += beginning(life.name, life.run, life.key)
            for step in life.steps:
                commands.append(command(step))
                if step[0] == "recv":
                    for _ in range(rng.choice((0, 0, 0, 1, 8))):
                        data = mutated(rng.choice(said), rng)
                        commands.append(f"recv {data.hex() or '-'} {step[2]} 1 {step[3]}")
        seed += 2
    play(watched_driver, commands)


def mutated(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randrange(4)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    if rng.random() < 0.2:
        del changed[rng.randrange(len(changed)) :]
    if rng.random() < 0.2:
        changed += rng.randbytes(rng.randrange(40))
    if rng.random() < 0.1 and len(changed) > 3:
        changed[3] = rng.randrange(1, 20)
    return bytes(changed)


def test_it_fits_a_microcontroller(tmp_path: Path) -> None:
    """docs/bridge.md states these figures."""
    code = tmp_path / "device.o"
    source = SOURCES / "evenflow_device.c"
    subprocess.run(["gcc", *STRICT, "-Os", "-c", source, "-o", code], check=True)
    sizes = subprocess.run(["size", code], check=True, capture_output=True, text=True)
    text, data, bss = map(int, sizes.stdout.splitlines()[1].split()[:3])
    assert text <= MOST_CODE
    assert data == bss == 0
    program = tmp_path / "size"
    main = '#include "evenflow_device.h"\nint main(void) { return sizeof(ef_device) > %d; }\n'
    subprocess.run(
        ["gcc", "-xc", "-", f"-I{SOURCES}", "-o", program],
        input=(main % MOST_MEMORY).encode(),
        check=True,
    )
    assert subprocess.run([program], check=False).returncode == 0
