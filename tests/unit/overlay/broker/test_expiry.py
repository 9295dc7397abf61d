"""How often shelves are looked through for what is too old or too much."""

from __future__ import annotations

import pytest

from evenflow.overlay.broker.expiry import Expiry
from evenflow.overlay.protocol.settings import Settings


@pytest.mark.parametrize(
    ("age_s", "shelf_bytes", "looks"),
    [(0.0, 0, 0), (5.0, 0, 100), (50.0, 0, 20), (1e6, 0, 10), (0.0, 1, 100), (1e6, 1, 100)],
)
def test_a_bound_in_bytes_is_kept_each_second_and_an_age_as_it_needs(
    age_s: float, shelf_bytes: int, looks: int
) -> None:
    expiry = Expiry(Settings(age_s=age_s, shelf_bytes=shelf_bytes), 0.0)
    assert sum(expiry.take_due(tick / 4) for tick in range(400)) == looks
