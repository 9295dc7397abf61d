from __future__ import annotations

import pytest

from .chaos import chaos


@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost_repeated_or_out_of_order(seed: int, level: int) -> None:
    chaos(seed, level)
