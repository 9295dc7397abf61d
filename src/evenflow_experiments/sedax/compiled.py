"""The one place that knows how a function over arrays becomes machine code.

Numba compiles a marked function when it is first called and keeps the result beside the source, so
the next process only loads it. A decision reads some spots and writes seven sums, and the next one
depends on it, so there are no large arrays to hand to NumPy at once: written with array calls the
selection that looks at most spots takes three times as long, and reads worse than the plain loop.
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
