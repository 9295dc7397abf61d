"""Any datagram and any type, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from evenflow.bridge.protocol import datagrams as dg
from evenflow.bridge.protocol.device_types import FORMATS, DeviceType, Field, device_type
from evenflow.bridge.protocol.kinds import (
    LONGEST_HEARTBEAT_MS,
    MOST_ENTITIES,
    MOST_RUN,
    MOST_SESSION,
    SHORTEST_HEARTBEAT_MS,
    Fault,
    Refusal,
    Role,
)

u32 = st.integers(0, (1 << 32) - 1)
u64 = st.integers(0, (1 << 64) - 1)
runs = st.integers(0, MOST_RUN)
guids = st.binary(min_size=12, max_size=12)
sessions = st.integers(0, MOST_SESSION)
entities = st.integers(0, MOST_ENTITIES - 1)
counts = st.integers(0, MOST_ENTITIES)


def texts(most: int, least: int = 0) -> st.SearchStrategy[str]:
    """Printable text, bounded in bytes."""
    letters = st.text(st.characters(exclude_categories=("C", "Z")), min_size=least, max_size=most)
    return letters.filter(lambda text: least <= len(text.encode()) <= most)


names = texts(64, 1)
identifiers = st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True)


@st.composite
def types(draw: st.DrawFn) -> DeviceType:
    members = draw(st.lists(identifiers, min_size=1, max_size=8, unique=True))
    kinds = st.sampled_from((*FORMATS, "text"))
    fields = []
    for name in members:
        kind = draw(kinds)
        fields.append(Field(name, kind, draw(st.integers(1, 255)) if kind == "text" else 0))
    return device_type(draw(identifiers).capitalize(), fields)


bodies = st.one_of(
    st.builds(
        dg.Connect,
        names,
        runs,
        st.integers(0, 255),
        st.integers(SHORTEST_HEARTBEAT_MS, LONGEST_HEARTBEAT_MS),
        texts(64),
        st.booleans(),
    ),
    st.builds(dg.Accepted, names, u64, u64, counts),
    st.builds(dg.Refused, st.sampled_from(Refusal), runs, runs, st.integers(0, 65535), texts(72)),
    st.builds(dg.Create, entities, st.sampled_from(Role)),
    st.builds(dg.SetTopic, entities, st.booleans(), texts(128, 1)),
    st.builds(dg.SetType, entities, types()),
    st.builds(dg.Done, st.sampled_from(Fault)),
    st.builds(dg.Data, entities, u32, st.binary(max_size=1000)),
    st.builds(dg.Item, entities, st.integers(1, MOST_RUN), runs, u64, st.binary(max_size=1000)),
    st.builds(dg.Safe, entities, runs),
    st.builds(dg.Settle, entities, names),
    st.builds(dg.Settled, entities, names, runs),
    st.builds(dg.Heartbeat, u32, u32, u32, u64, texts(64)),
    st.builds(dg.Alive, u32, u32, counts),
    st.builds(dg.Moved, texts(64), u32),
    st.builds(dg.Adopt, names, runs, u64, counts),
    st.builds(dg.Served, names, runs),
    st.builds(dg.Goodbye, runs, texts(64)),
    st.just(dg.Bye()),
)
