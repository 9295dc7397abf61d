"""Calling what others offer (planners, algorithms) with settings that an operator wrote.

The maker's own signature says what it takes: names, which of them are needed, and their kinds. What
does not fit is refused in words, under the key that stands in the file, before the maker is called.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final, TypeVar

from evenflow.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")

KINDS: Final[dict[str, tuple[tuple[type[Any], ...], str]]] = {
    "bool": ((bool,), "must be true or false"),
    "int": ((int,), "must be a whole number"),
    "float": ((int, float), "must be a number"),
    "str": ((str,), "must be a text"),
}
"""What is checked, by the name of a parameter's type; others are the maker's own affair."""


def call_with(make: Callable[..., T], settings: Mapping[str, Any], key: str) -> T:
    """Call a maker with an operator's settings.

    Args:
        make: The maker; takes keywords.
        settings: What the operator wrote.
        key: Where that stands, as in ``planners.items``.

    Raises:
        ConfigError: A setting is unknown, missing, of the wrong kind, or refused by the maker.
    """
    taken = inspect.signature(make).parameters
    anything = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values())
    known = [name for name, one in taken.items() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    for name, value in settings.items():
        if name not in known and not anything:
            hint = did_you_mean(name, known)
            allowed = f"unknown setting{hint} (known: {', '.join(known) or 'none'})"
            raise ConfigError(f"{key}.{name}", value, allowed)
        if name in known:
            _check_kind(f"{key}.{name}", value, taken[name].annotation)
    for name in known:
        if taken[name].default is inspect.Parameter.empty and name not in settings:
            raise ConfigError(f"{key}.{name}", None, "must be given")
    try:
        return make(**settings)
    except ConfigError as error:
        last = error.key.rpartition(".")[2]
        if last not in settings:
            raise
        raise ConfigError(f"{key}.{last}", error.value, error.allowed) from None
    except (TypeError, ValueError) as error:
        raise ConfigError(key, dict(settings), f"is refused: {error}") from error


def _check_kind(key: str, value: object, annotation: Any) -> None:
    kind = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    if kind not in KINDS:
        return
    fits, allowed = KINDS[kind]
    if not isinstance(value, fits) or (isinstance(value, bool) and kind != "bool"):
        raise ConfigError(key, value, allowed)
