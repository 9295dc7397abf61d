"""What is logged of devices is told once, and bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.bridge.shell.complaints import AGAIN_S, MOST, Complaints

if TYPE_CHECKING:
    import pytest


def test_a_reason_is_told_once_and_again_later(caplog: pytest.LogCaptureFixture) -> None:
    now = 100.0
    complaints = Complaints(lambda: now)
    for _ in range(5):
        complaints.tell(bytes(12), 1, "another type")
    assert caplog.messages == [f"entity 1 of device {'0' * 24} is refused: another type"]
    now += AGAIN_S
    complaints.tell(bytes(12), 1, "another type")
    assert len(caplog.messages) == 2


def test_devices_cannot_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    complaints = Complaints(lambda: 0.0)
    for number in range(10 * MOST):
        complaints.tell(bytes(12), 0, f"topic {number}")
    assert len(caplog.messages) == MOST
