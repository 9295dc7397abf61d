"""What stays in use, told from what comes and goes."""

from __future__ import annotations

from evenflow.qos.plain.standing import STALE_S, Standing

STEP_S = 1 / 300


def test_of_a_saw_nothing_stays() -> None:
    standing, used = Standing(0.0), 0
    for step in range(1_000):
        now, used = step * STEP_S, used + 1
        if used > 110:
            used = 0
            standing.acknowledged(used, now)
        assert standing.of(used, now) == 0


def test_of_a_saw_on_a_backlog_the_backlog_stays() -> None:
    standing = Standing(0.0)
    for step in range(1_000):
        now, used = step * STEP_S, 150 + step % 40
        if used == 150:
            standing.acknowledged(used, now)
        assert standing.of(used, now) == 150


def test_when_nobody_acknowledges_all_stays() -> None:
    standing = Standing(0.0)
    standing.acknowledged(0, 10.0)
    assert standing.of(70, 10.0 + STALE_S / 2) == 0
    assert standing.of(70, 10.0 + STALE_S) == 70
    assert standing.of(71, 99.0) == 71


def test_no_more_stays_than_is_out() -> None:
    standing = Standing(0.0)
    standing.acknowledged(50, 1.0)
    assert standing.of(20, 1.1) == 20
