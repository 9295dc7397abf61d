"""What `evenflow consumers` shows of what the domain says."""

from __future__ import annotations

import pytest

from evenflow.cli.consumers import ConsumersView, _print
from evenflow.model.messages import CommitCopy
from evenflow.slices.consumer.registry.copies import BALANCER, NOBODY

AT = 1_770_000_000 * 10**9


def copy(consumer: str, *, ended: bool, expired: bool) -> CommitCopy:
    writers = (7, NOBODY) if expired else (7,)
    epochs = (12, 1) if expired else (12,)
    return CommitCopy("fleet", consumer, BALANCER, True, AT, writers, epochs, ended, (), ())


def test_consumers_that_have_expired_are_named_with_when_and_where(
    capsys: pytest.CaptureFixture[str],
) -> None:
    view = ConsumersView("fleet")
    view.see(copy("adhoc", ended=True, expired=True))
    view.see(copy("forgotten", ended=True, expired=False))
    view.see(copy("away", ended=False, expired=False))
    assert view.expired() == [{"consumer": "adhoc", "time_ns": AT, "position": {"7": 12}}]
    _print(view, [])
    told = capsys.readouterr().out
    assert "adhoc has expired (2026-02-02 02:40:00 UTC), at epoch 12 of writer" in told
