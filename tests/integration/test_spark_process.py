"""The process that runs Spark, seen by its parent; what it runs here is a few lines of Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from evenflow.errors import SparkFailed
from evenflow.spark.process import SparkProcess, check_java

pytestmark = pytest.mark.processes

TALKER = """\
import subprocess
from evenflow.spark.process import input_closed, say

child = subprocess.Popen(["sleep", "600"], start_new_session=True)
print("no JSON")
say(child=child.pid)
say(batch=1)
input_closed().wait()
say(summary={"rows": 7})
"""


@pytest.fixture
def start(tmp_path: Path) -> Callable[[str], SparkProcess]:
    """Start a program as a module of the test's own folder, which is the current one."""

    def start(program: str) -> SparkProcess:
        (tmp_path / "talker.py").write_text(program)
        return SparkProcess("talker", log=tmp_path / "log")

    return start


def test_it_is_heard_and_ends_in_order_with_all_it_started(
    start: Callable[[str], SparkProcess],
) -> None:
    with start(TALKER) as process:
        child = psutil.Process(process.wait_for("child", 30)["child"])
        assert process.wait_for("batch", 30) == {"batch": 1}
        assert process.hear() == []
        assert process.end() == {"rows": 7}
    assert not child.is_running()


def test_killed_it_takes_all_with_it_whatever_their_process_group(
    start: Callable[[str], SparkProcess],
) -> None:
    process = start(TALKER)
    child = psutil.Process(process.wait_for("child", 30)["child"])
    process.kill()
    assert not child.is_running()
    with pytest.raises(SparkFailed, match="has ended"):
        process.hear()


def test_its_faults_are_told(start: Callable[[str], SparkProcess]) -> None:
    with (
        start("from evenflow.spark.process import say\nsay(failed='no such topic')") as process,
        pytest.raises(SparkFailed, match=r"^Spark: no such topic$"),
    ):
        process.wait_for("summary", 30)
    with (
        start("raise SystemExit('out of memory')") as process,
        pytest.raises(SparkFailed, match=r"(?s)the process has ended.*out of memory"),
    ):
        process.wait_for("summary", 30)


def test_without_java_one_is_told_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkFailed, match="install Java 17"):
        check_java()
