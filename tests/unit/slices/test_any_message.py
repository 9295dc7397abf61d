"""Any message that passes the door, whatever its numbers: no core raises, nobody talks without end.

To every kind of process, of a topic that nodes process and of one that consumers read; made of
extreme numbers, or true messages of which some bytes were changed on the way. After the bad
messages a normal exchange still succeeds.
"""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

from hypothesis import given, settings
from hypothesis import strategies as st

from evenflow.domain.codec import codec_of
from evenflow.domain.shape import fault_of
from evenflow.errors import DecodeError
from evenflow.model import messages
from evenflow.model.messages import (
    Ack,
    Beat,
    CacheChunk,
    Commit,
    ConsumerCommit,
    CutAnswer,
    EpochClose,
    Ledger,
    MapPage,
    NewerTerm,
    NodeReport,
    Order,
    Progress,
    ReplayAnswer,
    ReplayRequest,
    SliceLoads,
    SliceState,
    Step,
    WriterCut,
    WriterRequest,
    WriterSilence,
)
from evenflow.model.sample import Sample
from evenflow.model.wire import Kind
from evenflow.testing.cluster import TOPIC, SimCluster
from evenflow.testing.network import Parcel
from evenflow.testing.serving_cluster import ServingCluster

ENDINGS = (Ledger, WriterCut)
TO_NODES = (EpochClose, ReplayAnswer, Order, MapPage, Beat, CacheChunk, *ENDINGS)
TO_BALANCERS = (Ack, NodeReport, SliceLoads, Beat, WriterSilence, CutAnswer, WriterCut)
TO_BALANCERS += (WriterRequest, NewerTerm)
TO_PUBLISHERS = (Commit, ReplayRequest, MapPage, Beat, *ENDINGS)
TO_CONSUMERS = (MapPage, Progress, EpochClose, ConsumerCommit, *ENDINGS)
OF_CONSUMERS = (ConsumerCommit, Progress)
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


def harmed_by(message: Any, cluster: SimCluster, to: str) -> bool:
    """Whether a message that passes the door makes somebody talk without end."""
    if fault_of(message, NEWEST_TERM):
        return False
    before = cluster.network.posted
    cluster._arrive(Parcel(to, message))
    return cluster.network.posted - before >= 100


def still_works(cluster: SimCluster) -> None:
    """Whatever was said: one balancer leads, and every slice has an owner that is there."""
    cluster.run_until(lambda: False, 2.0)
    for _ in range(2):
        cluster.nodes[cluster.start_node()].core.poll(cluster.now)
    cluster.run_until(lambda: False, 20.0)
    assert len(cluster.leaders) == 1
    assert set(cluster.leaders[0].core.owners.of) <= cluster.nodes.keys()


@settings(max_examples=min(40, settings.default.max_examples))
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
        assert not harmed_by(data.draw(any_of(types)), cluster, to)
    still_works(cluster)


@settings(max_examples=min(40, settings.default.max_examples))
@given(st.data())
def test_no_core_of_a_served_topic_is_harmed_either(data: st.DataObject) -> None:
    cluster = ServingCluster(publishers=1, consumers=1)
    balancer = cluster.start_balancer()
    nodes = [cluster.start_node() for _ in range(2)]
    cluster.run_until(lambda: False, 2.0)
    writer = next(iter(cluster.publishers))
    doors = (
        (nodes[0], TO_NODES + OF_CONSUMERS),
        (balancer, (*TO_BALANCERS, ConsumerCommit)),
        (writer, TO_PUBLISHERS + OF_CONSUMERS),
        ("query-0", TO_CONSUMERS),
    )
    for _ in range(6):
        to, types = data.draw(st.sampled_from(doors))
        assert not harmed_by(data.draw(any_of(types)), cluster, to)
    still_works(cluster)


@settings(max_examples=min(40, settings.default.max_examples))
@given(st.data())
def test_bytes_that_were_changed_on_the_way_harm_nobody(data: st.DataObject) -> None:
    served = data.draw(st.booleans())
    cluster = ServingCluster(publishers=1) if served else SimCluster(publishers=1)
    cluster.start_balancer()
    for _ in range(2):
        cluster.start_node()
    cluster.run_until(lambda: False, 2.0)
    for slice_id in range(cluster.slice_count):
        cluster.publish(next(iter(cluster.publishers)), slice_id)
    for _ in range(8):
        cluster.advance(0.1)
        if cluster.network.parcels:
            parcel = data.draw(st.sampled_from(cluster.network.parcels))
            message = data.draw(changed(parcel.what))
            if message is not None:
                assert not harmed_by(message, cluster, parcel.to)
        while cluster.network.parcels:
            cluster.network.deliver(0)
    still_works(cluster)


@st.composite
def changed(draw: st.DrawFn, message: Any) -> Any:
    """A message some bytes of which are others; None when nobody takes it for one."""
    if isinstance(message, Sample) or not hasattr(messages, type(message).__name__):
        return None
    codec: Any = codec_of(type(message))
    encoded = bytearray(codec.encode(message))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(4, len(encoded) - 1))
        encoded[place] = draw(st.sampled_from([0, 1, 127, 128, 255]))
    try:
        return codec.decode(bytes(encoded), NEWEST_TERM)
    except DecodeError:
        return None
