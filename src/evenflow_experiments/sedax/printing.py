"""Rows of figures for people: what a row is about in one column, the paper's figures dim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console

from evenflow_experiments.report import PAPER, print_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FIGURES = (
    "correlation",
    "one_copy_more",
    "q5",
    "q5_pooled",
    "mean",
    "q95",
    "q95_pooled",
    "max",
    "bound",
    "moved",
    "messages",
    "nothing_copied",
    "copied_to_primary",
    "copied_to_another",
    "nothing_copied_chosen",
    "seconds",
    "microseconds_per_topic",
    "memory_gib",
)
"""Columns of figures, in the order in which they are printed."""
WIDTH = 120
"""Characters that every table fits into."""
ASIDE = {"table", "runs", "highest", "ci95", "violations", "course", PAPER, *FIGURES}
"""What is not part of a row's name."""


def print_rows(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows; those with other labels get a table of their own."""
    kinds: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        kinds.setdefault(tuple(key for key in row if key not in ASIDE), []).append(row)
    for labels, alike in kinds.items():
        shown = [name for name in FIGURES if any(name in row for row in alike)]
        beside = list(dict.fromkeys(name for row in alike for name in _paper(row)))
        lines = [
            [
                ", ".join(_label(row[label]) for label in labels),
                *(_figure(row.get(name)) for name in shown),
                *(_figure(_paper(row).get(name)) for name in beside),
            ]
            for row in alike
        ]
        columns = [", ".join(labels), *shown, *beside]
        print_table(title, columns, lines, note=_note(alike), console=_console())


def _console() -> Console:
    """Rows broken over several lines cannot be compared, so a narrow output scrolls instead."""
    usual = Console()
    return usual if usual.width >= WIDTH else Console(width=WIDTH)


def _paper(row: Mapping[str, Any]) -> dict[str, float | None]:
    said = row.get(PAPER)
    if isinstance(said, dict):
        return {f"{PAPER} {name}": value for name, value in said.items()}
    return {} if said is None else {PAPER: said}


def _label(value: object) -> str:
    return "-" if value is None else str(value)


def _figure(value: float | None) -> str | None:
    if value is None:
        return None
    return f"{value:.4f}" if abs(value) < 1 else f"{value:.1f}"


def _note(rows: Sequence[Mapping[str, Any]]) -> str:
    if "runs" not in rows[0]:
        return ""
    violations = sum(row.get("violations", 0) for row in rows)
    return f"loads in %; {rows[0]['runs']} runs; equation 11 violated {violations} times"
