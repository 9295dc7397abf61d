"""The blocks of the README: programs, commands and configuration, in their order."""

from __future__ import annotations

import re
import textwrap
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

README = Path(__file__).parents[2] / "README.md"
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^    .*\n|^\n(?=    ))+", re.MULTILINE)


class Block(NamedTuple):
    """A block of the README."""

    kind: str
    """``python``, ``shell`` or ``toml``."""
    text: str
    before: str
    """The text between the block before and this one."""


def section(title: str) -> str:
    """The text of one section."""
    _, _, rest = README.read_text(encoding="utf-8").partition(f"\n## {title}\n")
    assert rest, f"the README has no section {title}"
    return rest.partition("\n## ")[0]


def blocks(title: str) -> list[Block]:
    """The blocks of one section."""
    text = section(title)
    found = [(m.start(), m.end(), m[1], m[2]) for m in _FENCED.finditer(text)]
    inside = [range(start, end) for start, end, _, _ in found]
    for match in _INDENTED.finditer(text):
        if match[0].strip() and not any(match.start() in one for one in inside):
            body = textwrap.dedent(match[0]).strip() + "\n"
            kind = "toml" if body.startswith("[") else "shell"
            found.append((match.start(), match.end(), kind, body))
    made, last = [], 0
    for start, end, kind, body in sorted(found):
        made.append(Block(kind, body, text[last:start]))
        last = end
    return made


def commands(block: Block) -> list[str]:
    """The command lines of a block, without what is said of them."""
    lines = (re.sub(r"\s+# .*", "", line).strip() for line in block.text.splitlines())
    return [line for line in lines if line]


def configuration() -> dict[str, Any]:
    """All that the README's pieces of a configuration file say, in one."""
    whole: dict[str, Any] = {}
    for block in blocks("Use"):
        if block.kind == "toml":
            _merge(whole, tomllib.loads(block.text))
    return whole


def _merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = value
