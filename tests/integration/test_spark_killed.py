"""The Java process of Spark's driver is killed between publication and note: results come once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evenflow.config import Config
from evenflow.slices.balancer.balancer import Balancer
from evenflow.slices.node.node import Node

pytestmark = [
    pytest.mark.domain, pytest.mark.processes, pytest.mark.spark, pytest.mark.timeout(300),
]  # fmt: skip
PROGRAM = Path(__file__).parent / "doomed_driver.py"
FILES, LINES, SLICES = 3, 100, 8


@pytest.mark.parametrize("moment", ["written", "published"])
def test_a_driver_that_is_killed_between_publication_and_note(
    domain_id: int, tmp_path: Path, eventually: Callable[..., None], moment: str
) -> None:
    topics = {"items": {"slices": SLICES, "assignment": "hash:id"}}
    config = Config.load(None, {"domain.id": domain_id, "topics": topics})
    file = tmp_path / "evenflow.toml"
    file.write_text(config.as_toml())
    folder = tmp_path / "lines"
    folder.mkdir()
    for number in range(FILES):
        ids = range(number * LINES, (number + 1) * LINES)
        (folder / f"{number}.txt").write_text("\n".join(map(str, ids)))
    arrived: list[int] = []

    def drive(moment: str) -> int:
        command = [sys.executable, PROGRAM, file, tmp_path, moment]
        with (tmp_path / "driver.log").open("ab") as log:
            return subprocess.run(command, stdout=log, stderr=log, check=False).returncode

    def noted() -> set[str]:
        folder = tmp_path / "checkpoint" / "commits"
        return {one.name for one in folder.iterdir() if one.name.isdigit()}

    with (
        Balancer(config=config),
        Node("items", lambda b: arrived.extend(b.ids.tolist()), config=config) as node,
    ):
        eventually(lambda: len(node.slices) == SLICES, "it has all slices")
        assert drive(moment) != 0
        assert noted() == {"0"}, (tmp_path / "driver.log").read_text()[-3_000:]
        assert (tmp_path / "checkpoint" / "offsets" / "1").exists()
        assert drive("never") == 0, (tmp_path / "driver.log").read_text()[-3_000:]
        assert noted() == {"0", "1", "2"}
        # What was published last may be held up until its silent writer is cut.
        eventually(lambda: len(set(arrived)) == FILES * LINES, "all results are there", 60.0)
        assert sorted(arrived) == list(range(FILES * LINES))
