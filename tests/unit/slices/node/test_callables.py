"""What may be an application, and what counts as a result of it."""

from __future__ import annotations

import functools
import sys
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from evenflow import Node
from evenflow.errors import ConfigError, UsageError
from evenflow.slices.node.application.callables import call, check_application, state_bytes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator


async def coroutine(_batch: object) -> None: ...


def generator(_batch: object) -> Iterator[int]:
    yield 1


async def both(_batch: object) -> AsyncIterator[int]:
    yield 1


class Awaited:
    async def __call__(self, _batch: object) -> None: ...


class HalfStateful:
    def __call__(self, _batch: object) -> None: ...

    def give(self, _slice: int) -> bytes:
        return b""

    def take(self, _slice: int, _state: bytes | None) -> None: ...


@pytest.mark.parametrize(
    ("application", "said"),
    [
        (coroutine, "coroutine function"),
        (both, "coroutine function"),
        (Awaited(), "coroutine function"),
        (functools.partial(coroutine), "coroutine function"),
        (generator, "'yield'"),
        (HalfStateful(), "no forget"),
        (HalfStateful().__call__, "no forget"),
    ],
)
def test_what_would_run_nothing_or_half_is_refused(
    application: Callable[..., object], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        check_application(application, "app:it")
    with pytest.raises(ConfigError, match=said):
        Node("items", application)


def test_functions_and_objects_are_taken() -> None:
    for application in (print, len, list.append, functools.partial(print), None):
        check_application(application)


@pytest.mark.parametrize("kind", [coroutine, generator, both])
def test_what_ran_nothing_has_failed(kind: Callable[..., Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UsageError, match="nothing of it ran"):
            call(kind, None)


def test_an_application_that_ends_the_process_has_failed() -> None:
    with pytest.raises(UsageError, match=r"sys.exit\(3\)"):
        call(sys.exit, 3)
    assert call(len, "ab") == 2


@pytest.mark.parametrize("state", [5, "text", {"a": 1}, None, [1, 2]])
def test_a_state_is_bytes(state: object) -> None:
    with pytest.raises(UsageError, match="must return bytes"):
        state_bytes(state)
    assert state_bytes(bytearray(b"ab")) == state_bytes(memoryview(b"ab")) == b"ab"
