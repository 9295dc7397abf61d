"""The parts of the experiment that compute: what they say is what must be seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evenflow.cli import main
from evenflow_experiments.bridge import balance, lookup
from evenflow_experiments.bridge.balance import SHARE, bound, show, world
from evenflow_experiments.bridge.experiment import PARTS
from evenflow_experiments.parts import part_of


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_there_under_its_name(name: str) -> None:
    assert part_of(PARTS, name).name == name


@pytest.mark.parametrize("seed", range(3))
def test_20_bridges_and_10_000_devices(seed: int) -> None:
    plain, virtual, bounded = (
        world(ring, 20, 10_000, seed) for ring in ("plain", "virtual", "bounded")
    )
    assert plain["max_over_mean"] > virtual["max_over_mean"] > bounded["max_over_mean"]
    assert bounded["max_over_mean"] <= 1.1
    assert virtual["moved_on_join"] <= SHARE / 21
    assert bounded["moved_on_join"] <= SHARE / 21
    assert plain["moved_by_bound"] == virtual["moved_by_bound"] == 0 < bounded["moved_by_bound"]


def test_what_is_wrong_is_said() -> None:
    row = {
        "ring": "bounded", "bridges": 20, "devices": 500, "max_over_mean": 1.1,
        "max_over_mean_worst": 1.08, "moved_by_bound": 0.0, "moved_on_join": 0.05,
        "moved_on_join_worst": 0.06,
    }  # fmt: skip
    assert show([row]) == []
    assert len(show([{**row, "max_over_mean_worst": 1.12}])) == 1
    assert len(show([{**row, "ring": "virtual", "moved_on_join_worst": 0.08}])) == 1
    assert bound({"devices": 21, "bridges": 20}) > 1.9


def test_the_figures_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balance, "SIZES", ((3, 200),))
    monkeypatch.setattr(lookup, "BRIDGES", (4,))
    file, picture = tmp_path / "out.json", tmp_path / "out.png"
    words = ["experiment", "bridge", "--quick", "--json", str(file), "--plot", str(picture)]
    assert main([*words, "--part", "balance", "--part", "lookup"]) == 0
    figures = json.loads(file.read_text())
    assert [row["ring"] for row in figures["balance"]] == ["plain", "virtual", "bounded"]
    asked = {"ring", "bridges", "devices", "max_over_mean", "moved_on_join"}
    assert all(asked <= row.keys() for row in figures["balance"])
    assert figures["lookup"][0]["hops_here"] == 0
    assert picture.exists()
