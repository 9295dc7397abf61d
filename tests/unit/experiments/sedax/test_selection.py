from __future__ import annotations

import pytest

from evenflow.errors import UnknownName
from evenflow_experiments.sedax.selection import SELECTIONS, queries_to_send


class Line:
    """Five nodes in a row; a region is a node and those beside it."""

    def nodes(self) -> list[str]:
        return list("abcde")

    def region(self, node: str) -> list[str]:
        at = self.nodes().index(node)
        return self.nodes()[max(at - 1, 0) : at + 2]

    def spots(self, node: str) -> list[tuple[str, ...]]:
        return [(node, "x"), (node, "y")]


@pytest.mark.parametrize(
    ("selection", "cells"),
    [
        ("individual", "ea"),
        ("local", "aabbee"),
        ("regional", "aabbccddee"),
        ("global", "aabbccddee"),
    ],
)
def test_who_is_asked_and_in_which_order(selection: str, cells: str) -> None:
    queried = [("e", "x"), ("a", "y")]
    found = list(SELECTIONS.get(selection)(Line(), "b", queried))
    assert "".join(spot[0] for spot in found) == cells


@pytest.mark.parametrize(
    ("selection", "own_counts", "sent"),
    [("individual", True, 10), ("local", True, 9), ("local", False, 10), ("global", True, 0)],
)
def test_the_own_cell_counts_as_a_query(selection: str, own_counts: bool, sent: int) -> None:
    assert queries_to_send(selection, 10, own_counts=own_counts) == sent


def test_an_unknown_selection_is_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'regional'"):
        queries_to_send("regionl", 1)
