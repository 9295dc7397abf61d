"""A mobile fleet in several processes, and the orders they take.

=====================  ==========================================================================
order                  answer
=====================  ==========================================================================
``("attach",)``        the books, when every vehicle is attached
``("drive",)``         the books; vehicles report from now on
``("park",)``          the books; they report no more
``("books",)``         the books
``("dead_spot", s)``   the books, when all have been in a dead spot for so many seconds
``("flush", s)``       the books, when everything is safe or the time is over
``("close", s)``       the books; connections end, and so does the process
=====================  ==========================================================================

A process ends with its parent: the end of the pipe is the end of its orders.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import signal
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from evenflow.closing import Closing
from evenflow.errors import EvenflowError, GatewayTimeout
from evenflow.fleet.mobile_fleet import MobileFleet
from evenflow.fleet.tour import TourBooks
from evenflow.processes import end_with_parent

if TYPE_CHECKING:
    from multiprocessing.connection import Connection as Pipe

    from evenflow.fleet.tour import Tour

PATIENCE_S: Final = 120.0
"""How long an answer may take, beyond what the order itself asks for."""
_SPAWN: Final = multiprocessing.get_context("spawn")


class FleetProcesses(Closing):
    """The parent's side: vehicles shared out evenly among processes.

    Args:
        tour: What the vehicles do; its count is that of all of them together.
        processes: How many processes.
    """

    def __init__(self, tour: Tour, processes: int) -> None:
        self._children: list[tuple[Any, Pipe]] = []
        first = tour.first
        for index in range(processes):
            count = tour.count // processes + (index < tour.count % processes)
            share = replace(tour, first=first, count=count, seed=tour.seed + index)
            first += count
            near, far = _SPAWN.Pipe()
            child = _SPAWN.Process(target=serve_fleet, args=(share, far), daemon=True)
            child.start()
            far.close()
            self._children.append((child, near))

    @property
    def pids(self) -> list[int]:
        """The processes, for whoever wants to know what they cost."""
        return [child.pid for child, _ in self._children]

    def tell(self, *order: Any) -> None:
        """Give an order to all of them."""
        for _, pipe in self._children:
            pipe.send(order)

    def answer(self, patience_s: float = PATIENCE_S) -> TourBooks:
        """Wait for all answers; return the books of all together."""
        books, began = TourBooks(), time.monotonic()
        for child, pipe in self._children:
            try:
                found = pipe.recv() if pipe.poll(patience_s) else None
            except EOFError:
                found = None
            if found is None:
                how = "said nothing" if child.is_alive() else "died; its error is above"
                took = time.monotonic() - began
                raise GatewayTimeout("fleet", took, f"a process of the fleet {how}")
            if isinstance(found, EvenflowError):
                raise found
            books.add(found)
        return books

    def ask(self, *order: Any, patience_s: float = PATIENCE_S) -> TourBooks:
        """Give an order to all, and wait for the answers."""
        self.tell(*order)
        return self.answer(patience_s)

    def close(self) -> None:
        """End all processes at once."""
        for _, pipe in self._children:
            pipe.close()
        for child, _ in self._children:
            child.join(5.0)
            if child.is_alive():
                child.kill()
                child.join()


def serve_fleet(tour: Tour, pipe: Pipe) -> None:
    """Run the vehicles of one process."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us in order
    with suppress(EOFError, BrokenPipeError):
        asyncio.run(_serve(tour, pipe))


async def _serve(tour: Tour, pipe: Pipe) -> None:
    fleet = MobileFleet(tour)
    orders: asyncio.Queue[tuple[Any, ...] | None] = asyncio.Queue()
    asyncio.get_running_loop().add_reader(pipe.fileno(), _read, pipe, orders)
    try:
        while (order := await orders.get()) is not None:
            await _carry_out(fleet, *order)
            pipe.send(fleet.books())
            if order[0] == "close":
                return
    except EvenflowError as error:
        pipe.send(error)
    finally:
        await fleet.close(0.0)


def _read(pipe: Pipe, orders: asyncio.Queue[tuple[Any, ...] | None]) -> None:
    try:
        orders.put_nowait(pipe.recv())
    except (EOFError, ConnectionResetError):
        asyncio.get_running_loop().remove_reader(pipe.fileno())
        orders.put_nowait(None)


async def _carry_out(fleet: MobileFleet, what: str, seconds: float = 0.0) -> None:
    match what:
        case "attach":
            await fleet.attach()
            gc.freeze()  # thousands of clients that live as long as the process
        case "drive":
            fleet.drive()
        case "park":
            await fleet.park()
        case "dead_spot":
            await fleet.dead_spot(seconds)
        case "flush":
            await fleet.flush(seconds)
        case "close":
            await fleet.close(seconds)
