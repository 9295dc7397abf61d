"""A publisher of a topic that may be thinned: what it accepts, counts, tells, and never does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from evenflow.autonomic.rates import Target, take_part
from evenflow.config import Config
from evenflow.domain import channels
from evenflow.errors import ClosedError, PublishTimeout
from evenflow.model.messages import (
    ActionOrder,
    ActionOutcome,
    Commit,
    SeparationReport,
    WriterUse,
)
from evenflow.slices.publisher.publisher import Publisher

from .fakes import LIMIT_S, FakeParticipant, leave_at_once, until

LONG_S = 3_600.0
"""A separation, or a lease, that no test lives to see the end of."""


class HandClock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.now


@pytest.fixture
def domain() -> FakeParticipant:
    return FakeParticipant(readers=1)


@contextmanager
def opened(
    domain: FakeParticipant, thin: str = "source", *, deadline_s: float = 0.0,
    report_s: float = 0.05, **options: Any,
) -> Iterator[Publisher]:  # fmt: skip
    config = Config()
    topic = replace(config.topics[0], slices=4, thin=thin, deadline_s=deadline_s)
    settings = replace(config.publisher, linger_ms=0, retention_bytes=1 << 20)
    config = replace(
        config, topics=(topic,), publisher=settings, qos=replace(config.qos, report_s=report_s)
    )
    publisher = Publisher("items", config=config, participant=domain, **options)  # type: ignore[arg-type]
    try:
        yield publisher
    finally:
        leave_at_once(publisher)


def separations(domain: FakeParticipant) -> list[SeparationReport]:
    return list(domain.of(channels.SEPARATIONS).written)


def order(
    domain: FakeParticipant, number: int, separation_s: float, *, topic: str = "items",
    lease_s: float = LONG_S,
) -> ActionOutcome:  # fmt: skip
    """Order a separation as the controller does; return what came of it."""
    until(lambda: bool(separations(domain)))
    args = msgspec.json.encode({"topic": topic, "separation_s": separation_s, "lease_s": lease_s})
    process = separations(domain)[0].process
    domain.say(
        channels.ACTION_PLANS, ActionOrder(f"p{number}", "a", 1, process, "separate", args, False)
    )
    return domain.of(channels.ACTION_OUTCOMES).wait_for(number)[-1]  # type: ignore[no-any-return]


def test_of_each_sender_one_item_in_a_separation_is_published(domain: FakeParticipant) -> None:
    clock = HandClock()
    with opened(domain, clock=clock) as publisher:
        assert order(domain, 1, 1.0).ok
        assert publisher.publish(b"1", sender="a")
        assert not publisher.publish(b"2", sender="a")
        assert publisher.publish(b"3", sender="b")
        clock.now += 1.0
        names = ["a", "b", "a", "c"]
        assert publisher.publish_many([b"4", b"5", b"6", b"7"], senders=names) == 3
        assert publisher.publish_columns(np.zeros((2, 5), np.uint8), senders=["a", "c"]) == 0
        stats = publisher.stats
        assert (stats.published, stats.thinned) == (5, 4)
        assert publisher._core.retention.items == 5


def test_at_full_rate_everything_is_published(domain: FakeParticipant) -> None:
    with opened(domain) as publisher:
        assert publisher.publish_many([b"x"] * 5, senders="a") == 5
        assert all(publisher.publish(b"y", sender="a") for _ in range(5))
        assert order(domain, 1, LONG_S).ok
        assert order(domain, 2, 0.0).ok
        assert all(publisher.publish(b"y", sender="a") for _ in range(5))
        assert publisher.stats.thinned == 0


def test_who_finds_no_room_is_not_thinned_against_itself(domain: FakeParticipant) -> None:
    with opened(domain) as publisher:
        assert order(domain, 1, LONG_S).ok
        assert publisher.publish(bytes(900_000), sender="large")
        with pytest.raises(PublishTimeout):
            publisher.publish(bytes(200_000), sender="a", timeout=0.0)
        with pytest.raises(PublishTimeout):
            publisher.publish_many([bytes(200_000)], senders="a", timeout=0.0)
        assert publisher.stats.thinned == 0
        # What is left out needs no room: it does not wait.
        assert not publisher.publish(bytes(900_000), sender="large", timeout=0.0)
        assert publisher.publish(b"small", sender="a", timeout=0.0)


def test_a_unit_is_on_disk_without_what_was_left_out_of_it(
    domain: FakeParticipant, tmp_path: Path
) -> None:
    clock = HandClock()
    with opened(domain, outbox=tmp_path / "outbox", clock=clock) as publisher:
        assert order(domain, 1, 1.0).ok
        assert publisher.publish_unit(1, [b"1", b"2", b"3"], senders=["a", "a", "b"])
        assert publisher.publish_unit(2, [b"4"], senders=["a"])
        assert publisher.wait_for_unit(2, LIMIT_S)
        assert publisher.stats.thinned == 2
        clock.now += 1.0
        # A unit that comes again was dealt with: nothing of it is thinned, or published, once more.
        assert not publisher.publish_unit(2, [b"4"], senders=["a"])
        assert publisher.stats.thinned == 2
        assert publisher.publish_unit(3, [b"5"], senders=["a"])
        assert publisher.wait_for_unit(3, LIMIT_S)
        assert publisher._core.retention.items == 3


def test_what_was_thinned_is_told_with_the_epochs(domain: FakeParticipant) -> None:
    with opened(domain) as publisher:
        assert order(domain, 1, LONG_S).ok
        assert publisher.publish_many([b"x"] * 5, senders="a") == 1
        told = domain.of(channels.EPOCHS).written
        until(lambda: told[-1].epoch >= 1)
        assert (told[-1].items, told[-1].thinned) == (1, 4)


def test_the_goodbye_tells_what_was_left_out_after_the_last_epoch(domain: FakeParticipant) -> None:
    with opened(domain) as publisher:
        assert order(domain, 1, LONG_S).ok
        assert publisher.publish(b"x", sender="a")
        told = domain.of(channels.EPOCHS).written
        until(lambda: told[-1].epoch >= 1)
        assert publisher.publish_many([b"x"] * 5, senders="a") == 0
        slices = np.flatnonzero(publisher._core.retention.newest).tolist()
        domain.say(
            channels.COMMITS, Commit("items", publisher.writer, "n", "", tuple(slices), (1,), (1,))
        )
        publisher.close(LIMIT_S)
        assert (told[-1].closing, told[-1].items, told[-1].thinned) == (True, 1, 5)


def test_what_was_left_out_is_counted_across_restarts(tmp_path: Path) -> None:
    for total in (4, 8, 12):
        domain = FakeParticipant(readers=1)
        with opened(domain, outbox=tmp_path / "outbox") as publisher:
            assert order(domain, 1, LONG_S).ok
            assert publisher.publish_many([b"x"] * 5, senders="a") == 1
            told = domain.of(channels.EPOCHS).written
            until(lambda: told[-1].thinned == total)  # noqa: B023
            assert publisher._outbox is not None
            assert publisher._outbox.state.thinned == total, "on disk before it is told"
            assert publisher.stats.thinned == 4


def test_a_topic_that_is_never_thinned_has_nothing_to_thin_it_by(domain: FakeParticipant) -> None:
    with opened(domain, "never") as publisher:
        assert all(publisher.publish(b"x", sender="a") for _ in range(100))
        opened_channels = {name for name, _ in domain._writers}
        assert not opened_channels & {channels.SEPARATIONS.name, channels.USES.name}


def test_an_order_for_a_topic_that_is_not_thinned_here_is_refused(domain: FakeParticipant) -> None:
    with opened(domain) as publisher:
        outcome = order(domain, 1, LONG_S, topic="alarms")
        assert not outcome.ok
        assert "never thinned" in outcome.reason
        assert all(publisher.publish(b"x", sender="a") for _ in range(5))


def test_a_separation_stays_below_the_deadline(domain: FakeParticipant) -> None:
    clock = HandClock()
    with opened(domain, deadline_s=2.0, clock=clock) as publisher:
        assert order(domain, 1, LONG_S).ok
        until(lambda: separations(domain)[-1].separation_s > 0)
        assert 1.9 < separations(domain)[-1].separation_s < 2.0
        assert publisher.publish(b"x", sender="a")
        clock.now += 2.0
        assert publisher.publish(b"x", sender="a")


def test_full_rate_returns_when_nobody_renews_the_separation(domain: FakeParticipant) -> None:
    with opened(domain) as publisher:
        assert order(domain, 1, LONG_S, lease_s=0.05).ok
        until(lambda: publisher.publish(b"x", sender="a") and publisher.publish(b"x", sender="a"))
        until(lambda: separations(domain)[-1].separation_s == 0.0)


def test_how_full_it_is_is_told(domain: FakeParticipant) -> None:
    with opened(domain) as publisher:
        publisher.publish(bytes(500_000), sender="a")
        uses: list[WriterUse] = domain.of(channels.USES).written
        until(lambda: bool(uses) and uses[-1].used[0] > 500_000)
        assert uses[-1].used_most == (1 << 20,)
        assert (uses[-1].kept, uses[-1].kept_most) == ((0,), (0,))


def test_whoever_takes_part_in_a_process_shares_one_station(domain: FakeParticipant) -> None:
    with opened(domain) as publisher:
        assert order(domain, 1, LONG_S).ok
        applied: list[float] = []
        target = Target("items", "reader 1", "readers", applied.append, lambda: 7)
        with take_part(domain, Config(), "items", target=target):  # type: ignore[arg-type]
            # Who comes later begins with what is in effect.
            assert applied == [LONG_S]
            until(lambda: separations(domain)[-1].name == "reader 1")
            assert len({one.process for one in separations(domain)}) == 1
            assert separations(domain)[-1].thinned == 7
        until(
            lambda: (
                (separations(domain)[-1].name, separations(domain)[-1].policy) == ("reader 1", "")
            )
        )
        assert publisher.publish(b"x", sender="a")


def test_everything_is_told_again_and_again(domain: FakeParticipant) -> None:
    """Who stood still is taken for gone; what never changes must be heard again all the same."""
    with opened(domain):
        until(lambda: len(separations(domain)) >= 3)
        until(lambda: len(domain.of(channels.USES).written) >= 3)
        until(lambda: len(domain.of(channels.PROPERTIES).written) >= 3)
        assert len(set(separations(domain))) == 1


def test_one_that_cannot_be_changed_does_not_silence_the_others(domain: FakeParticipant) -> None:
    def fail(_separation_s: float) -> None:
        raise ClosedError("reader")

    broken = Target("items", "reader 1", "readers", fail, lambda: 0)
    with opened(domain) as publisher, take_part(domain, Config(), "items", target=broken) as part:  # type: ignore[arg-type]
        assert not order(domain, 1, LONG_S, lease_s=0.05).ok
        until(lambda: publisher.publish(b"x", sender="a") and publisher.publish(b"x", sender="a"))
        told = len(domain.of(channels.USES).written)
        publisher.publish(bytes(500_000), sender="b")
        until(lambda: len(domain.of(channels.USES).written) > told)
        part.close()


def test_a_lease_ends_in_time_however_seldom_reports_are(domain: FakeParticipant) -> None:
    with opened(domain, report_s=60.0) as publisher:
        assert order(domain, 1, LONG_S, lease_s=0.05).ok
        until(lambda: publisher.publish(b"x", sender="a") and publisher.publish(b"x", sender="a"))


def test_a_part_may_be_closed_twice(domain: FakeParticipant) -> None:
    target = Target("items", "reader 1", "readers", lambda _: None, lambda: 0)
    with take_part(domain, Config(), "items", target=target) as part:  # type: ignore[arg-type]
        part.close()


def test_a_closed_publisher_says_so_and_thins_nothing(domain: FakeParticipant) -> None:
    with opened(domain) as publisher:
        assert order(domain, 1, LONG_S).ok
        publisher.publish(b"x", sender="a")
        leave_at_once(publisher)
        with pytest.raises(ClosedError):
            publisher.publish(b"x", sender="a")
