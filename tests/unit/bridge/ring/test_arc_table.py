"""Tables of arcs: which is newer, and what in one is of use."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from evenflow.bridge.ring.arc_table import NO_ARCS, arc_table, given_by, is_newer, of_use, told_by
from evenflow.bridge.ring.circle import Circle
from evenflow.bridge.ring.identifiers import hashed
from evenflow.domain.shape import fault_of
from evenflow.model.messages import ArcTable

TABLES = st.builds(
    arc_table,
    st.dictionaries(st.integers(0, 63), st.sampled_from("abc"), max_size=4),
    st.integers(0, 2),
    st.integers(0, 2),
)


@given(st.lists(TABLES, min_size=1, max_size=4))
def test_whatever_comes_first_the_same_table_is_kept(tables: list[ArcTable]) -> None:
    kept = set()
    for order in permutations(tables):
        newest = NO_ARCS
        for table in order:
            newest = table if is_newer(table, newest) else newest
        kept.add(newest)
    assert len(kept) == 1
    (newest,) = kept
    best = max((one.term, one.number) for one in tables)
    assert (newest.term, newest.number) == best or (best == (0, 0) and newest is NO_ARCS)


@given(TABLES)
def test_a_table_is_a_message_and_comes_back_as_it_was(table: ArcTable) -> None:
    assert fault_of(table) == ""
    assert arc_table(given_by(table), table.term, table.number) == table
    assert not is_newer(told_by(table, "x"), table)
    assert not is_newer(table, told_by(table, "x"))


@given(
    st.sets(st.sampled_from("abcd"), min_size=1),
    st.dictionaries(st.integers(0, 63), st.sampled_from("abcdx")),
)
def test_what_is_left_out_makes_no_difference_and_all_that_is_left_does(
    names: set[str], table: dict[int, str]
) -> None:
    places = {name: hashed(6)(name, 3) for name in names}
    kept = of_use(places, table, 6)
    assert kept.items() <= table.items()

    def owners(given_away: dict[int, str]) -> list[str]:
        circle = Circle(places, given_away, 6)
        return [circle.holder_of(identifier) for identifier in range(64)]

    assert owners(kept) == owners(table)
    for end in kept:
        fewer = {other: taker for other, taker in kept.items() if other != end}
        assert owners(fewer) != owners(table)
