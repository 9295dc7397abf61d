"""What selections cost in messages, counted on overlays that one can count by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evenflow_experiments.sedax.costs.messages import GOSSIP, Links, count, decision

# Five nodes: one in the middle, linked with all; the four corners around it, linked in a ring.
STAR = np.array([[0.5, 0.5], [0.1, 0.1], [0.9, 0.12], [0.88, 0.9], [0.12, 0.88]])


@pytest.fixture
def links() -> Links:
    return Links(STAR, 1)


def test_a_message_goes_greedily_to_whoever_is_closest(links: Links) -> None:
    assert links.route(1, np.array([0.9, 0.9])) == (3, 2)
    assert links.route(1, np.array([0.15, 0.15])) == (1, 0)
    assert links.route(0, np.array([0.9, 0.9])) == (3, 1)


def test_a_flood_crosses_every_link_both_ways_but_those_it_came_by(links: Links) -> None:
    assert links.flood() == 2 * 8 - 4


def test_each_selection_costs_what_it_asks(links: Links) -> None:
    queried = np.array([[0.9, 0.9], [0.15, 0.15]])
    assert decision(links, "individual", 1, queried) == 4
    assert decision(links, "local", 1, queried) == 4  # the own cell is the second
    around = {node: links.around(node) for node in range(5)}
    assert around == {0: 8, 1: 6, 2: 6, 3: 6, 4: 6}
    assert decision(links, "regional", 1, queried) == 6 + 4 + 6
    assert decision(links, "global", 1, queried) == 12 + 1 + 1 + 1 + 2


def test_asking_costs_less_than_flooding_the_larger_the_overlay_the_more() -> None:
    small, large = (
        {each: count(nodes, each, 1, 20) for each in ("local", "regional", "global", GOSSIP)}
        for nodes in (20, 200)
    )
    assert large["local"] < large["regional"]
    assert small["global"] / small["local"] < large["global"] / large["local"]
    assert large[GOSSIP] > 50 * small[GOSSIP]
