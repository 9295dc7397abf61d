"""Who lives is known in time, and envelopes have their turn all the same."""

from __future__ import annotations

from evenflow.overlay.broker import gathered
from evenflow.overlay.broker.gathered import KEEPALIVE, MOST_EVENTS, GatheredEvents
from evenflow.overlay.protocol.events import Arrived, Asked, Event, Tick, Unlinked
from evenflow.overlay.protocol.messages import Envelope, Heartbeat
from evenflow.overlay.space.coordinate import geographic_hash


def envelope(number: int, body: bytes = b"") -> Envelope:
    return Envelope(geographic_hash("t"), "", 0, "", 0, number, reply=False, body=body)


class Clock:
    """Each event takes as long as it says."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def turn(events: GatheredEvents, clock: Clock, tick_s: float, other_s: float) -> list[Event]:
    """Handle what shares a commit."""
    handled = []
    for event, at in events.take(clock):
        assert at == clock.now
        handled.append(event)
        clock.now += tick_s if isinstance(event, Tick) else other_s
    return handled


def test_links_and_time_come_before_envelopes() -> None:
    events = GatheredEvents()
    asked, kept = Asked(1, envelope(7)), Asked(1, envelope(0, KEEPALIVE))
    status = Asked(1, envelope(8, KEEPALIVE))
    arrived, beat = Arrived("b1", envelope(9)), Arrived("b1", Heartbeat(0, 0))
    gone = Unlinked("b1")
    for event in (asked, status, arrived, kept, beat, gone, Tick()):
        events.add(event)
    handled = turn(events, Clock(), 0.0, 0.0)
    assert handled == [kept, beat, gone, Tick(), asked, status, arrived]
    assert not events


def test_envelopes_have_their_turn_also_when_each_tick_takes_all_the_time() -> None:
    events, clock = GatheredEvents(), Clock()
    for number in range(50):
        events.add(Asked(1, envelope(number + 1)))
    answered = 0
    for _ in range(5):  # ticks last for ten times as long as the pause between them
        events.add(Tick())
        handled = turn(events, clock, 10 * gathered.MOST_TOGETHER_S, 0.01)
        answered += sum(isinstance(event, Asked) for event in handled)
    assert answered == 50


def test_a_turn_ends_in_time() -> None:
    events, clock = GatheredEvents(), Clock()
    for number in range(1000):
        events.add(Asked(1, envelope(number + 1)))
    assert 1 <= len(turn(events, clock, 0.0, 0.03)) <= 5
    assert len(turn(events, clock, 0.0, 1.0)) == 1, "one at least"


def test_all_that_waits_is_bounded() -> None:
    for event in (Asked(1, envelope(7)), Asked(1, envelope(0, KEEPALIVE))):
        events = GatheredEvents()
        for _ in range(MOST_EVENTS + 1):
            assert not events.crowded
            events.add(event)
        assert events.crowded
        while events:
            assert events.eased is (len(events) <= MOST_EVENTS // 2)
            turn(events, Clock(), 0.0, 0.0)
        assert events.eased
