"""Sending messages to mobile nodes from a program.

>>> with Messenger("dispatch") as messenger:  # doctest: +SKIP
...     messenger.send({"go": "home"}, to="car-7")
...     messenger.send("road closed", group="north", expires_s=3_600)

:meth:`Messenger.send` returns when a mailbox has the message on its disk; from then on it will be
delivered, or expire. Messages of one messenger are delivered in the order in which they were sent.
One thread serves the domain; any thread may send.
"""

from __future__ import annotations

import os
import queue
import secrets
import socket
import threading
import time
from concurrent.futures import Future, wait
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from evenflow.closing import Closing
from evenflow.config import Config
from evenflow.domain import enter
from evenflow.domain.channels import MAILBOXES, SEND_REPLIES, SEND_REQUESTS, is_node
from evenflow.errors import ClosedError, EvenflowError, UsageError
from evenflow.forking import in_parent, watch, watch_no_more
from evenflow.mobile.messenger.core import (
    Done,
    Message,
    MessengerCore,
    NotWritten,
    Sent,
    Submit,
    Tick,
    Write,
)
from evenflow.model.payload import encode_payload

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.domain.cyclone import Participant, Writer
    from evenflow.mobile.messenger.core import Action
    from evenflow.model.messages import SendRequest
    from evenflow.model.payload import Payload

TICK_S: Final = 0.02
"""How often it looks at the clock while something is unanswered."""
IDLE_S: Final = 0.5
MOST_UNANSWERED: Final = 1_000
"""Messages of which it is not known what came of them; more have to wait."""
EVERYBODY: Final = "*"


class Messenger(Closing):
    """Sends messages to mobile nodes.

    Args:
        sender: Name of the sender, which the nodes are told; also decides on the mailbox.
            Empty: host and process.
        config: The configuration.
        participant: The process's place in the domain; None: one of its own.
    """

    def __init__(
        self,
        sender: str = "",
        *,
        config: Config | None = None,
        participant: Participant | None = None,
    ) -> None:
        self.config = Config.of(config)
        self.sender = sender or f"{socket.gethostname()}-{os.getpid()}"
        self._own = participant is None
        self._participant = participant or enter(self.config.domain)
        self._core = MessengerCore(secrets.randbits(64), self.sender)
        with ExitStack() as opened:
            if self._own:
                opened.callback(self._participant.close)
            self._waiter = self._participant.waiter()
            self._readers = [self._participant.reader(one) for one in (MAILBOXES, SEND_REPLIES)]
            for reader in self._readers:
                self._waiter.attach(reader)
            opened.pop_all()
        self._writers: dict[str, Writer] = {}
        self._submitted: queue.SimpleQueue[tuple[Submit, Future[Sent]]] = queue.SimpleQueue()
        self._waiting: dict[int, Future[Sent]] = {}
        self._room = threading.Semaphore(MOST_UNANSWERED)
        self._tickets = 0
        self._lock = threading.Lock()
        self._closed = False
        self._inherited: UsageError | None = None
        """Said in a child that was forked: the parent sends."""
        self._thread = threading.Thread(
            target=self._run, name=f"messenger {self.sender}", daemon=True
        )
        self._thread.start()
        watch(self, Messenger._leave_to_parent)

    def send(
        self,
        payload: Payload,
        *,
        to: str | Iterable[str] = (),
        group: str = "",
        all: bool = False,  # noqa: A002 - send(..., all=True) reads as it is meant
        expires_s: float | None = None,
        timeout_s: float = 10.0,
    ) -> Sent:
        """Send a message; return when a mailbox has it on its disk.

        Args:
            payload: Bytes, a text, or a mapping that becomes JSON.
            to: A node, or several.
            group: A group of the configuration.
            all: To all nodes that are known.
            expires_s: After so long nobody wants it; None: ``mailbox.lifetime_s``.
            timeout_s: How long to wait.

        Raises:
            UsageError: Not exactly one of ``to``, ``group`` and ``all`` is given.
            NoMailbox: There is no mailbox; it is not sent.
            SendRefused: The mailbox does not take it, and says why; it is not sent.
            SendTimeout: The mailbox does not answer; it may have taken it or not.
        """
        submitted = self.submit(
            payload, to=to, group=group, all=all, expires_s=expires_s, timeout_s=timeout_s
        )
        return submitted.result()

    def send_many(
        self,
        messages: Iterable[tuple[str, Payload]],
        *,
        expires_s: float | None = None,
        timeout_s: float = 30.0,
    ) -> int:
        """Send messages to one node each, given as ``(node, payload)``: as answers to a batch.

        Returns:
            How many there were; all are on the mailbox's disk.

        Raises:
            EvenflowError: As :meth:`send`, of the first that failed; all have been tried.
        """
        submitted = [
            self.submit(payload, to=node, expires_s=expires_s, timeout_s=timeout_s)
            for node, payload in messages
        ]
        wait(submitted)
        for one in submitted:
            one.result()
        return len(submitted)

    def submit(
        self,
        payload: Payload,
        *,
        to: str | Iterable[str] = (),
        group: str = "",
        all: bool = False,  # noqa: A002
        expires_s: float | None = None,
        timeout_s: float = 10.0,
    ) -> Future[Sent]:
        """Send a message without waiting for the mailbox; the future has what :meth:`send` has.

        When `MOST_UNANSWERED` messages are unanswered it waits until there are fewer.
        """
        nodes, group = _recipients((to,) if isinstance(to, str) else tuple(to), group, all=all)
        lifetime_s = self.config.mailbox.lifetime_s if expires_s is None else expires_s
        message = Message(encode_payload(payload), nodes, group, lifetime_s)
        if self._inherited is not None:
            raise self._inherited.with_traceback(None)
        self._room.acquire()
        future: Future[Sent] = Future()
        with self._lock:
            if self._closed:
                self._room.release()
                raise ClosedError(f"messenger {self.sender!r}")
            self._tickets += 1
            submit = Submit(self._tickets, message, time.monotonic() + timeout_s)
            self._submitted.put((submit, future))
        self._waiter.wake()
        return future

    def close(self) -> None:
        """Leave; what was submitted and is unanswered may have been taken or not."""
        with self._lock:
            if self._closed or self._inherited is not None:
                return
            self._closed = True
        watch_no_more(self)
        self._waiter.wake()
        self._thread.join()
        if self._own:
            self._participant.close()
            return
        for reader in self._readers:
            reader.close()
        for writer in self._writers.values():
            writer.close()
        self._waiter.close()

    def _leave_to_parent(self) -> None:
        """This is a child: say nothing here, and close nothing."""
        self._lock = threading.Lock()  # who had it is not here
        self._inherited = in_parent(f"messenger {self.sender!r}", "open one")

    # -- the thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        error: EvenflowError = ClosedError(f"messenger {self.sender!r}")
        try:
            while not self._closed:
                self._waiter.wait(TICK_S if self._core.unanswered else IDLE_S)
                self._turn()
        except EvenflowError as fault:
            error = fault
        finally:
            with self._lock:  # nobody submits any more
                self._closed = True
            while not self._submitted.empty():
                submit, future = self._submitted.get()
                self._waiting[submit.ticket] = future
            for future in self._waiting.values():
                self._settle(future, error)

    def _turn(self) -> None:
        now = time.monotonic()
        for reader in self._readers:
            for message in reader.take():
                self._perform(self._core.handle(message, now), now)
        while not self._submitted.empty():
            submit, future = self._submitted.get()
            self._waiting[submit.ticket] = future
            self._perform(self._core.handle(submit, now), now)
        self._perform(self._core.handle(Tick(), now), now)

    def _perform(self, actions: list[Action], now: float) -> None:
        failed = False
        for action in actions:
            match action:
                case Write(request):
                    failed = failed or not self._write(request)
                    if failed:
                        self._core.handle(NotWritten(request.number), now)
                case Done(ticket, result):
                    self._settle(self._waiting.pop(ticket), result)

    def _settle(self, future: Future[Any], result: Sent | EvenflowError) -> None:
        self._room.release()
        if not future.set_running_or_notify_cancel():
            return
        if isinstance(result, EvenflowError):
            future.set_exception(result)
        else:
            future.set_result(result)

    def _write(self, request: SendRequest) -> bool:
        """Write a request; False when the mailbox's reader is not there, or takes no more."""
        if not is_node(request.mailbox):
            return False
        writer = self._writers.get(request.mailbox)
        if writer is None:
            writer = self._participant.writer(SEND_REQUESTS, request.mailbox)
            self._writers[request.mailbox] = writer
        return writer.matched() > 0 and writer.write(request)


def _recipients(nodes: tuple[str, ...], group: str, *, all: bool) -> tuple[tuple[str, ...], str]:  # noqa: A002
    if sum(map(bool, (nodes, group, all))) != 1:
        raise UsageError("say to whom: exactly one of to=, group= and all=True")
    odd = [node for node in nodes if not is_node(node)]
    if odd:
        raise UsageError(f"no node can be called {odd[0]!r}")
    return nodes, EVERYBODY if all else group
