from __future__ import annotations

import pytest

from evenflow.errors import OverlayError
from evenflow.overlay.protocol.messages import Label, ShelfId
from evenflow.overlay.space.coordinate import Coordinate, geographic_hash
from evenflow.overlay.space.delegation import DelegateList

HOME = geographic_hash("meters")


def test_a_shelf_is_at_home_where_its_topic_hashes_to() -> None:
    home, away = ShelfId("meters", HOME), ShelfId("meters", Coordinate(0.9, 0.1))
    assert home.at_home
    assert not away.at_home
    assert away.home == HOME
    assert len({home, away, ShelfId("meters", HOME)}) == 2


def test_a_name_that_is_none_has_no_home() -> None:
    with pytest.raises(OverlayError, match="1 to 1024 bytes"):
        _ = ShelfId("", HOME).home


@pytest.mark.parametrize("level", [0, 4])
def test_a_label_has_one_of_three_levels(level: int) -> None:
    with pytest.raises(OverlayError, match="choose 1, 2 or 3"):
        Label(0, level, 0, DelegateList.at_home(HOME))
