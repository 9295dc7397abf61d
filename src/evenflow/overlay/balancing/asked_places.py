"""Places found by asking: queries over the overlay, in the place of loads told to all (section V).

A broker that wants a better place for a topic looks into its own cell, or region, and asks others
(`selections`). Who is asked answers by the loads around it (`vicinity`), as if the topic lay
nowhere. When all have answered, or at the deadline, the best answer is compared with where the
topic lies, and nothing better means that it stays::

    search    AskPlace to random coordinates, or to everybody      PlaceIs
    region    who is asked for its region asks its neighbours      AskPlace, PlaceIs

Queries and answers that are lost are not sent again: a decision by fewer answers is as sound, and
whoever is to take the topic decides once more. A search that a change of members ends finds
nothing, for what was answered was about other cells.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from evenflow.overlay.balancing.candidates import Candidates
from evenflow.overlay.balancing.decision import PlacedTopic, is_worth_a_move
from evenflow.overlay.balancing.inquiry import Inquiry
from evenflow.overlay.balancing.loads import Level
from evenflow.overlay.balancing.places import (
    MARGIN,
    BetterPlace,
    SearchEnd,
    burdens_alike,
    from_bytes,
    in_bytes,
)
from evenflow.overlay.balancing.preference import best_spot, coordinate_load
from evenflow.overlay.protocol.messages import AskPlace, Place, PlaceIs, Scope
from evenflow.overlay.space.coordinate import Coordinate

if TYPE_CHECKING:
    from random import Random

    from evenflow.overlay.balancing.places import Found, Wish
    from evenflow.overlay.balancing.selections import Selection
    from evenflow.overlay.balancing.vicinity import Vicinity
    from evenflow.overlay.ports import ExchangeHost
    from evenflow.overlay.protocol.messages import Envelope, Offer

ANSWER_S = 2.0
"""Answers that have not come by then are done without."""
REGION_S = 1.0
"""The same for the neighbours of a broker that is asked for its region: it must answer in time."""
MOST_REGIONS = 64
"""Regions that are asked at a time for others; beyond, the own cell is the answer."""


class AskedPlaces:
    """The places of a broker that asks.

    Args:
        host: The broker.
        vicinity: The loads around it.
        selection: What it asks for.
        rng: Draws the coordinates.
    """

    def __init__(
        self, host: ExchangeHost, vicinity: Vicinity, selection: Selection, rng: Random
    ) -> None:
        self._host = host
        self._vicinity = vicinity
        self._selection = selection
        self._rng = rng
        self._number = 0
        self._candidates: Candidates | None = None
        self._search: tuple[Inquiry, Wish, Found] | None = None
        self._regions: list[tuple[Inquiry, Envelope, AskPlace]] = []

    @property
    def searching(self) -> bool:
        """Whether a search is under way."""
        return self._search is not None

    def on_members_changed(self) -> None:
        """A broker came or went: other cells, other answers."""
        self._candidates = None
        self._regions.clear()
        if self._search is not None:
            _, wish, found = self._search
            self._search = None
            found(SearchEnd(wish, None, complete=False))

    # -- asking ---------------------------------------------------------------------------------

    def search(self, wish: Wish, found: Found) -> None:
        """Ask for places; one search at a time."""
        host, selection, placed = self._host, self._selection, wish.placed
        if any(name not in self._vicinity for name in placed.spot):
            found(SearchEnd(wish, None, complete=False))
            return
        host.counters.searches += 1
        inquiry = Inquiry(host.now + ANSWER_S, None)
        self._search = (inquiry, wish, found)
        if selection.own_counts:
            inquiry.consider(self._best_of_cell(placed))
        if selection.scope is Scope.REGION:
            self._ask_neighbours(inquiry, placed)
        if selection.everybody:
            me = host.members.me.name
            places = [place for name, place in host.members.living.items() if name != me]
        else:
            count = host.settings.queries - selection.own_counts
            places = [Coordinate(self._rng.random(), self._rng.random()) for _ in range(count)]
        for place in places:
            self._ask(inquiry, selection.scope, place, placed)
        self._end_search()

    def _ask(
        self, inquiry: Inquiry, scope: Scope, place: Coordinate, placed: PlacedTopic[str]
    ) -> None:
        self._number = max(self._number + 1, self._host.wall // 1_000_000)
        inquiry.ask(self._number)
        ask = AskPlace(self._number, scope, place, placed.spot, int(placed.load))
        self._host.mail.send_to(place, ask)

    def _ask_neighbours(self, inquiry: Inquiry, placed: PlacedTopic[str]) -> None:
        members = self._host.members
        for name in sorted(members.neighbours()):
            self._ask(inquiry, Scope.CELL, members[name].coordinate, placed)

    def on_answer(self, answer: PlaceIs) -> None:
        """A broker names a place, or says that it knows none."""
        place = answer.place[0] if answer.place and self._is_sound(answer.place[0]) else None
        if self._search is not None and self._search[0].answer(answer.number, place):
            self._end_search()
            return
        if any(inquiry.answer(answer.number, place) for inquiry, _, _ in self._regions):
            self._end_regions()

    def _is_sound(self, place: Place) -> bool:
        """Say whether a place is where we, too, see it: else members have changed meanwhile."""
        return place.nodes == self._host.members.closest(place.coordinate, len(place.nodes))

    def review(self) -> None:
        """End what has waited long enough."""
        self._end_search()
        self._end_regions()

    def _end_search(self) -> None:
        if self._search is None or not self._search[0].is_over(self._host.now):
            return
        inquiry, wish, found = self._search
        self._search = None
        found(SearchEnd(wish, self._better(wish, inquiry.best), inquiry.complete))

    def _better(self, wish: Wish, best: Place | None) -> BetterPlace | None:
        """Return the best place that was named, if it is better than where the topic lies.

        Where the topic lies may be named, too, with loads that are older or newer than ours: that
        is no better place.
        """
        placed, least = wish.placed, 0.0 if wish.new else MARGIN * self._vicinity.mean()
        here = coordinate_load(self._vicinity.loads(without=placed), placed.spot, Level.THREE)
        if best is None or len(best.nodes) != len(placed.spot):
            return None
        if burdens_alike(best.nodes, placed.spot):
            return None
        there = from_bytes(best.loads)
        if not is_worth_a_move(here, there, least):
            return None
        before = self._vicinity.loads()
        mine = before.load(self._host.members.me.name, Level.THREE)
        highest = max(before.load(name, Level.THREE) for name in placed.spot)
        seen = (
            ("load_before", mine),
            ("load_after", max(0.0, mine - placed.load)),
            ("mean_load", self._vicinity.mean()),
            ("topic_load", placed.load),
            ("highest_here_before", highest),
            ("highest_here_after", here.maximum),
            ("highest_there_before", there.maximum),
            ("highest_there_after", there.maximum + placed.load),
        )
        return BetterPlace(best.coordinate, best.nodes, here, there, seen)

    # -- answering ------------------------------------------------------------------------------

    def on_ask(self, envelope: Envelope, ask: AskPlace) -> None:
        """Answer by what is known around here."""
        placed: PlacedTopic[str] = PlacedTopic("", ask.nodes, float(ask.load))
        if ask.scope is Scope.COORDINATE:
            self._reply(envelope, ask, self._at(ask.coordinate, placed))
            return
        best = self._best_of_cell(placed)
        if ask.scope is Scope.CELL or len(self._regions) >= MOST_REGIONS:
            self._reply(envelope, ask, best)
            return
        inquiry = Inquiry(self._host.now + REGION_S, best)
        self._ask_neighbours(inquiry, placed)
        self._regions.append((inquiry, envelope, ask))
        self._end_regions()

    def _end_regions(self) -> None:
        ended = [each for each in self._regions if each[0].is_over(self._host.now)]
        self._regions = [each for each in self._regions if not each[0].is_over(self._host.now)]
        for inquiry, envelope, ask in ended:
            self._reply(envelope, ask, inquiry.best)

    def _reply(self, envelope: Envelope, ask: AskPlace, place: Place | None) -> None:
        self._host.mail.reply(envelope, PlaceIs(ask.number, () if place is None else (place,)))

    def _at(self, coordinate: Coordinate, placed: PlacedTopic[str]) -> Place | None:
        """Return a coordinate with its loads, if it is of our cell and all of them are known."""
        members = self._host.members
        spot = members.closest(coordinate, len(placed.spot))
        if spot[:1] != (members.me.name,) or any(name not in self._vicinity for name in spot):
            return None
        loads = self._vicinity.loads(without=placed)
        return Place(coordinate, spot, in_bytes(coordinate_load(loads, spot, Level.THREE)))

    def _best_of_cell(self, placed: PlacedTopic[str]) -> Place | None:
        """Return the best coordinate of our own cell."""
        me = self._host.members.me.name
        if self._candidates is None:
            self._candidates = Candidates(self._host.members.living, zlib.crc32(me.encode()))
        size, known = len(placed.spot), self._vicinity
        spots = [spot for spot in self._candidates.spots(size, known) if spot[0] == me]
        if not spots:
            return None
        loads = known.loads(without=placed)
        best = best_spot(loads, Level.THREE, spots[0], spots[1:])
        coordinate = self._candidates.coordinate(best, known)
        return Place(coordinate, best, in_bytes(coordinate_load(loads, best, Level.THREE)))

    # -- taking ---------------------------------------------------------------------------------

    def accepts(self, offer: Offer, spot: tuple[str, ...]) -> bool:
        """Decide again, by the loads around us and those that the topic meets where it lies."""
        if not offer.here or any(name not in self._vicinity for name in spot):
            return False
        if burdens_alike(spot, offer.nodes):
            return False
        placed: PlacedTopic[str] = PlacedTopic(offer.shelf.topic, offer.nodes, float(offer.load))
        there = coordinate_load(self._vicinity.loads(without=placed), spot, Level.THREE)
        least = 0.0 if offer.new else MARGIN * self._vicinity.mean()
        return is_worth_a_move(from_bytes(offer.here[0]), there, least)
