"""A process of an experiment's own that serves orders through a pipe.

What is measured must not share Python's lock with what measures it, so publishers, readers and
counters of an experiment are processes. Each is a function ``serve(..., pipe)`` that answers
``"ready"``, then whatever it is ordered to do, until it is told ``None``. A helper ends with its
parent: the end of the pipe is the end of its orders.
"""

from __future__ import annotations

import multiprocessing
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from evenflow.closing import Closing
from evenflow.errors import ExperimentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

PATIENCE_S: Final = 120.0
"""How long an answer may take."""
FAREWELL_S: Final = 10.0
"""How long a process may take to end."""
_SPAWN: Final = multiprocessing.get_context("spawn")


class Helper(Closing):
    """The parent's side of a helper; the process starts at once.

    Args:
        experiment: Whose helper it is, for errors.
        serve: What it runs, a function of a module; it is given the arguments and the pipe.
        arguments: Whatever can be pickled.
    """

    def __init__(self, experiment: str, serve: Callable[..., None], *arguments: Any) -> None:
        self._experiment = experiment
        self._what = serve.__name__
        self._pipe, far = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=serve, args=(*arguments, far), daemon=True)
        self._process.start()
        far.close()

    @property
    def pid(self) -> int:
        """The process, for whoever wants to know what it costs."""
        assert self._process.pid is not None
        return self._process.pid

    def tell(self, order: Any) -> None:
        """Send an order."""
        try:
            self._pipe.send(order)
        except BrokenPipeError:
            raise self._dead() from None

    def answer(self, patience_s: float = PATIENCE_S) -> Any:
        """Wait for the next answer; `ExperimentError` when there is none."""
        try:
            if self._pipe.poll(patience_s):
                return self._pipe.recv()
        except (EOFError, ConnectionResetError):
            raise self._dead() from None
        raise ExperimentError(self._experiment, f"{self._what} said nothing for {patience_s:g} s")

    def ask(self, order: Any, patience_s: float = PATIENCE_S) -> Any:
        """Send an order and wait for the answer."""
        self.tell(order)
        return self.answer(patience_s)

    def _dead(self) -> ExperimentError:
        return ExperimentError(self._experiment, f"{self._what} died; its error is above")

    def dismiss(self) -> None:
        """Tell the process to end, and wait for nothing."""
        with suppress(OSError):
            self._pipe.send(None)

    def close(self, patience_s: float = FAREWELL_S) -> None:
        """Tell the process to end; kill it when it does not."""
        self.dismiss()
        self._process.join(patience_s)
        self._process.kill()
        self._process.join()
        self._pipe.close()


def orders_of(pipe: Connection) -> Iterator[Any]:
    """The orders that come through a helper's pipe, until ``None`` or the parent's end."""
    while True:
        try:
            order = pipe.recv()
        except EOFError:
            return
        if order is None:
            return
        yield order
