"""Performs what the core of a client decides: links, disk, timer, the application's handler.

With an outbox every promise waits for the disk: the notes of all actions at hand are written in one
transaction, in a thread, and only then is anything sent or anybody told (group commit). Notes that
may be late wait for the next that may not, or for the end.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Final

from evenflow.errors import (
    ClosedError,
    EvenflowError,
    GatewayTimeout,
    NodeRefused,
    OutboxRefused,
    StorageError,
)
from evenflow.errors.words import are, counted
from evenflow.loops.watched import WatchedTasks
from evenflow.mobile.client import events
from evenflow.mobile.client.wire import Wire
from evenflow.mobile.link.frames import Message

if TYPE_CHECKING:
    from evenflow.mobile.client.core import ClientCore
    from evenflow.mobile.client.disk import ClientDisk
    from evenflow.mobile.client.wire import Dialler

Handler = Callable[[Message], Awaitable[None] | None]
"""What an application does with a message."""
Watcher = Callable[[events.Action], None]

log = logging.getLogger(__name__)

CLOSE_S: Final = 3.0
"""How long links may take to end."""


class ClientShell:
    """The world around a core. Used in one event loop.

    Args:
        core: The rules.
        dialler: Makes links.
        disk: What survives the process; None: nothing does.
        watcher: Is told what was done, for who measures.
    """

    def __init__(
        self,
        core: ClientCore,
        dialler: Dialler,
        disk: ClientDisk | None,
        watcher: Watcher | None = None,
    ) -> None:
        self._core = core
        self._dialler = dialler
        self._disk = disk
        self._loop = asyncio.get_running_loop()
        self._wires: dict[int, Wire] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._unwritten: list[events.Action] = []
        self._late: list[events.Note] = []
        self._asked = self._written = 0
        """How often something was to be written, and how often of these it is."""
        self._tasks = WatchedTasks(self._on_failed)
        self._committing: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: set[asyncio.Future[None]] = set()
        self._in_hand: deque[Message] = deque()
        self._handler: Handler | None = None
        self._door = asyncio.Lock()
        """Who waits for room waits here, in turn."""
        self._delivering: asyncio.Task[None] | None = None
        self._failed_messages = 0
        self._failure: EvenflowError | None = None
        self._closed = False
        self._watcher = watcher

    async def start(self, timeout_s: float) -> None:
        """Begin to look for a gateway, and wait for one for so long."""
        self._do(self._core.start(self._loop.time()))
        if timeout_s > 0:
            try:
                await self._until(lambda: bool(self._core.gateway), "connect", timeout_s)
            except BaseException:
                await self._end()
                raise

    # -- core and timer ----------------------------------------------------------------------------

    def _tell(self, event: events.Event) -> None:
        """Tell the core what happened, and do what it wants."""
        if isinstance(event, events.Unlinked):
            self._wires.pop(event.link, None)
        self._do(self._core.handle(event, self._loop.time()))

    def _do(self, actions: list[events.Action]) -> None:
        if self._disk is None:
            for action in actions:
                self._perform(action)
        elif actions:
            self._unwritten += actions
            self._asked += 1
            if self._committing is None or self._committing.done():
                self._committing = self._tasks.begin(self._commit(self._disk), "writing the outbox")
        self._set_timer()
        self._wake()

    def _set_timer(self) -> None:
        due = self._core.deadline()
        if self._timer is not None:
            if self._timer.when() == due:
                return
            self._timer.cancel()
            self._timer = None
        if due < inf and not self._closed:
            self._timer = self._loop.call_at(due, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        try:
            self._tell(events.Tick())
        except Exception as failure:  # a client whose time stands still must not seem well
            log.exception("the client's timer failed")
            self._on_failed(failure)

    def _perform(self, action: events.Action) -> None:
        match action:
            case events.Send(link, frame):
                if link in self._wires:
                    self._wires[link].send(frame)
            case events.Dial(link):
                self._wires[link] = Wire(action, self._dialler, self._tell)
            case events.Drop(link, reason):
                self._drop(link, reason)
            case events.Deliver(message):
                self._in_hand.append(message)
                self._deliver()
            case events.Attached(link, keep_alive_s=every_s):
                self._on_attached(link, every_s)
            case events.Refused(reason):
                self._failure = NodeRefused(self._core.identity.node, reason)
            case events.Broken(reason):
                node = self._core.identity.node
                kept = f"in memory of node {node!r}" if self._disk is None else self._disk.folder
                self._failure = OutboxRefused(str(kept), reason)
            case _:
                pass
        if self._watcher is not None:
            self._watcher(action)

    def _on_attached(self, link: int, every_s: float) -> None:
        wire = self._wires.get(link)
        if wire is not None and wire.connection is not None:
            wire.connection.keep_alive(every_s)

    def _drop(self, link: int, reason: str) -> None:
        wire = self._wires.pop(link, None)
        if wire is not None:
            task = self._tasks.begin(wire.end(reason), "ending a link")
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    # -- disk --------------------------------------------------------------------------------------

    async def _commit(self, disk: ClientDisk) -> None:
        """Write what is to be written, then do the rest, until there is nothing left."""
        while self._unwritten and self._failure is None:
            actions, self._unwritten = self._unwritten, []
            asked = self._asked
            self._late += [one for one in actions if isinstance(one, events.NOTES)]
            if any(not isinstance(note, events.LATE) for note in self._late):
                try:
                    await asyncio.to_thread(disk.write, self._late)
                except StorageError as error:
                    self._fail(error)
                    return
                self._late = []
            self._written = asked
            for action in actions:
                self._perform(action)
            self._wake()

    async def _until_written(self) -> None:
        """Wait until everything that was decided so far is on disk."""
        asked = self._asked
        await self._until(lambda: self._written >= asked, "publish", None)

    def _on_failed(self, failure: BaseException) -> None:
        """Something that runs in the background failed: whoever uses the client is told."""
        if self._failure is None and not self._closed:
            node = self._core.identity.node
            error = EvenflowError(f"the client of node {node!r} cannot go on: {failure!r}")
            error.__cause__ = failure
            self._fail(error)

    def _fail(self, error: EvenflowError) -> None:
        """Nothing more may be promised, or sent: the disk failed, or the client itself."""
        self._failure = error
        for link in list(self._wires):
            self._drop(link, "the node cannot go on")
        self._wake()
        self._core.handle(events.Close(str(error)), self._loop.time())

    # -- the application ---------------------------------------------------------------------------

    def _deliver(self) -> None:
        busy = self._delivering is not None and not self._delivering.done()
        if self._in_hand and self._handler is not None and not busy and not self._closed:
            self._delivering = self._tasks.begin(self._hand_out(), "handing out messages")

    async def _hand_out(self) -> None:
        while self._in_hand and (handler := self._handler) is not None:
            message = self._in_hand.popleft()
            try:
                answer = handler(message)
                if inspect.isawaitable(answer):
                    await answer
            except Exception:
                self._failed_messages += 1
                log.exception("on_message failed for a message of %r", message.sender)
            self._tell(events.Handled(message.mailbox, message.number))
            if self._disk is not None and not await self._is_noted():
                return

    async def _is_noted(self) -> bool:
        """Wait until what was handled is on disk: of one alone it is not known after a crash."""
        try:
            await self._until_written()
        except EvenflowError:
            return False  # it was raised where the application is told
        return True

    def _check(self) -> None:
        if self._closed:
            raise ClosedError(f"client of node {self._core.identity.node!r}")
        if self._failure is not None:
            raise self._failure.with_traceback(None)

    def _wake(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def _until(
        self, condition: Callable[[], bool], operation: str, timeout_s: float | None
    ) -> None:
        """Wait for a condition that an action can make true."""
        began = self._loop.time()
        try:
            async with asyncio.timeout(timeout_s):
                while not condition():
                    self._check()
                    future = self._loop.create_future()
                    self._waiting.add(future)
                    try:
                        await future
                    finally:
                        self._waiting.discard(future)
        except TimeoutError:
            items = self._core.buffer.items
            raise GatewayTimeout(
                operation, self._loop.time() - began, self._cause(), items=items
            ) from None

    def _cause(self) -> str:
        """What keeps items from being safe, in words."""
        core = self._core
        items = core.buffer.items
        kept = f"{counted(items, 'item')} {are(items)} not safe"
        if not core.gateway:
            waits = f", {kept}" if core.buffer.items else ""
            return f"there is no connection{waits}: {core.reason}"
        if not core.topics:
            return f"{kept}: the token allows no topic that gateway {core.gateway!r} serves"
        barred = [one for one in core.buffer.topics if one and one not in core.topics]
        if barred:
            return f"{kept}: the token does not allow topic {barred[0]!r}"
        if held_up_by := core.held_up_by:
            return (
                f"{kept}: gateway {min(held_up_by)!r} may have accepted some of them and does not"
                " answer; they wait until it is back, or until an operator gives it up"
                " ('evenflow gateways forget')"
            )
        return f"{kept}: gateway {core.gateway!r} has not accepted them yet"

    # -- the end -----------------------------------------------------------------------------------

    def _tell_left(self) -> None:
        """Say how many items no gateway has accepted, and what becomes of them."""
        left = self._core.buffer.items
        if left:
            fate = "given up" if self._disk is None else "kept in the outbox for the next client"
            log.warning("an exception ended the block of a client: %s %s %s",
                         counted(left, "item"), are(left), fate)  # fmt: skip

    async def _end(self) -> None:
        if self._closed:
            return
        self._tell(events.Close("the node ends"))
        if self._committing is not None:
            await asyncio.gather(self._committing, return_exceptions=True)
        self._closed = True
        self._set_timer()
        self._wake()
        if self._delivering is not None:
            self._delivering.cancel()
            await asyncio.gather(self._delivering, return_exceptions=True)
        for link in list(self._wires):
            self._drop(link, "the node ends")
        if self._ending:
            await asyncio.wait(self._ending, timeout=CLOSE_S)
        if self._disk is not None:
            if self._late and self._failure is None:
                with suppress(StorageError):  # without them the next process only asks again
                    await asyncio.to_thread(self._disk.write, self._late)
            self._disk.close()
