"""What a door has on disk."""

from __future__ import annotations

from pathlib import Path

from evenflow.edge.shell.disk import unserved


def test_outboxes_of_topics_that_are_not_served_are_found(tmp_path: Path) -> None:
    assert unserved(tmp_path / "nowhere", ["items"]) == []
    for topic in ("items", "logs", "a.b"):
        (tmp_path / f"outbox.{topic}").mkdir()
    (tmp_path / "outbox.txt").touch()
    assert unserved(tmp_path, ["items"]) == ["a.b", "logs"]
