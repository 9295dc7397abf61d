"""The types of Evenflow's topics from docs/evenflow.idl, for stock cyclonedds.

A C or C++ program has them from ``idlc docs/evenflow.idl``; this does the same in a few lines.
"""

import re
from pathlib import Path

from cyclonedds.core import Policy, Qos
from cyclonedds.idl import make_idl_struct, types

NAMES = {
    "boolean": bool,
    "octet": types.uint8,
    "uint32": types.uint32,
    "uint64": types.uint64,
    "int32": types.int32,
    "int64": types.int64,
    "double": types.float64,
    "string": str,
}
STRUCT = re.compile(r"struct (\w+) \{(.*?)\};", re.DOTALL)
MEMBER = re.compile(r"(@key )?(sequence<)?(\w+)>?\s+(\w+);")
COMMENT = re.compile(r"//.*")

REPRESENTATION = Policy.DataRepresentation(use_cdrv0_representation=True)
STREAM = Qos(
    Policy.Reliability.Reliable(10**9),
    Policy.Durability.Volatile,
    Policy.History.KeepAll,
    REPRESENTATION,
)
"""Items, sent once and sent again."""
KEPT = Qos(
    Policy.Reliability.Reliable(10**9),
    Policy.Durability.TransientLocal,
    Policy.History.KeepAll,
    Policy.DurabilityService(0, Policy.History.KeepLast(64), -1, -1, -1),
    REPRESENTATION,
)
"""Requests, answers and commits: who comes late is given the newest 64."""
STATE = Qos(
    Policy.Reliability.Reliable(10**9),
    Policy.Durability.TransientLocal,
    Policy.History.KeepLast(1),
    Policy.WriterDataLifecycle(autodispose=False),
    Policy.Liveliness.Automatic(5 * 10**9),
    REPRESENTATION,
)
"""Epochs: the newest of each writer counts, and who is silent for 5 s is gone."""


def load(file=Path(__file__).parents[2] / "docs" / "evenflow.idl"):
    """The types by their names."""
    text = COMMENT.sub("", Path(file).read_text())
    return {name: _struct(name, body) for name, body in STRUCT.findall(text)}


def _struct(name, body):
    members, notes = {}, {}
    for key, sequence, kind, member in MEMBER.findall(body):
        members[member] = types.sequence[NAMES[kind]] if sequence else NAMES[kind]
        notes[member] = {"key": True} if key else {}
    return make_idl_struct(name, f"evenflow::{name}", members, field_annotations=notes)
