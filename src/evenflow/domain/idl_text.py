"""The IDL of everything that travels: for programs that know DDS and nothing of Evenflow.

The text is made from the same definitions as the codec, so it cannot be wrong about a field.
``docs/evenflow.idl`` holds it; ``python -m evenflow.domain.idl_text`` prints it. ``idlc`` makes
types for C, C++ or Python of it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from evenflow.domain import channels
from evenflow.domain.codec import codec_of
from evenflow.model.sample import Sample
from evenflow.model.wire import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenflow.domain.channels import Channel

_NAMES: Final = {"bool": "boolean", "uint8": "octet", "float64": "double"}
SAMPLE: Final = {
    "writer": Kind("uint64"),
    "serial": Kind("uint64"),
    "epoch": Kind("uint64"),
    "slices": Kind("uint32", sequence=True),
    "counts": Kind("uint32", sequence=True),
    "firsts": Kind("uint64", sequence=True),
    "ids": Kind("int64", sequence=True),
    "times": Kind("int64", sequence=True),
    "sender_offsets": Kind("int32", sequence=True),
    "senders": Kind("uint8", sequence=True),
    "payload_offsets": Kind("int32", sequence=True),
    "payloads": Kind("uint8", sequence=True),
}
"""The members of a sample of items, which is its own codec (:mod:`evenflow.model.sample`)."""
_HEAD: Final = """\
// The types of Evenflow's DDS topics, as they travel: plain CDR, XCDR version 1.
// Made by `python -m evenflow.domain.idl_text`. What the fields mean is in docs/protocol.md and in
// evenflow.model.messages; docs/domain.md has the quality of service of each topic.
"""


def idl_text() -> str:
    """The whole text."""
    structs = [
        _struct(Sample, SAMPLE, ["evenflow/data/TOPIC, evenflow/replay/TOPIC"]),
        *(
            _struct(
                channel.message_type,
                {one.name: one.kind for one in codec_of(channel.message_type).fields},
                list(_notes(channel)),
            )
            for channel in sorted(channels.CONTROL, key=lambda one: one.message_type.__name__)
        ),
    ]
    return f"{_HEAD}module evenflow {{\n\n" + "\n\n".join(structs) + "\n\n};\n"


def _notes(channel: Channel) -> Iterator[str]:
    kept = f", transient local, {channel.kept} kept" if channel.kept else ", volatile"
    yield f"{channel.name}: reliable{kept}{', liveliness' if channel.liveliness else ''}"


def _struct(message_type: type[Any], fields: Mapping[str, Kind], notes: list[str]) -> str:
    head = [f"  // {note}" for note in notes]
    members = [
        f"    {'@key ' if kind.key else ''}{_type(kind)} {name};" for name, kind in fields.items()
    ]
    return "\n".join([*head, f"  @final struct {message_type.__name__} {{", *members, "  };"])


def _type(kind: Kind) -> str:
    name = _NAMES.get(kind.idl, kind.idl)
    return f"sequence<{name}>" if kind.sequence else name


if __name__ == "__main__":
    sys.stdout.write(idl_text())
