"""The action that brings a table of arcs to bridges."""

from __future__ import annotations

import pytest

from evenflow.autonomic.execute.executors import Surroundings
from evenflow.bridge.balancing.arcs_action import ARCS, arcs_executor, arguments_of, table_of
from evenflow.bridge.ring.arc_table import NO_ARCS, arc_table
from evenflow.config import Config
from evenflow.errors import DecodeError
from evenflow.model.messages import ActionOrder, ArcTable

TABLE = arc_table({(1 << 64) - 1: "b", 5: "a"}, term=3, number=2)


def test_a_table_comes_as_it_was_sent() -> None:
    assert table_of(arguments_of(TABLE)) == TABLE


@pytest.mark.parametrize(
    "args",
    [
        b"",
        b"[]",
        b'{"term": 1}',
        b'{"term":1,"number":1,"arcs":[18446744073709551616],"takers":[0],"bridges":["a"]}',
        b'{"term":1,"number":1,"arcs":[-1],"takers":[0],"bridges":["a"]}',
        b'{"term":1,"number":1,"arcs":[2,1],"takers":[0,0],"bridges":["a"]}',
        b'{"term":1,"number":1,"arcs":[1],"takers":[1],"bridges":["a"]}',
        b'{"term":1,"number":1,"arcs":[1],"takers":[],"bridges":["a"]}',
        b'{"term":1,"number":99999999999999999999,"arcs":[],"takers":[],"bridges":[]}',
    ],
)
def test_what_is_no_table_is_refused(args: bytes) -> None:
    with pytest.raises(DecodeError, match=r"bridge\.arcs"):
        table_of(args)


def order(table: ArcTable, attempt: int = 1) -> ActionOrder:
    args = arguments_of(table)
    return ActionOrder(
        "plan", f"a{attempt}", attempt, "bridge/a", ARCS, args, undo=False, reason=""
    )


def test_a_bridge_takes_a_newer_table_and_refuses_an_older_one() -> None:
    taken = [NO_ARCS]
    executor = arcs_executor(lambda: taken[-1], taken.append)(Surroundings("bridge/a", Config()))
    executor.order(order(TABLE), 0.0)
    assert taken[-1] == TABLE
    assert [outcome.ok for outcome in executor.poll(0.0)] == [True]
    with pytest.raises(DecodeError, match="older than the one in use"):
        executor.order(order(arc_table({}, 3, 1), 2), 0.0)
