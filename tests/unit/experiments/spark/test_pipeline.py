from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenflow.config import Config
from evenflow.errors import ExperimentError
from evenflow_experiments.spark.pipeline import delays_of, rate, warm
from evenflow_experiments.spark.pipeline_skew import (
    ALGORITHMS,
    NODES,
    ROWS,
    SLICES,
    figures_of,
    skew_config,
    zipf_ids,
)
from evenflow_experiments.spark.turns import FEWEST_BATCHES, FIRST_BATCHES, is_over

CASES = ("off", "on")


def batch(ended: float, rows: int) -> dict[str, Any]:
    return {"ended": ended, "rows": rows}


def test_the_rate_is_of_what_ended_after_the_first_batch_of_each_turn() -> None:
    first = [batch(10.0, 999), batch(11.0, 300), batch(12.0, 100)]
    second = [batch(50.0, 999), batch(52.0, 1_200)]
    assert rate([first]) == 200.0
    assert rate([first, [batch(30.0, 1)], second]) == 400.0


def test_too_few_batches_have_no_rate() -> None:
    with pytest.raises(ExperimentError, match="too few"):
        rate([[batch(10.0, 999)]])


def test_a_turn_lasts_until_it_has_batches_enough_for_a_rate() -> None:
    """One that ended with its time had, of batches of a second, none that count."""
    end = 10.0
    assert not is_over(0, None, 11.0)
    assert not is_over(FIRST_BATCHES + 1, end, 11.0)
    assert is_over(FEWEST_BATCHES, end, 11.0)
    assert not is_over(100, end, 9.0)
    batches = [batch(float(number), 100) for number in range(FEWEST_BATCHES)]
    assert rate([batches[FIRST_BATCHES:]]) == 100.0


def test_reading_off_a_backlog_does_not_count() -> None:
    batches = [batch(10.0, 1), batch(11.0, 300), batch(12.0, 300)]
    assert rate([batches], lambda start, end: 50 * (end - start)) == 50.0


def test_a_delay_is_from_an_items_time_to_the_end_of_its_batch() -> None:
    delays = delays_of([{"ended": 10.0, "rows": 21, "times": [9_000_000, 9_500_000]}])
    assert delays == pytest.approx([1_000.0, 500.0])


def test_popular_slices_begin_at_the_first_owner() -> None:
    owners = (2, 1, 2, 1, 3, 4)
    counts = np.bincount(zipf_ids(owners, 10_000), minlength=6)
    assert set(np.argsort(counts)[-2:]) == {1, 3}
    assert counts.sum() == 10_000
    assert counts[1] > counts[3] > counts[0] > counts[5] > 0


def test_the_skewed_domain_differs_by_its_algorithm_alone() -> None:
    off, on = (skew_config(Config(), ALGORITHMS[name]) for name in CASES)
    assert (off.balancer.algorithm, on.balancer.algorithm) == ("count", "weighted")
    assert off.domain == on.domain
    assert (off.topics, off.publisher, off.node) == (on.topics, on.publisher, on.node)


def test_the_time_of_a_batch_and_of_its_tasks() -> None:
    batches = [
        {"rows": ROWS, "ms": {"triggerExecution": 1_000}, "task_s": [0.2, 0.6]},
        {"rows": ROWS, "ms": {"triggerExecution": 1_200}, "task_s": [0.3, 0.5]},
        {"rows": ROWS, "ms": {"triggerExecution": 3_200}, "task_s": [0.4, 1.0]},
    ]
    figures = figures_of(batches)
    assert figures["batch_s"] == pytest.approx(1.8)
    assert figures["median_s"] == pytest.approx(1.2)
    assert figures["longest_task_s"] == pytest.approx(0.7)
    assert figures["all_tasks_s"] == pytest.approx(1.0)


def test_the_busy_node_has_most_of_the_work_until_slices_move() -> None:
    owners = tuple(1 + slice_id * NODES // SLICES for slice_id in range(SLICES))
    counts = np.bincount(zipf_ids(owners, 100_000), minlength=SLICES)
    shares = counts.reshape(NODES, -1).sum(axis=1) / counts.sum()
    assert 2 / 3 < shares[0] < 0.85
    assert counts.max() / counts.sum() < 1 / NODES


def test_what_ended_while_warming_up_does_not_count() -> None:
    batches = [batch(float(second), 1) for second in range(30)]
    assert warm(batches, 10.0) == batches[10:]
    assert warm(batches, 1.0) == batches[3:], "a few batches at least"
    assert warm(batches, 25.0) == batches[15:], "and not more than half"
