"""Who may import whom. The layers are the design, so a test walks every import of the package."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import evenflow

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(evenflow.__file__).parent

# From the top: a package may import its own line and those below. Test doubles know all the others,
# and nobody knows them.
LAYERS = (
    {"testing"},
    {"cli", "fleet", "console", "apps", "__main__", "__init__"},
    {"durable"},
    {"spark", "mobile", "bridge", "qos", "overlay"},
    {"slices", "autonomic", "balance"},
    {"domain"},
    {
        "model",
        "errors",
        "extras",
        "registry",
        "config",
        "query_options",
        "clock",
        "closing",
        "processes",
    },
)
RANK = {package: rank for rank, layer in enumerate(LAYERS) for package in layer}

# The parts meet in the domain and nowhere else. The store's tables stand beside Spark's source, not
# on it.
APART = {"spark", "mobile", "bridge", "qos", "overlay"}
STRANGERS = [APART, {"durable", "spark"}]

# Libraries that are hidden behind one place.
HIDDEN = {
    "cyclonedds": {"domain"},
    "pyspark": {"spark", "durable", "fleet"},
    "aioquic": {"mobile"},
    "qh3": {"mobile"},
}


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the full dotted name of everything a module of ``package`` imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1]
            prefix = ".".join(base) if node.level else ""
            origin = ".".join(part for part in (prefix, node.module) if part)
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def faults(source: str, module: str) -> list[str]:
    """Say which imports of a module break the layers; ``module`` is as in ``domain.codec``."""
    owner = module.split(".", maxsplit=1)[0]
    found = []
    for name in imported(ast.parse(source), f"evenflow.{module}".rpartition(".")[0]):
        root, *inner = name.split(".")
        if root in HIDDEN and owner not in HIDDEN[root]:
            found.append(f"{module} imports {root}, which belongs to {sorted(HIDDEN[root])}")
        if root == "evenflow" and inner:
            found.extend(_misplaced(module, owner, inner[0]))
    return found


def _misplaced(module: str, owner: str, target: str) -> Iterator[str]:
    if target not in RANK or target == owner:  # a name of the root package, or its own package
        return
    if RANK[target] < RANK[owner]:
        yield f"{module} imports {target} from a layer above"
    elif any({owner, target} <= parts for parts in STRANGERS):
        yield f"{module} imports {target}; the parts do not know one another"


def modules() -> list[tuple[str, Path]]:
    named = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        named.append((".".join(parts), path))
    return named


@pytest.mark.parametrize(("module", "path"), modules(), ids=[name for name, _ in modules()])
def test_module_keeps_to_its_layer(module: str, path: Path) -> None:
    assert module.split(".", maxsplit=1)[0] in RANK, (
        f"{module} stands in no layer: name its package in LAYERS"
    )
    assert faults(path.read_text(encoding="utf-8"), module) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("domain.codec", "import evenflow.slices.node.track"),
        ("domain.codec", "from evenflow import cli"),
        ("domain.codec", "from evenflow.cli import main"),
        ("model.batch", "from ..domain import codec"),
        ("config", "def late():\n    from evenflow.balance import ALGORITHMS"),
        ("slices.node", "from cyclonedds.core import Entity"),
        ("slices.node", "from evenflow.testing.cluster import Net"),
        ("bridge.node", "import pyspark"),
        ("mobile.gateway", "from evenflow.bridge import ring"),
        ("durable.live", "from evenflow.spark.options import Options"),
        ("slices.consumer.follower", "from evenflow.spark.options import EARLIEST"),
    ],
)
def test_a_broken_layer_is_found(module: str, source: str) -> None:
    assert len(faults(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("cli.node", "from evenflow.slices.node.node import ProcessingNode"),
        ("slices.node", "from evenflow.balance import base\nfrom . import track"),
        ("slices.node", "from evenflow.domain import bus\nimport numpy"),
        ("domain.cyclone", "from cyclonedds.core import Entity"),
        ("testing.cluster", "from evenflow.slices import handover"),
    ],
)
def test_a_sound_import_is_accepted(module: str, source: str) -> None:
    assert faults(source, module) == []
