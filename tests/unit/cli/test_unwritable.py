"""What is printed has to go somewhere: a pipe that nobody reads, a full disk, no stream at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

COMMAND = "import sys; from evenflow.cli import main; sys.exit(main())"


def run(place: Path, output: int | IO[str], *arguments: str) -> tuple[int, str]:
    """The exit code of a command, and what it has said on stderr."""
    command = [sys.executable, "-c", COMMAND, *arguments]
    ran = subprocess.run(
        command, cwd=place, stdout=output, stderr=subprocess.PIPE, text=True, check=False
    )
    return ran.returncode, ran.stderr


@pytest.mark.parametrize("arguments", [[], ["config"]])
def test_a_pipe_whose_reader_has_left_is_no_error(arguments: list[str], tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert run(tmp_path, writer, *arguments) == (141, "")
    finally:
        os.close(writer)


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        code, said = run(tmp_path, full, "config")
    assert code == 2
    assert said.startswith("evenflow: error: ")
    assert "No space left on device" in said
    assert said.count("\n") == 1


def test_without_a_stream_tables_are_printed_into_nothing(tmp_path: Path) -> None:
    closed = "import os; os.close(1); os.close(2); os.execvp(os.sys.argv[1], os.sys.argv[1:])"
    table = "from evenflow.cli.output.tables import print_table; print_table(['a'], [['b']])"
    script = f"from evenflow.cli import main; code = main(['config']); {table}; exit(code)"
    command = [sys.executable, "-c", closed, sys.executable, "-c", script]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0
