"""The figures of the handover experiment, from receipts and arrivals that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from evenflow.model.messages import Receipt
from evenflow_experiments.slices.arrivals import Arrivals
from evenflow_experiments.slices.handover import QUICK
from evenflow_experiments.slices.handover_figures import (
    PAPER_MS,
    Move,
    figures,
    plot,
    show,
    summary,
)

if TYPE_CHECKING:
    from pathlib import Path


def move(ms: float) -> Move:
    """A handover that took this long, and twice as long until nothing was missing."""
    receipt = Receipt(
        "items", 1, "handover", "a", "b", (1,), "done", 100.0, ms, 7, 2, 0, "b joined"
    )
    return Move(receipt, 2 * ms)


def arrived(ids: list[int]) -> Arrivals:
    times = np.full(len(ids), 100_000_000, np.int64)
    return Arrivals(np.array(ids, np.int64), times, times + 5_000)


def test_a_cell_counts_what_was_lost_and_what_came_twice() -> None:
    cell = summary(10, 1.4, [move(10.0), move(30.0), move(14.0)], arrived([1, 2, 2, 4]), 5)
    assert (cell["move_ms_median"], cell["move_ms_max"], cell["paper_ms"]) == (14.0, 30.0, 401)
    assert cell["move_ms_mean"] == 18.0
    assert (cell["complete_ms_mean"], cell["complete_ms_median"]) == (36.0, 28.0)
    assert (cell["lost"], cell["repeated"], cell["moved"]) == (2, 1, 21)
    assert cell["item_delay_ms_p99"] == 5.0


def test_a_move_during_which_nothing_was_published_has_no_delay() -> None:
    cell = summary(10, 1.4, [move(10.0)], Arrivals(*[np.empty(0, np.int64)] * 3), 0)
    assert cell["item_delay_ms_p99"] is None


def test_both_setups_stand_beside_the_nine_cells_of_the_paper(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [summary(*cell, [move(PAPER_MS[cell] / 10)], arrived([1]), 1) for cell in PAPER_MS]
    found = figures({"saturated": cells, "idle": cells[:1]})
    assert len(found["paper"]["cells"]) == len(found["setups"]["saturated"]["cells"]) == 9
    # A tenth of the paper's times everywhere: the derived figures are the paper's, nearly.
    ours, theirs = found["setups"]["saturated"]["derived"], found["paper"]["derived"]
    assert ours == pytest.approx(theirs, abs=0.2)
    assert set(found["setups"]["idle"]["derived"].values()) == {None}
    show("saturated", cells)
    assert "13.2" in capsys.readouterr().out
    plot(tmp_path / "out.svg", {"saturated": cells, "idle": cells})
    assert (tmp_path / "out.svg").exists()


def test_what_follows_is_told_of_means_as_in_the_paper_and_of_medians() -> None:
    calm = summary(10, 1.4, [move(10.0)] * 3, arrived([1]), 1)
    uneven = summary(10, 10.0, [move(10.0), move(10.0), move(40.0)], arrived([1]), 1)
    found = figures({"idle": [calm, uneven]})["setups"]["idle"]
    assert found["derived"]["by_rate_percent"] == 100.0
    assert found["derived_from_medians"]["by_rate_percent"] == 0.0


def test_a_quick_look_has_the_cells_from_which_something_is_derived() -> None:
    cells = [summary(*cell, [move(1.0)], arrived([1]), 1) for cell in QUICK]
    assert None not in figures({"idle": cells})["setups"]["idle"]["derived"].values()
