"""Continuous balancing beside the simulation's, alone and combined with addition."""

from __future__ import annotations

import numpy as np
import pytest

from evenflow.overlay.space.coordinate import geographic_hash
from evenflow_experiments.sedax.simulation import draw_world
from evenflow_experiments.store.balance import setting
from evenflow_experiments.store.continuous import UNIT, at_home, names_of, off_percent, options
from evenflow_experiments.store.experiment import PARTS, wrong
from evenflow_experiments.store.tables import show_continuous


def found(live: dict[int, float]) -> dict:
    """Figures with these live quantiles by level, and 250 simulated."""
    rows = [
        {"system": system, "level": level, "mean": 200.0, "q95": q95, "max": q95,
         "q95_range": [q95, q95 + 6.0 * (system == "simulated")]}
        for level, measured in live.items()
        for system, q95 in (("live", measured), ("simulated", 250.0))
    ]  # fmt: skip
    paper = {"balanced": {"q5": 193.3, "mean": 249.9, "q95": 278.5}}
    return {"period_s": 15.0, "rows": rows, "paper": paper, "moves": 9, "moved": 10.5,
            "simulated_moved": 21.0}  # fmt: skip


def test_brokers_place_new_topics_only_when_both_are_combined() -> None:
    assert options(10, 120.0, combined=False)[:2] == ["--balance-every", "12s"]
    assert "--topic-bytes" not in options(10, 120.0, combined=False)
    assert options(10, 120.0, combined=True)[-2:] == ["--topic-bytes", str(UNIT)]


def test_combined_has_the_same_nodes_and_the_homes_of_the_names() -> None:
    drawn = draw_world(setting(6, 5), 3)
    world = at_home(drawn, 7)
    assert np.array_equal(world.plane.nodes, drawn.plane.nodes)
    homes = np.array([list(geographic_hash(name)) for name in names_of(30)])
    assert world.spots.first[world.homes].tolist() == world.plane.closest(homes, 1)[:, 0].tolist()


def test_the_paper_stands_beside_ours(capsys: pytest.CaptureFixture[str]) -> None:
    show_continuous("combined", found({3: 255.0, 2: 240.0}))
    said = capsys.readouterr().out
    assert "combined" in said
    assert "paper" in said
    assert said.count("250 to 256") == 2  # of the simulated runs; a live one is one


@pytest.mark.parametrize(("part", "fault"), [("continuous", True), ("combined", False)])
def test_level_2_counts_where_topics_lie_as_simulated(part: str, fault: bool) -> None:
    figures = found({3: 255.0, 2: 220.0})
    assert (off_percent(figures, 3), off_percent(figures, 2)) == (2.0, 12.0)
    nothing: dict = {"runs": [], **{name: {} for name in PARTS[1:]}}
    assert wrong({**nothing, part: figures}) == fault
