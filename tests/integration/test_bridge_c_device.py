"""A device of the C client at real bridges, talking with a stock DDS program."""

from __future__ import annotations

import shutil
import subprocess
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.integration.test_bridge import STOCK, Plant

import evenflow.device

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.domain,
    pytest.mark.processes,
    pytest.mark.timeout(120),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc: run scripts/setup"),
]

CLIENT = Path(evenflow.device.__file__).parent / "c"
SOURCE = Path(__file__).parent / "posix_device.c"
# What tells of a writer that is gone is no reading.
READER = textwrap.dedent(STOCK).replace(
    "in reader.take(1000)", "in [one for one in reader.take(1000) if isinstance(one, Reading)]"
)
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Os")


@pytest.fixture
def plant(domain_id: int, tmp_path: Path) -> Iterator[Plant]:
    one = Plant(domain_id, tmp_path)
    yield one
    one.close()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    made = tmp_path / "posix_device"
    sources = (SOURCE, CLIENT / "evenflow_device.c")
    subprocess.run(["gcc", *STRICT, f"-I{CLIENT}", *sources, "-o", made], check=True)
    return made


def wait_until(holds: Callable[[], bool], within_s: float = 40.0) -> None:
    end = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def readings(plant: Plant) -> list[int]:
    """Numbers of the readings that the stock program has got of the device."""
    rows = [line.split() for line in plant.said("stock").splitlines()]
    return [int(row[1]) for row in rows if row[0] == "sensor"]


def test_a_device_in_c_talks_with_a_stock_program_though_its_bridge_is_killed(
    plant: Plant, program: Path, tmp_path: Path
) -> None:
    plant.start("stock", "-c", READER, str(plant.domain))
    first = plant.bridge("b1")
    with (tmp_path / "device.log").open("wb") as log:
        command = [program, "sensor", plant.group[0], str(plant.group[1])]
        device = subprocess.Popen(command, stdout=log)
    try:
        wait_until(lambda: len(readings(plant)) >= 10)
        wait_until(lambda: "got " in (tmp_path / "device.log").read_text())
        plant.bridge("b2")
        wait_until(lambda: "b2" in plant.said("b2"))
        first.kill()
        first.wait()
        before = max(readings(plant))
        wait_until(lambda: max(readings(plant)) >= before + 20)
    finally:
        device.kill()
        device.wait()
    numbers = readings(plant)
    assert numbers == sorted(set(numbers))
