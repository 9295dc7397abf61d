"""The four selections by queries between brokers of a simulated cluster, whole and broken."""

from __future__ import annotations

from typing import Any

import pytest

from evenflow.overlay.balancing import asked_places
from evenflow.overlay.balancing.asked_places import ANSWER_S, MOST_REGIONS
from evenflow.overlay.balancing.decision import PlacedTopic
from evenflow.overlay.balancing.inquiry import Inquiry
from evenflow.overlay.balancing.loads import Level
from evenflow.overlay.balancing.places import Wish
from evenflow.overlay.broker.core import BrokerCore
from evenflow.overlay.protocol.codec import BODY
from evenflow.overlay.protocol.events import Arrived, Transmit
from evenflow.overlay.protocol.messages import (
    AskPlace,
    Envelope,
    Offer,
    OfferReply,
    Place,
    PlaceIs,
    PlaceLoad,
    Scope,
    ShelfId,
)
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.testing.overlay.cluster import OverlayCluster

from .adding import TOPIC, add, loads_in_topics, simulated

SELECTIONS = ("individual", "local", "regional", "global")
EVERY = 4.0


def asking(seed: int, brokers: int, selection: str, **settings: Any) -> OverlayCluster:
    chosen = {"balance_s": 3600.0, "topic_bytes": TOPIC} | settings
    return OverlayCluster(
        seed, brokers=brokers, settings=Settings(selection=selection, queries=10, **chosen)
    )


def bodies(actions: list[Any], kind: type) -> list[Any]:
    """What a broker sends of a kind."""
    sent = (
        BODY.decode(action.message.body)
        for action in actions
        if isinstance(action, Transmit) and isinstance(action.message, Envelope)
    )
    return [body for body in sent if isinstance(body, kind)]


def give(cluster: OverlayCluster, name: str, body: Any, sender: str) -> list[Any]:
    """Let a message arrive; return what the broker does then."""
    core = cluster.cores()[name]
    place, disk = core.members.me.coordinate, core.members.disk(sender)
    envelope = Envelope(place, name, 60, sender, 0, 1, False, BODY.encode(body), disk=disk)
    return core.handle(Arrived(sender, envelope), cluster.now, cluster.wall)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_the_highest_load_is_near_that_of_the_simulation(selection: str) -> None:
    cluster = asking(1, 8, selection)
    names = [f"topic-{number}" for number in range(32)]
    publishers = add(cluster, names)
    live = max(loads_in_topics(cluster))
    assert live <= 1.15 * max(simulated(cluster, names, "global")) + 1
    assert live < 0.75 * max(simulated(cluster, names, "home"))
    counted = [core.counters for core in cluster.cores().values()]
    assert sum(each.searches for each in counted) >= len(names)
    assert sum(each.asked for each in counted) > len(names)
    cluster.settle()
    cluster.check_all_readable(names, publishers=publishers)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_continuous_balancing_levels_and_comes_to_an_end(selection: str) -> None:
    cluster = asking(2, 6, selection, balance_s=EVERY, topic_bytes=0)
    publishers = [cluster.publisher(f"topic-{number}", 3) for number in range(16)]
    for number, publisher in enumerate(publishers):
        for _ in range(number % 6 + 1):
            publisher.add(b"x" * 50)
    cluster.run_until(lambda: all(p.acknowledged == p.accepted for p in publishers), 60, "fill")
    before = max(core.exchange.load for core in cluster.cores().values())
    cluster.run(14 * EVERY)
    since = cluster.now
    cluster.run(4 * EVERY)
    moved = [time for time, move in cluster.logged if move.refusal == ""]
    assert moved
    assert max(moved) < since
    assert max(core.exchange.load for core in cluster.cores().values()) < before
    cluster.settle()
    cluster.check_all_readable([p.topic for p in publishers], publishers=publishers)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_topic_is_decided_on_though_no_answer_ever_comes(
    selection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those who are asked are deaf: the search ends, and nothing keeps the topic from going on."""
    cluster = asking(3, 6, selection)
    monkeypatch.setattr(asked_places.AskedPlaces, "on_ask", lambda *_: None)
    publisher = cluster.publisher("meters", 3)
    publisher.add(b"x")
    cluster.run_until(lambda: publisher.acknowledged == 1, 30, "make")
    cluster.run(4 * ANSWER_S)
    cluster.run_until(lambda: all(c.exchange.idle for c in cluster.cores().values()), 30, "decide")
    publisher.add(b"y")
    cluster.run_until(lambda: publisher.acknowledged == 2, 10, "go on")
    cluster.settle()
    cluster.check_all_readable(["meters"], publishers=[publisher])


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("seed", range(2))
def test_deaths_and_broken_paths_in_the_middle_of_searches_harm_nothing(
    selection: str, seed: int
) -> None:
    cluster = asking(seed, 7, selection, balance_s=EVERY)
    publishers = []
    for number in range(12):
        publisher = cluster.publisher(f"topic-{number}", 3)
        publishers.append(publisher)
        publisher.add(b"x" * (number + 1))
        cluster.run(0.05 * cluster.rng.randint(1, 20))
        if number == 3:
            victim = cluster.rng.choice(cluster.names())
            cluster.kill(victim)
        if number == 6:
            one, other = cluster.rng.sample(cluster.names(), 2)
            cluster.paths.cut(one, other, both=bool(seed))
        if number == 9:
            cluster.start(victim)
    cluster.run(3 * EVERY)
    cluster.settle()
    cluster.run_until(lambda: all(p.acknowledged == p.accepted for p in publishers), 60, "write")
    cluster.run_until(lambda: all(c.exchange.idle for c in cluster.cores().values()), 60, "decide")
    cluster.settle()
    cluster.check_all_readable([p.topic for p in publishers], publishers=publishers)


def test_who_is_asked_for_its_region_asks_its_neighbours_and_answers_in_time() -> None:
    cluster = asking(4, 8, "regional")
    core = cluster.cores()["b0"]
    spot = core.members.closest(Coordinate(0.5, 0.5), 3)
    sender = sorted(core.neighbours.links)[0]
    ask = AskPlace(99, Scope.REGION, core.members.me.coordinate, spot, 0)
    asked = bodies(give(cluster, "b0", ask, sender), AskPlace)
    assert {one.scope for one in asked} == {Scope.CELL}
    assert len(asked) == len(core.members.neighbours())
    answers = []
    for number in [one.number for one in asked]:
        place = Place(core.members.me.coordinate, spot, PlaceLoad(7, 7, 0))
        answers += bodies(give(cluster, "b0", PlaceIs(number, (place,)), sender), PlaceIs)
    assert [answer.number for answer in answers] == [99]


def test_a_region_whose_neighbours_are_silent_is_answered_by_the_own_cell() -> None:
    cluster = asking(4, 8, "regional")
    core = cluster.cores()["b0"]
    spot = core.members.closest(Coordinate(0.5, 0.5), 3)
    sender = sorted(core.neighbours.links)[0]
    for number in range(MOST_REGIONS):
        ask = AskPlace(number, Scope.REGION, core.members.me.coordinate, spot, 0)
        assert not bodies(give(cluster, "b0", ask, sender), PlaceIs)
    more = AskPlace(500, Scope.REGION, core.members.me.coordinate, spot, 0)
    at_once = bodies(give(cluster, "b0", more, sender), PlaceIs)
    assert [answer.number for answer in at_once] == [500]  # the number of regions is bounded
    assert at_once[0].place
    assert len(core.exchange._places._regions) == MOST_REGIONS
    cluster.run(asked_places.REGION_S + 0.2)
    assert not core.exchange._places._regions


def ask_now(core: BrokerCore) -> tuple[Inquiry, set[int]]:
    """Begin a search; return it with the numbers of its queries."""
    place = Coordinate(0.5, 0.5)
    placed: PlacedTopic[str] = PlacedTopic("meters", core.members.closest(place, 3), 0.0)
    core.exchange._places.search(Wish(placed, place, new=True), lambda _end: None)
    inquiry = core.exchange._places._search[0]
    return inquiry, set(inquiry._open)


def test_an_answer_to_a_query_of_an_earlier_life_is_none() -> None:
    cluster = asking(5, 5, "local")
    cluster.run(2)
    _, before = ask_now(cluster.cores()["b0"])
    cluster.kill("b0")
    cluster.run(1)
    cluster.start("b0")
    cluster.run(8)
    again = cluster.cores()["b0"]
    inquiry, numbers = ask_now(again)
    best = inquiry.best
    assert len(before) == len(numbers) == 9
    assert min(numbers) > max(before)
    tempting = Place(Coordinate(0.5, 0.5), ("b1", "b2", "b3"), PlaceLoad(0, 0, 0))
    for number in before:
        again.exchange._places.on_answer(PlaceIs(number, (tempting,)))
    assert inquiry.best is best
    assert inquiry._open == numbers


def test_a_topic_is_not_taken_from_a_place_that_is_as_good() -> None:
    cluster = asking(6, 6, "local")
    core = cluster.cores()["b0"]
    sender = sorted(core.neighbours.links)[0]
    shelf = ShelfId("meters", core.members.me.coordinate)

    def reply(here: tuple[PlaceLoad, ...]) -> bool:
        offer = Offer(shelf, ("b1", "b2", "b3"), 5, new=True, here=here)
        return bodies(give(cluster, "b0", offer, sender), OfferReply)[0].accepted

    assert not reply(())
    assert not reply((PlaceLoad(0, 0, 0),))
    assert reply((PlaceLoad(1, 1, 0),))


def test_a_topic_is_not_taken_to_where_it_lies() -> None:
    """Who is offered it has heard other loads than who offers: it would move for nothing."""
    cluster = asking(6, 6, "local")
    core = cluster.cores()["b0"]
    place = core.members.me.coordinate
    spot = core.members.closest(place, 3)
    sender = sorted(core.neighbours.links)[0]
    for nodes in (spot, (spot[1], spot[0], spot[2])):
        offer = Offer(ShelfId("meters", place), nodes, 5, new=True, here=(PlaceLoad(1, 1, 0),))
        assert not bodies(give(cluster, "b0", offer, sender), OfferReply)[0].accepted


def test_where_a_topic_lies_is_no_better_place_whatever_others_know_of_it() -> None:
    cluster = asking(6, 6, "local")
    publisher = cluster.publisher("filling", 3)
    publisher.add(b"x" * 1000)
    cluster.run_until(lambda: publisher.acknowledged == 1, 30, "make")
    cluster.run(10)
    core = cluster.cores()["b0"]
    place = core.members.me.coordinate
    spot = core.members.closest(place, 3)
    loads = core.exchange._telling.loads()
    assert max(loads.load(name, Level.THREE) for name in spot) > 0
    ends = []
    placed: PlacedTopic[str] = PlacedTopic("meters", spot, 0.0)
    core.exchange._places.search(Wish(placed, place, new=True), ends.append)
    inquiry = core.exchange._places._search[0]
    inquiry.best = None
    for number in set(inquiry._open):
        core.exchange._places.on_answer(PlaceIs(number, (Place(place, spot, PlaceLoad(0, 0, 0)),)))
    assert [end.better for end in ends] == [None]
