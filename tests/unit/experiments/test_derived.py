"""The papers' derived figures follow from the papers' tables by our functions."""

from __future__ import annotations

import pytest

from evenflow_experiments.derived import (
    around_joins,
    change_percent,
    process_times,
    reduction_percent,
)
from evenflow_experiments.sedax.paper import TABLE_I, TABLE_III, TABLE_IV, TABLE_V
from evenflow_experiments.slices.handover_figures import PAPER_MS
from evenflow_experiments.slices.throughput.figures import PAPER_TABLE


def test_table_ii_of_mape_sddl() -> None:
    assert process_times(PAPER_MS) == {
        "by_rate_percent": 13.217,
        "by_10_times_the_slices_percent": 5.237,
        "by_100_times_the_slices_percent": pytest.approx(7.73, abs=0.005),
    }


def test_table_i_of_mape_sddl() -> None:
    found = around_joins(PAPER_TABLE["rtd_s"], PAPER_TABLE["throughput"])
    # The paper cuts 1.587 to 1.58.
    assert found["rtd_change_percent"] == pytest.approx([4.76, 7.035, -1.54, -1.58], abs=0.008)
    assert found["rtd_mean_percent"] == pytest.approx(2.167, abs=0.001)
    assert found["throughput_change_percent"] == [-16.667, -13.253, 0.704, -4.762]
    assert found["throughput_mean_loss_percent"] == pytest.approx(8.494, abs=0.001)


def test_figures_18_and_19_of_mape_sddl() -> None:
    assert reduction_percent(82.194, 81.044) == pytest.approx(1.4, abs=0.005)
    assert change_percent(59.51, 60.45) == pytest.approx(1.58, abs=0.005)


def test_tables_iii_to_v_of_sedax() -> None:
    unbalanced = TABLE_I["heterogeneous", 100][2].q95
    assert reduction_percent(unbalanced, TABLE_III["local", 10].q95) == pytest.approx(43, abs=0.5)
    finest, descending = TABLE_V[0.001].q95, TABLE_IV["descending"].q95
    assert change_percent(finest, TABLE_V[None].q95) == pytest.approx(5, abs=0.5)
    assert reduction_percent(finest, descending) == pytest.approx(7, abs=0.5)


@pytest.mark.parametrize(("before", "after"), [(None, 1.0), (1.0, None), (0.0, 1.0)])
def test_what_is_not_known_has_no_change(before: float | None, after: float | None) -> None:
    assert change_percent(before, after) is None
    assert reduction_percent(before, after) is None


def test_a_table_with_holes_has_the_figures_that_it_can_have() -> None:
    assert process_times({(10, 1.4): 10.0, (100, 1.4): 11.0}) == {
        "by_rate_percent": None,
        "by_10_times_the_slices_percent": 10.0,
        "by_100_times_the_slices_percent": None,
    }
    phases = {"before": [1.0, None], "during": [2.0, 3.0], "after": [None, None]}
    found = around_joins(phases, phases)
    assert (found["rtd_change_percent"], found["rtd_mean_percent"]) == ([100.0, None], 100.0)
