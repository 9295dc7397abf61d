"""``evenflow fleet`` as a command: what it says is what arrives, and its exit code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.mobile_edge import Edge

from evenflow.processes import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(180)]


class FleetEdge(Edge):
    """A mobile edge that counts what vehicles report by the numbers of the items."""

    def _on_items(self, batch: Any) -> None:
        for item in batch:
            self.items[item.sender].append(item.id)

    def fleet(self, *words: str) -> tuple[int, str]:
        """Run the command; return its exit code and what it printed."""
        running = self.cluster.start("fleet", ["fleet", *words])
        return running.wait(90.0), self.log("fleet")


@pytest.fixture
def edge(tmp_path: Path, domain_id: int) -> Iterator[FleetEdge]:
    with FleetEdge(tmp_path, domain_id) as edge:
        edge.start("g1")
        yield edge


def test_what_vehicles_report_arrives_once_and_is_counted(edge: FleetEdge) -> None:
    code, said = edge.fleet(
        *("--nodes", "12", "--processes", "2", "--gateway", edge.addresses["g1"]),
        *("--rate", "5", "--for", "3s", "--json"),
        *("--dead-spots", "10", "--dead-spot-time", "0.5s", "--address-changes", "10"),
    )
    assert code == 0, said
    assert "12 vehicles attached in" in said
    assert "of 12 attached (g1 " in said
    summary = json.loads(said.splitlines()[-1])
    assert summary["vehicles"] == 12
    assert summary["published"] == summary["safe"] > 0
    assert summary["kept"] == 0
    assert wait_until(lambda: sum(map(len, edge.items.values())) >= summary["published"], 20.0)
    assert sum(map(len, edge.items.values())) == summary["published"]
    for numbers in edge.items.values():
        assert len(set(numbers)) == len(numbers), "none came twice"


def test_who_is_refused_is_told_why(edge: FleetEdge) -> None:
    words = ("--nodes", "2", "--gateway", edge.addresses["g1"], "--for", "1s")
    code, said = edge.fleet(*words, "--token", edge.token("bicycle-*"))
    assert code != 0
    assert "the token is for bicycle-*" in said, said
    code, said = edge.fleet(*words, "--trust", str(edge.folder / "no-such-file"))
    assert code != 0
    assert "no-such-file" in said, said
