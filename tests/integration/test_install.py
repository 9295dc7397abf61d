"""The package as a user gets it: a wheel without extras in an empty environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from evenflow.extras import EXTRAS

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def done(ran: subprocess.CompletedProcess[str]) -> str:
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder ``bin`` of an environment with the base package alone, in the pinned versions."""
    folder = tmp_path_factory.mktemp("install")
    source = folder / "source"  # setuptools builds in the tree, and we want none of that in ours
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
    done(run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, source, cwd=folder))
    (wheel,) = folder.glob("evenflow-*.whl")
    venv.create(folder / "empty", symlinks=True)
    target = folder / "empty" / "bin"
    pins = ROOT / "requirements.txt"
    done(run(*pip, "--python", target / "python", "install", "-c", pins, wheel, cwd=folder))
    return target


def test_the_base_holds_nothing_of_the_extras(installed: Path) -> None:
    names = sorted(module for modules in EXTRAS.values() for module in modules)
    script = f"from importlib.util import find_spec; print([n for n in {names} if find_spec(n)])"
    assert done(run(installed / "python", "-c", script, cwd=installed)).strip() == "[]"


def test_what_a_program_needs_can_be_imported(installed: Path) -> None:
    names = "Publisher, AsyncPublisher, Node, Balancer, Config, read_from"
    script = f"from evenflow import {names}; from evenflow.overlay import Client"
    done(run(installed / "python", "-c", script, cwd=installed))


def test_the_commands_of_the_base_work(installed: Path, tmp_path: Path) -> None:
    listed = done(run(installed / "evenflow", "--help", cwd=tmp_path))
    assert "experiment" in listed
    for command in ("node", "balancer", "publish", "nodes", "slices", "plan", "history", "archive"):
        done(run(installed / "evenflow", command, "--help", cwd=tmp_path))
    assert "[domain]" in done(run(installed / "evenflow", "config", cwd=tmp_path))
    assert "skew" in done(run(installed / "evenflow", "experiment", "--help", cwd=tmp_path))


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (("up", "--for", "1s"), "mobile,spark"),
        (("experiment", "skew", "--quick"), "experiments"),
        (("broker", "--name", "b1"), "store"),
        (("gateway", "--name", "g1"), "mobile"),
        (("config", "--set", "events.hot.expression=cpu > 70"), "events"),
    ],
)
def test_a_command_names_the_extra_it_lacks(
    installed: Path, tmp_path: Path, command: tuple[str, ...], extra: str
) -> None:
    refused = run(installed / "evenflow", *command, cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.startswith("evenflow: error: ")
    assert refused.stderr.endswith(f'pip install "evenflow[{extra}]"\n')
    assert refused.stderr.count("\n") == 1
