"""Ctrl-C while the command still imports its modules, which is most of its first half second."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import evenflow

SOURCE = Path(evenflow.__file__).parents[1]
CTRL_C = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
"""The body of a module: whoever imports it is interrupted there."""
WHILE_A_CLASS_IS_MADE = """
import os, signal

class Named:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGINT)

class Topic:
    name = Named()
"""
"""The same, where Python before 3.12 makes another exception of it; Cyclone's modules are so."""
IMPORTED = {
    "tomllib": "by the configuration",
    "rich_click": "by the frame of all commands",
    "cyclonedds": "by the command that was named",
}


@pytest.mark.parametrize("module", IMPORTED)
@pytest.mark.parametrize(
    "program",
    [["-m", "evenflow"], ["-c", "import sys; from evenflow.cli import main; sys.exit(main())"]],
    ids=["module", "console script"],
)
def test_ctrl_c_in_any_import_ends_quietly(module: str, program: list[str], tmp_path: Path) -> None:
    assert interrupted(module, CTRL_C, program, tmp_path) == (130, "", "")


def test_ctrl_c_while_a_class_is_made_ends_quietly(tmp_path: Path) -> None:
    body = WHILE_A_CLASS_IS_MADE
    assert interrupted("cyclonedds", body, ["-m", "evenflow"], tmp_path) == (130, "", "")


def interrupted(module: str, body: str, program: list[str], tmp_path: Path) -> tuple[int, str, str]:
    """The exit code and what is said when a module has another body."""
    (tmp_path / f"{module}.py").write_text(body)
    path = os.pathsep.join([str(tmp_path), str(SOURCE)])
    found = subprocess.run(
        [sys.executable, *program, "nodes"],
        env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.returncode, found.stdout, found.stderr.strip()
