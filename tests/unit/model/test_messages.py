"""The vocabulary: every message is frozen, fully annotated, and documented."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from typing import Any, get_args, get_type_hints

import pytest

from evenflow.model import messages
from evenflow.model.wire import Kind

MESSAGE_TYPES = [
    kind for _, kind in inspect.getmembers(messages, dataclasses.is_dataclass)
    if kind.__module__.startswith(messages.__name__)
]  # fmt: skip
each_type = pytest.mark.parametrize("kind", MESSAGE_TYPES, ids=lambda kind: kind.__name__)


@each_type
def test_messages_are_frozen_and_slotted(kind: type[Any]) -> None:
    assert kind.__dataclass_params__.frozen
    assert "__slots__" in vars(kind)


@each_type
def test_every_field_has_a_wire_kind(kind: type[Any]) -> None:
    hints = get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        assert isinstance(get_args(hints[field.name])[1], Kind), field.name


@each_type
def test_keys_come_first_so_that_a_key_is_a_prefix(kind: type[Any]) -> None:
    hints = get_type_hints(kind, include_extras=True)
    keys = [get_args(hints[field.name])[1].key for field in dataclasses.fields(kind)]
    assert keys == sorted(keys, reverse=True)


@each_type
def test_every_message_is_in_the_table_of_the_module(kind: type[Any]) -> None:
    assert f"``{kind.__name__}``" in (messages.__doc__ or "")
    assert kind.__doc__


def test_the_package_exports_every_message_of_its_modules() -> None:
    rooms = [
        importlib.import_module(f"{messages.__name__}.{found.name}")
        for found in pkgutil.iter_modules(messages.__path__)
    ]
    defined = {
        name
        for room in rooms
        for name, kind in inspect.getmembers(room, inspect.isclass)
        if kind.__module__ == room.__name__
    }
    assert defined == set(messages.__all__)
