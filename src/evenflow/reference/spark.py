"""The options of the Spark sources and sinks.

Their names are those that the code accepts: what is handed to `known_options`, found in the source,
so that no Spark is needed. Their meanings stand in the tables of the documents.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

import evenflow
from evenflow.reference.attributes import constants
from evenflow.reference.pages import table

ROOT: Final = Path(evenflow.__file__).parent
SOURCES: Final = {"spark": ("evenflow", "spark.md"), "durable": ("evenflow-store", "store.md")}
"""The format that a package offers, and where its options are explained."""

Explained = dict[str, tuple[str, str]]
"""Default and meaning of options."""


def spark_options(docs: Path) -> str:
    """Every option of every source and sink."""
    parts = ["## Spark options"]
    for package, (name, document) in SOURCES.items():
        tables = explained((docs / document).read_text(encoding="utf-8"))
        for path in sorted((ROOT / package).rglob("*.py")):
            for what, options in accepted(path.read_text(encoding="utf-8")).items():
                texts = fitting(tables, options)
                unknown = ("", f"[{document}]({document})")
                rows = [(f"`{one}`", *texts.get(one, unknown)) for one in options]
                head = f"### `{name}`: {what[:1].lower()}{what[1:]}"
                parts += ["", head, "", table(("option", "default", "meaning"), rows)]
    return "\n".join(parts)


def accepted(source: str) -> dict[str, tuple[str, ...]]:
    """The options that classes of a module accept, by what the class is."""
    if "known_options(" not in source:
        return {}
    known = constants(source)
    found: dict[str, tuple[str, ...]] = {}
    for one in ast.walk(ast.parse(source)):
        if not isinstance(one, ast.ClassDef):
            continue
        for call in ast.walk(one):
            match call:
                case ast.Call(func=ast.Name(id="known_options"), args=[_, ast.Name(id=name), *_]):
                    what = (ast.get_docstring(one) or one.name).splitlines()[0].rstrip(".")
                    found[what] = tuple(known.get(name, ()))
    return found


def explained(text: str) -> list[Explained]:
    """The tables of options that a document has."""
    found: list[Explained] = []
    rows: Explained | None = None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            rows = None
        elif cells[0].startswith("option"):
            found.append(rows := {})
        elif rows is not None and len(cells) >= 3:
            told = (cells[1], " ".join(cells[2:]))
            rows |= dict.fromkeys(re.findall(r"`(\w+)`", cells[0]), told)
    return found


def fitting(tables: list[Explained], options: tuple[str, ...]) -> Explained:
    """What the tables say of some options; the one counts most that has most of them."""
    ranked = sorted(tables, key=lambda one: len(one.keys() & set(options)))
    return {name: told for one in ranked for name, told in one.items()}
