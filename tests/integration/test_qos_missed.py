"""A reader that was away, and a real writer with a bounded history."""

from __future__ import annotations

import pytest
from cyclonedds.domain import DomainParticipant

from evenflow.testing.loss.gilbert_elliott import GilbertElliott
from evenflow_experiments.qos.losing import count_losses
from evenflow_experiments.qos.missing import History


@pytest.mark.domain
def test_what_the_history_cannot_keep_is_missed(domain_id: int) -> None:
    history = History(DomainParticipant(domain_id), "missed", 5)
    counts = [0, 1, 4, 5, 6, 7, 20, 0, 5, 40] * 3
    assert [history.missed_by_one_absence(n) for n in counts] == [max(0, n - 5) for n in counts]


def test_losses_are_counted_at_the_receiver() -> None:
    lost, bursts = count_losses(GilbertElliott(0.2, 4.0), 20_000)
    assert lost / 20_000 == pytest.approx(0.2, rel=0.15)
    assert lost / bursts == pytest.approx(4.0, rel=0.15)
