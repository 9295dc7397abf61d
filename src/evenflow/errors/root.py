"""What all errors share, and the sides they fall into."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known name nearest to ``name``, else nothing."""
    import difflib  # noqa: PLC0415 - only a mistake needs it

    if not isinstance(name, str):  # a caller may have given anything
        return ""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _restore(kind: type[EvenflowError], message: str, context: dict[str, Any]) -> EvenflowError:
    error = kind.__new__(kind, message)
    error.__dict__.update(context)
    return error


class EvenflowError(Exception):
    """Root of all our errors."""

    def __reduce__(self) -> tuple[Callable[..., EvenflowError], tuple[Any, ...]]:
        return _restore, (type(self), str(self), self.__dict__.copy())


class UsageError(EvenflowError):
    """The call or the configuration is wrong; repeating it cannot help."""


class PeerError(EvenflowError):
    """Another process sent something wrong or refused what was asked."""
