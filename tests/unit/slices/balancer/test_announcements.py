"""What a balancer tells: of a change the pages that changed, of a large map no more than that."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from evenflow.domain.codec import encode
from evenflow.model.messages import Beat, MapPage
from evenflow.model.slice_map import SliceMap
from evenflow.slices.actions import Send
from evenflow.slices.balancer.announcements import Announcements
from evenflow.slices.balancer.membership.members import Members
from evenflow.slices.balancer.owners import Owners
from evenflow.slices.balancer.settings import BalancerSettings
from evenflow.slices.terms import Terms

SLICES, PAGES = 10_000, 40
NODES = [f"node-{number:02}~{number:08x}" for number in range(20)]
TICK = 0.02


@dataclass
class Teller:
    """The announcements of a balancer that is not yet settled."""

    now: float = 0.0
    settled: bool = False
    owners: Owners = field(default_factory=lambda: Owners(SLICES))
    terms: Terms = field(default_factory=lambda: Terms(1_000.0))
    said: Announcements = field(
        default_factory=lambda: Announcements("items", SLICES, 1, BalancerSettings(), 0.0)
    )

    def tells(self, kind: type) -> list[object]:
        actions = self.said.poll(self.now, self.owners, Members(), self.terms, settled=self.settled)
        sent = [action.message for action in actions if isinstance(action, Send)]
        return [message for message in sent if isinstance(message, kind)]

    def pages(self, seconds: float = 0.0) -> list[MapPage]:
        """What is told of the map until so much later."""
        told: list[object] = self.tells(MapPage)
        end = self.now + seconds
        while self.now < end:
            self.now += TICK
            told += self.tells(MapPage)
        return [page for page in told if isinstance(page, MapPage)]

    def give(self, slice_id: int, node: str) -> int:
        term = self.terms.new()
        self.owners.give([slice_id], node, term, self.now)
        return term

    def beat(self) -> Beat:
        self.now += BalancerSettings().beat_every
        [beat] = self.tells(Beat)
        assert isinstance(beat, Beat)
        return beat


@pytest.fixture
def teller() -> Teller:
    """A balancer that has told its whole map."""
    teller = Teller()
    teller.owners.recover({})
    teller.settled = True
    for slice_id in range(SLICES):
        teller.give(slice_id, NODES[slice_id % len(NODES)])
    told = teller.pages()
    assert [page.page for page in told] == list(range(PAGES))
    assert {page.version for page in told} == {teller.said.version}
    teller.pages(2.0)
    return teller


def test_a_move_of_one_slice_writes_one_page(teller: Teller) -> None:
    term = teller.give(5_000, NODES[7])
    [page] = teller.pages()
    assert (page.page, page.slice_count) == (5_000 // 256, SLICES)
    assert page.version == teller.said.version > term
    assert page.terms[5_000 % 256] == term
    assert len(encode(page)) < 4_000
    assert teller.pages() == []


def test_a_change_of_several_pages_has_one_version(teller: Teller) -> None:
    for slice_id in (0, 1, 300, 9_999):
        teller.give(slice_id, NODES[0])
    told = teller.pages()
    assert [page.page for page in told] == [0, 1, 39]
    assert {page.version for page in told} == {teller.said.version}


def test_a_page_that_changed_is_repeated_soon(teller: Teller) -> None:
    teller.give(5_000, NODES[7])
    [first] = teller.pages()
    assert first in teller.pages(BalancerSettings().map_every + TICK)


def test_repeating_is_no_constant_load(teller: Teller) -> None:
    """One page each second, and each page in its turn."""
    told = teller.pages(PAGES * BalancerSettings().map_every)
    assert len(told) <= PAGES + 2
    assert {page.page for page in told} == set(range(PAGES))


def test_a_large_change_is_not_repeated_in_one_go(teller: Teller) -> None:
    for slice_id in range(SLICES):
        teller.give(slice_id, NODES[0])
    teller.pages()
    teller.now += 10.0
    assert len(teller.pages()) == 1


def test_a_beat_names_the_version_of_each_page(teller: Teller) -> None:
    teller.give(5_000, NODES[7])
    [page] = teller.pages()
    beat = teller.beat()
    assert len(beat.pages) == PAGES
    assert beat.pages[page.page] == beat.version == page.version
    assert sum(version == page.version for version in beat.pages) == 1


def test_a_balancer_that_listens_tells_no_pages() -> None:
    teller = Teller()
    assert teller.pages(5.0) == []
    beat = teller.beat()
    assert beat.pages == ()
    assert beat.version == teller.terms.first


def test_everybody_sees_the_table(teller: Teller) -> None:
    seen = SliceMap()
    for page in teller.pages(PAGES * BalancerSettings().map_every):
        seen.apply(page)
    assert seen.is_complete
    assert seen.owners == teller.owners.of
    assert seen.terms.tolist() == teller.owners.terms
