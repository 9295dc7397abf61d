"""Who wants to know of commits: a callable of the program, whose errors are its own."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenflow.slices.publisher.retention import Newly

CommitHook = Callable[[int, int, int, str], None]
"""Called with (slice, first, last, node) for each accepted commit."""

_log = logging.getLogger(__name__)


def tell_committed(on_commit: CommitHook, newly: Newly, node: str) -> None:
    """Tell of everything that is committed now and was not before."""
    columns: list[list[int]] = [column.tolist() for column in newly]
    for slice_id, first, last in zip(*columns, strict=True):
        try:
            on_commit(slice_id, first, last, node)
        except Exception:  # noqa: BLE001 - it is told of the others all the same
            _log.exception("on_commit failed on a commit of slice %d", slice_id)
