"""What may be an application: a function that is called, and what an object needs to have state.

A coroutine function, or one with ``yield``, would run nothing when it is called, and its items
would be committed. One that calls ``sys.exit`` would end its thread without a word. Both are
failures of the application like any other.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

from evenflow.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

STATE: Final = ("give", "take", "forget")


def check_application(application: Callable[..., object] | None, shown: str = "") -> None:
    """Raise `ConfigError` when a call of it would run nothing, or its state is half there.

    Args:
        application: A function, a method, or an object that can be called; None: there is none.
        shown: How the user named it.
    """
    shown = shown or repr(application)
    for one in (application, getattr(application, "__call__", None)):  # noqa: B004 - of an object
        if inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one):
            raise ConfigError("node.app", shown, "is a coroutine function: give a plain one (def)")
        if inspect.isgeneratorfunction(one):
            raise ConfigError("node.app", shown, "has a 'yield', so calling it would run nothing")
    found = getattr(application, "__self__", application)
    there = [name for name in STATE if callable(getattr(found, name, None))]
    if {"give", "take"} <= set(there) and len(there) < len(STATE):
        raise ConfigError(
            "node.app", shown, "has give and take and no forget: state needs all three"
        )


def call(function: Callable[..., object], *arguments: Any) -> object:
    """Call something of the application's; return what it returned, when that is a result."""
    try:
        result = function(*arguments)
    except SystemExit as error:
        raise UsageError(f"the application called sys.exit({error.code!r})") from error
    if inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result):
        close = getattr(result, "close", None)
        if close is not None:
            close()
        raise UsageError(
            f"the application returned a {type(result).__name__}, so nothing of it ran: call a"
            " plain function"
        )
    return result


def state_bytes(state: object) -> bytes:
    """Return what ``give`` returned as bytes; `UsageError` when it is anything else."""
    if isinstance(state, bytes | bytearray | memoryview):
        return bytes(state)
    raise UsageError(f"give() returned a {type(state).__name__}: it must return bytes")
