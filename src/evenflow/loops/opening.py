"""Something that blocks while it is opened, opened in asyncio; nobody may be left with half of it.

A task that waits for it may be cancelled, by a timeout say, while the thread that opens it cannot
be stopped. What nobody waits for any more is closed as soon as it is open.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from evenflow.errors import EvenflowError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


async def opened_in_thread(begin: Callable[[], T], let_go: Callable[[T], object]) -> T:
    """Open something in a thread.

    Args:
        begin: Opens it; called in the thread.
        let_go: Closes it at once, when whoever wanted it was cancelled.
    """
    line = ThreadPoolExecutor(1, thread_name_prefix="evenflow-opening")
    begun = line.submit(begin)
    line.shutdown(wait=False)
    try:
        return await asyncio.wrap_future(begun)
    except asyncio.CancelledError:
        begun.add_done_callback(partial(_drop, let_go))
        raise


def _drop(let_go: Callable[[T], object], begun: Future[T]) -> None:
    if begun.cancelled() or begun.exception() is not None:
        return
    with suppress(EvenflowError):  # what is left of it is told to nobody
        let_go(begun.result())
