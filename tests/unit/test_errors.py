from __future__ import annotations

import inspect
import pickle

import pytest

from evenflow import errors
from evenflow.errors import ConfigError, EvenflowError
from evenflow.errors.telling import MOST_CHARACTERS, error_text

CLASSES = [
    kind
    for kind in vars(errors).values()
    if inspect.isclass(kind) and issubclass(kind, EvenflowError) and kind is not EvenflowError
]


@pytest.mark.parametrize("kind", CLASSES)
def test_the_tree_on_top_is_the_tree_below(kind: type[EvenflowError]) -> None:
    drawn = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        name = line.strip("│├└─ ").split(" ")[0]
        if name in vars(errors):
            depth = line.index(name) // 4 - 1
            path[depth:] = [name]
            drawn[name] = path[depth - 1] if depth else "Exception"
    assert drawn[kind.__name__] == kind.__bases__[0].__name__
    assert kind.__name__ in errors.__all__


def test_an_error_survives_pickling_with_its_context() -> None:
    error = ConfigError("node.app", "x", "must be 'MODULE:CALLABLE'", source="site.toml")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is ConfigError
    assert str(copy) == str(error)
    assert (copy.key, copy.value, copy.source) == ("node.app", "x", "site.toml")


class Mute(Exception):
    """Says nothing."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("bad"), "ValueError: bad"),
        (ValueError("\udcff"), "ValueError: \\udcff"),
        (Mute(), "Mute, whose text cannot be had (RuntimeError)"),
        (KeyError("\udcff"), "KeyError: '\\udcff'"),
    ],
)
def test_what_an_application_raises_can_be_sent(error: Exception, text: str) -> None:
    assert error_text(error) == text


@pytest.mark.parametrize("text", ["x", "\udcff", "\U0001f697"])
def test_much_of_it_is_cut(text: str) -> None:
    assert len(error_text(ValueError(text * 10_000)).encode()) <= 4 * MOST_CHARACTERS
