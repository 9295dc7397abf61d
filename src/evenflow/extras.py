"""The extras of the package: which libraries each of them brings, and who must say so.

``pip install evenflow`` brings what a publisher, a node or a balancer needs. What needs more says
which extra brings it, by :class:`~evenflow.errors.MissingExtra`, instead of failing on an import.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from evenflow.errors import MissingExtra

EXTRAS: Final[dict[str, tuple[str, ...]]] = {
    "events": ("cel_expr_python",),
    "experiments": ("matplotlib", "numba", "PIL"),
    "mobile": ("cryptography", "qh3"),
    "spark": ("fastavro", "pandas", "pyspark"),
    "store": ("scipy",),
}
"""The importable packages of each extra; pyproject.toml names their distributions."""


def require(*extras: str) -> None:
    """Raise `MissingExtra` unless everything is there that some extras bring."""
    missing = {
        extra: [module for module in EXTRAS[extra] if find_spec(module) is None] for extra in extras
    }
    if any(missing.values()):
        lacking = ",".join(extra for extra in extras if missing[extra])
        raise MissingExtra(lacking, [module for some in missing.values() for module in some])


def explained(error: ModuleNotFoundError) -> ImportError:
    """Return the error to raise in place of a failed import: it names the extra, if one helps."""
    module = (error.name or "").partition(".")[0]
    for extra, modules in EXTRAS.items():
        if module in modules:
            return MissingExtra(extra, [module])
    return error
