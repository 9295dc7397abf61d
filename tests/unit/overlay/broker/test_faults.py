"""Everything breaks at any time and together; nothing that was acknowledged is lost or repeated.

``--hypothesis-profile`` does not matter here. A few schedules always run, more with ``make test``;
any number by ``python -m evenflow.testing.overlay.faults FIRST COUNT``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenflow.testing.overlay.faults import faults, store_schedule

if TYPE_CHECKING:
    from pathlib import Path

BATCH = 20
SCHEDULES = 60


@pytest.mark.parametrize("seed", range(40))
def test_what_was_acknowledged_is_kept_whatever_breaks(seed: int) -> None:
    faults(seed)


@pytest.mark.parametrize("seed", range(10_000, 10_008))
def test_the_same_holds_on_real_disks(seed: int, tmp_path: Path) -> None:
    faults(seed, tmp_path)


@pytest.mark.parametrize(
    "seed",
    [100_132],  # a broker joins while all that it was told of are dead or stopped
)
def test_schedules_that_failed_once(seed: int) -> None:
    faults(seed)


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(100_000, 100_000 + SCHEDULES, BATCH))
def test_many_more(first: int) -> None:
    for seed in range(first, first + BATCH):
        store_schedule(seed)
