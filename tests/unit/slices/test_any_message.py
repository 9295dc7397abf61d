"""Any message that passes the door, whatever its numbers: no core raises, nobody talks without end.

After the bad messages a normal exchange still succeeds.
"""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

from hypothesis import given, settings
from hypothesis import strategies as st

from evenflow.domain.shape import fault_of
from evenflow.model.messages import (
    Ack,
    Beat,
    Commit,
    EpochClose,
    MapPage,
    NodeReport,
    Order,
    ReplayAnswer,
    ReplayRequest,
    SliceLoads,
    SliceState,
    Step,
)
from evenflow.model.wire import Kind
from evenflow.testing.cluster import TOPIC, SimCluster
from evenflow.testing.network import Parcel

TO_NODES = (EpochClose, ReplayAnswer, Order, MapPage, Beat)
TO_BALANCERS = (Ack, NodeReport, SliceLoads, Beat)
TO_PUBLISHERS = (Commit, ReplayRequest, MapPage)
NEWEST_TERM = 1 << 60
EXTREME = (0, 1, 2, 5, 6, 255, 2**20 - 1, 2**31, 2**32 - 1, 2**53, 2**60, 2**63, 2**64 - 1)


@st.composite
def any_of(draw: st.DrawFn, types: tuple[type[Any], ...]) -> Any:
    kind = draw(st.sampled_from(types))
    rows = draw(st.integers(0, 4))
    hints = get_type_hints(kind, include_extras=True)
    values = {name: draw(_value(get_args(hint)[1], rows)) for name, hint in hints.items()}
    values["topic"] = TOPIC
    if "step" in values:
        values["step"] = draw(st.sampled_from(Step))
    if "states" in values:
        values["states"] = tuple(draw(st.sampled_from(SliceState)) for _ in range(rows))
    if "writer" in values:
        values["writer"] = 1
    if "layout" in values:
        values["layout"] = ""
    return kind(**values)


def _value(kind: Kind, rows: int) -> st.SearchStrategy[Any]:
    texts = st.sampled_from(["", "node-1~1", "node-2~2", "stranger~1"])
    top = {"uint8": 255, "uint32": 2**32 - 1}.get(kind.idl, 2**64 - 1)
    scalar: st.SearchStrategy[Any] = st.sampled_from([n for n in EXTREME if n <= top])
    if kind.idl == "string":
        scalar = texts
    elif kind.idl == "bool":
        scalar = st.booleans()
    elif kind.idl == "float64":
        scalar = st.sampled_from([0.0, -1.0, 1e308, float("inf"), float("nan")])
    return st.lists(scalar, min_size=rows, max_size=rows).map(tuple) if kind.sequence else scalar


@settings(max_examples=min(100, settings.default.max_examples))
@given(st.data())
def test_no_core_is_harmed_by_what_passes_the_door(data: st.DataObject) -> None:
    cluster = SimCluster(publishers=1)
    balancer = cluster.start_balancer()
    nodes = [cluster.start_node() for _ in range(2)]
    cluster.run_until(lambda: False, 2.0)
    writer = next(iter(cluster.publishers))
    doors = ((nodes[0], TO_NODES), (balancer, TO_BALANCERS), (writer, TO_PUBLISHERS))
    for _ in range(6):
        to, types = data.draw(st.sampled_from(doors))
        message = data.draw(any_of(types))
        if not fault_of(message, NEWEST_TERM):
            before = cluster.network.posted
            cluster._arrive(Parcel(to, message))
            assert cluster.network.posted - before < 100
    cluster.run_until(lambda: False, 2.0)
    for _ in range(2):
        cluster.nodes[cluster.start_node()].core.poll(cluster.now)
    cluster.run_until(lambda: False, 20.0)
    assert len(cluster.leaders) == 1
    assert set(cluster.leaders[0].core.owners.of) <= cluster.nodes.keys()
