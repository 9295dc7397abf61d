"""A shelf is looked at when it is due, once, and not forgotten."""

from __future__ import annotations

from random import Random

from evenflow.overlay.broker.agenda import MOST_VOID, NEVER, Agenda
from evenflow.overlay.protocol.messages import ShelfId
from evenflow.overlay.space.coordinate import geographic_hash

SHELVES = [ShelfId(topic, geographic_hash(topic)) for topic in "abcdefgh"]


def test_what_is_due_is_found_whatever_was_noted_before() -> None:
    for seed in range(200):
        rng, agenda, known = Random(seed), Agenda(), dict[ShelfId, float]()
        for now in range(60):
            for _ in range(rng.randrange(40)):
                shelf, due = rng.choice(SHELVES), now + rng.choice([0.0, 1.0, 1.0, 9.0, NEVER])
                step = rng.randrange(8)
                if step == 0:
                    agenda.drop(shelf)
                    known.pop(shelf, None)
                elif step < 4:
                    agenda.hasten(shelf, due)
                    if due < known.get(shelf, NEVER):
                        known[shelf] = due
                else:
                    agenda.set(shelf, due)
                    known[shelf] = due
            expected = {shelf for shelf, due in known.items() if due <= now}
            found = agenda.take_due(now)
            assert len(found) == len(set(found))
            assert set(found) == expected
            known.update(dict.fromkeys(found, NEVER))
            assert len(agenda) == len(known)


def test_a_busy_shelf_leaves_no_trail_of_later_times() -> None:
    agenda = Agenda()
    for tick in range(10_000):
        agenda.hasten(SHELVES[0], tick)
        assert agenda.take_due(tick) == [SHELVES[0]]
        agenda.set(SHELVES[0], 100_000.0)
        assert len(agenda._heap) <= 2 + MOST_VOID
    assert agenda.take_due(100_000.0) == [SHELVES[0]]
