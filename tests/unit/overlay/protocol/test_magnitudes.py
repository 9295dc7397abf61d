"""Numbers that fit and cannot be true are found, wherever in a message they are."""

from __future__ import annotations

import pytest
from tests.unit.overlay.protocol.samples import BODIES, LABEL, SHELF

from evenflow.overlay.protocol.magnitudes import LARGEST_COUNT, LATEST_NS, sound
from evenflow.overlay.protocol.messages import Frozen, Label, ListIs, PublisherState
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.overlay.space.delegation import DelegateList

NOW = 1_700_000_000_000_000_000
FAR = DelegateList.at_home(SHELF.coordinate).delegate(Coordinate(0.5, 0.5), 1 << 62)


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_what_is_said_every_day_is_sound(body: object) -> None:
    assert sound(body, NOW)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "body",
    [
        Frozen(SHELF, 1, 1 << 62, (), 0),
        Frozen(SHELF, 1, 1, (PublisherState(1, 1 << 62, 3),), 0),
        Frozen(SHELF, 1, 1, (), 1 << 60),
        Frozen(SHELF, NOW + LATEST_NS + 1, 1, (), 0),
        ListIs(SHELF, 0, False, LARGEST_COUNT + 1, 3, LABEL.delegates),
        ListIs(SHELF, 0, False, 1, 3, FAR),
        Label(1 << 54, 2, 0, LABEL.delegates),
    ],
)
def test_what_cannot_be_true_is_not(body: object) -> None:
    assert not sound(body, NOW)  # type: ignore[arg-type]
