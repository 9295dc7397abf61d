"""The one place that knows how a function over arrays becomes machine code.

Numba compiles a marked function when it is first called and keeps the result beside the source, so
the next process only loads it. NumPy alone is no alternative: a decision reads a thousand spots and
writes seven sums, the next one depends on it, and a dozen array calls per decision already cost ten
times what the compiled loop does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def compiled(function: F) -> F:
    """Compile a function; it may call other compiled ones, and takes numbers and arrays only."""
    return cast("F", numba.njit(cache=True, error_model="numpy")(function))
