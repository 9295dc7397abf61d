"""Loss in bursts: the rates come out, and what cannot be is refused."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import UsageError
from evenflow.testing.loss.gilbert_elliott import GilbertElliott, Losses


@pytest.mark.parametrize(("plr", "abl"), [(0.01, 1.0), (0.05, 3.0), (0.2, 5.0), (0.5, 2.0)])
def test_rate_and_burst_length_come_out(plr: float, abl: float) -> None:
    losses = Losses(GilbertElliott(plr, abl), Random(7))
    lost = [losses.next_is_lost() for _ in range(300_000)]
    bursts = "".join("x" if each else " " for each in lost).split()
    assert sum(lost) / len(lost) == pytest.approx(plr, rel=0.05)
    assert sum(lost) / len(bursts) == pytest.approx(abl, rel=0.05)
    assert (losses.lost, losses.bursts) == (sum(lost), len(bursts))


@given(st.floats(0.0, 0.99), st.floats(1.0, 200.0))
def test_the_chain_is_one_or_is_refused(plr: float, abl: float) -> None:
    """Its stationary share of the bad state is the loss rate."""
    try:
        model = GilbertElliott(plr, abl)
    except UsageError:
        assert plr / (1.0 - plr) > abl * (1 - 1e-9)
        return
    assert 0.0 <= model.p <= 1.0
    assert 0.0 < model.q <= 1.0
    assert model.p / (model.p + model.q) == pytest.approx(plr)


@pytest.mark.parametrize(
    ("plr", "abl", "told"),
    [
        (1.0, 2.0, "loss rate"),
        (-0.1, 2.0, "loss rate"),
        (float("nan"), 2.0, "loss rate"),
        (0.1, 0.5, "burst"),
        (0.1, float("inf"), "burst"),
        (0.9, 2.0, "needs bursts of 9 packets"),
    ],
)
def test_what_cannot_be_is_refused(plr: float, abl: float, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        GilbertElliott(plr, abl)


def test_nothing_is_lost_at_a_rate_of_0() -> None:
    losses = Losses(GilbertElliott(0.0), Random(7))
    assert not any(losses.next_is_lost() for _ in range(1_000))
    assert (losses.plr, losses.abl) == (0.0, 0.0)
