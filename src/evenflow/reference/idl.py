"""The types of the domain as IDL, from the messages themselves.

Plain CDR, little endian, XCDR version 1; the names of DDS topics and their quality of service stand
above each type.
"""

from __future__ import annotations

from dataclasses import fields
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

from evenflow.domain import channels
from evenflow.model.wire import Kind
from evenflow.reference.attributes import documented, first_sentence

if TYPE_CHECKING:
    from evenflow.domain.channels import Channel

NAMES: Final = {
    "bool": "boolean",
    "uint8": "octet",
    "uint32": "uint32",
    "uint64": "uint64",
    "int64": "int64",
    "float64": "double",
    "string": "string",
}
SAMPLE: Final = """\
  // Items of many slices as columns, of one publisher and one epoch, sorted by slice.
  // Topics evenflow/data/TOPIC and evenflow/replay/TOPIC; partition: the node that they are for.
  @final struct Sample {
    uint64 writer;                    // one run of a publisher
    uint64 serial;                    // number of the sample at its writer
    uint64 epoch;
    sequence<uint32> slices;          // of each run, ascending
    sequence<uint32> counts;          //   how many items
    sequence<uint64> firsts;          //   the number of the first one
    sequence<int64>  ids;             // of each item
    sequence<int64>  times;           //   microseconds since 1970
    sequence<int32>  sender_offsets;  //   one more than items, from 0
    sequence<octet>  senders;         //   UTF-8, one after the other
    sequence<int32>  payload_offsets;
    sequence<octet>  payloads;        //   one after the other; then headers, if any: contract.md
  };
"""


def idl() -> str:
    """The whole file."""
    head = (
        "// Everything that travels in an Evenflow domain. Written by"
        " 'python -m evenflow.reference docs'.\n"
        "// What a publisher that is not ours has to do with it: contract.md.\n"
    )
    structs = "\n".join(_struct(channel) for channel in channels.CONTROL)
    return f"{head}module evenflow {{\n{SAMPLE}\n{structs}}};\n"


def _struct(channel: Channel) -> str:
    kind = channel.message_type
    texts = documented(kind)
    which = "the newest of each key" if channel.keyed else f"the last {channel.kept}"
    kept = f", {which} kept for late readers" if channel.kept else ""
    lines = [
        _comment(first_sentence(kind)),
        f"  // Topic {channel.name}{kept}.",
        f"  @final struct {kind.__name__} {{",
    ]
    hints = get_type_hints(kind, include_extras=True)
    for one in fields(kind):
        if one.name in texts:
            lines.append(_comment(texts[one.name], "    "))
        lines.append(f"    {_type(hints[one.name])} {one.name};")
    return "\n".join([*lines, "  };\n"])


def _type(hint: Any) -> str:
    kind = next(one for one in get_args(hint) if isinstance(one, Kind))
    name = NAMES[kind.idl]
    key = "@key " if kind.key else ""
    return f"{key}sequence<{name}>" if kind.sequence else f"{key}{name}"


def _comment(text: str, indent: str = "  ") -> str:
    start = f"{indent}// "
    return fill(text.replace("`", ""), 100, initial_indent=start, subsequent_indent=start)
