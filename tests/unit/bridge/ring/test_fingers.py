"""Chord's finger table: Figure 4, and lookups by it."""

from __future__ import annotations

from random import Random

from hypothesis import example, given
from hypothesis import strategies as st

from evenflow.bridge.ring.fingers import FingerRing

FIGURE_3 = FingerRing((1, 8, 14, 21, 32, 38, 42, 48, 51, 56), bits=6)


def test_figure_4_the_fingers_of_node_1() -> None:
    # (1 + 2 ** 5) mod 64 is 33 (the text: 38, which is the node that succeeds it).
    assert (1 + 2**5) % 64 == 33
    assert FIGURE_3.fingers[1] == (8, 8, 8, 14, 21, 38)


def test_figure_4_a_lookup_of_key_54_from_node_1() -> None:
    # Node 38 asks the last of its fingers before 54, which is 48 (the text: 56, which is after it).
    assert FIGURE_3.fingers[38] == (42, 42, 42, 48, 56, 8)
    assert FIGURE_3.lookup(1, 54) == [1, 38, 48, 51, 56]


@example({0, 1}, 0, 0)
@example({0, 1}, 0, 1)
@given(
    st.sets(st.integers(0, 255), min_size=1, max_size=40), st.integers(0, 255), st.integers(0, 39)
)
def test_a_lookup_ends_at_the_owner_wherever_it_begins(
    nodes: set[int], key: int, start: int
) -> None:
    ring = FingerRing(nodes, bits=8)
    path = ring.lookup(ring.nodes[start % len(nodes)], key)
    assert path[-1] == min(nodes, key=lambda node: (node - key) % 256)
    assert len(path) <= 2 + 8, "each hop at least halves the way"


def test_lookups_take_about_half_of_log2_hops() -> None:
    random = Random(1)
    nodes = random.sample(range(1 << 32), 256)
    ring = FingerRing(nodes, bits=32)
    paths = [ring.lookup(random.choice(nodes), random.randrange(1 << 32)) for _ in range(500)]
    asked = sum(len(path) - 2 for path in paths) / len(paths)
    assert 3 < asked < 5
