"""The rooms of the overlay import one another without a circle; pure modules touch no shell."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import evenflow.overlay

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(evenflow.overlay.__file__).parent
PREFIX = "evenflow.overlay."

# From the ground up; what a module imports lies in its own line or above it here.
ROOMS = (
    {"values"},
    {"space"},
    {"protocol.messages"},
    {"protocol"},
    {"members"},
    {"replica", "ports"},  # a port speaks of records, a replica of its port
    {"shelf"},
    {"balancing"},
    {"broker"},
)
RANK = {room: rank for rank, rooms in enumerate(ROOMS) for room in rooms}
RANK["client"] = RANK["protocol"] + 1

SHELLS = {
    "protocol.connection",
    "broker.broker",
    "broker.departures",
    "broker.disk",
    "broker.full_disk",
    "broker.local",
    "broker.move_history",
    "broker.namesakes",
    "client.aio",
    "client.blocking",
    "client.link",
}
IMPURE = {
    "asyncio", "io", "logging", "os", "pathlib", "shutil", "socket", "sqlite3", "subprocess", "sys",
    "tempfile", "threading", "time",
}  # fmt: skip


def modules() -> list[str]:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        if name:
            found.append(name)
    return found


def imports(name: str) -> Iterator[str]:
    path = SOURCE.joinpath(*name.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(name: str) -> str:
    return max((each for each in RANK if f"{name}.".startswith(f"{each}.")), key=len)


@pytest.mark.parametrize("name", modules())
def test_a_module_stands_on_the_rooms_below(name: str) -> None:
    below = [each.removeprefix(PREFIX) for each in imports(name) if each.startswith(PREFIX)]
    assert [other for other in below if RANK[room(other)] > RANK[room(name)]] == []
    if room(name) == "client":
        assert {room(other) for other in below} <= {
            "client", "protocol", "protocol.messages", "space", "values",
        }  # fmt: skip


@pytest.mark.parametrize("name", [name for name in modules() if name not in SHELLS])
def test_a_pure_module_touches_no_shell_clock_thread_socket_or_file(name: str) -> None:
    found = set(imports(name))
    assert {each.split(".")[0] for each in found} & IMPURE == set()
    assert [each for each in found for shell in SHELLS if each.startswith(PREFIX + shell)] == []


def test_shells_exist() -> None:
    assert set(modules()) >= SHELLS
