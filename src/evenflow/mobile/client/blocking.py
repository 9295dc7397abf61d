"""The client that blocks: the one for asyncio, in a thread of its own.

It may be used from any thread. Handlers of messages run in a thread too, one message after the
other, and may publish.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from evenflow.closing import Closing
from evenflow.errors import ClosedError
from evenflow.mobile.client import aio

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from os import PathLike

    from evenflow.mobile.client.reaching import Patience
    from evenflow.mobile.client.settings import ClientStats, Payload
    from evenflow.mobile.client.shell import Handler as AsyncHandler
    from evenflow.mobile.link.connection import Trust
    from evenflow.mobile.link.frames import Message
    from evenflow.model.given_headers import GivenHeaders

    Handler = Callable[[Message], None]

T = TypeVar("T")


def connect(
    gateways: str | Sequence[str],
    *,
    node: str,
    token: str,
    trust: Trust | str | PathLike[str],
    outbox: str | PathLike[str] | None = None,
    most_items: int = aio.MOST_ITEMS,
    most_bytes: int = aio.MOST_BYTES,
    when_full: str = "block",
    attributes: Mapping[str, str | float | bool] | None = None,
    position: tuple[float, float] | None = None,
    on_message: Handler | None = None,
    timeout_s: float = 30.0,
    patience: Patience | None = None,
) -> Client:
    """Attach a mobile node to a gateway; as :func:`evenflow.mobile.connect_async`, blocking."""
    thread = _LoopThread(node)
    try:
        client = thread.do(
            aio.connect(
                gateways,
                node=node,
                token=token,
                trust=trust,
                outbox=outbox,
                most_items=most_items,
                most_bytes=most_bytes,
                when_full=when_full,
                attributes=attributes,
                position=position,
                on_message=None if on_message is None else _in_thread(on_message),
                timeout_s=timeout_s,
                patience=patience,
            )
        )
    except BaseException:
        thread.end()
        raise
    return Client(client, thread)


class Client(Closing):
    """A mobile node; :func:`connect` makes it. Use ``with``."""

    def __init__(self, client: aio.AsyncClient, thread: _LoopThread) -> None:
        self._client = client
        self._thread = thread

    @property
    def node(self) -> str:
        """The node's name."""
        return self._client.node

    @property
    def gateway(self) -> str:
        """The gateway that the node is attached to; empty when it is not."""
        return self._client.gateway

    def publish(
        self,
        payload: Payload,
        topic: str | None = None,
        *,
        time_us: int | None = None,
        headers: GivenHeaders | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Publish an item; return when it is kept (with an outbox: on disk)."""
        self._thread.do(
            self._client.publish(
                payload, topic, time_us=time_us, headers=headers, timeout_s=timeout_s
            )
        )

    def on_message(self, handler: Handler) -> Handler:
        """Let a function have the messages to this node, one after the other; a decorator."""

        async def install() -> None:
            self._client.on_message(_in_thread(handler))

        self._thread.do(install())
        return handler

    def set_attributes(self, attributes: Mapping[str, str | float | bool]) -> None:
        """Set all attributes of the node."""
        self._thread.do(self._client.set_attributes(attributes))

    def set_position(self, latitude: float, longitude: float) -> None:
        """Say where the node is, in degrees."""
        self._thread.do(self._client.set_position(latitude, longitude))

    def set_token(self, token: str) -> None:
        """Use another token from the next connection on; a refused client tries again."""
        self._thread.do(self._client.set_token(token))

    def change_address(self, local_host: str = "") -> bool:
        """Go on from another port or address of this host with the same session, if it can be."""
        return self._thread.do(self._client.change_address(local_host))

    def flush(self, timeout_s: float | None = None) -> None:
        """Wait until everything that was published is safe."""
        self._thread.do(self._client.flush(timeout_s))

    @property
    def stats(self) -> ClientStats:
        """What the client has done so far."""

        async def read() -> ClientStats:
            return self._client.stats

        return self._thread.do(read())

    def close(self, timeout_s: float = 10.0) -> None:
        """Wait until everything is safe, then end the connection."""
        if self._thread.ended:
            return
        try:
            self._thread.do(self._client.close(timeout_s))
        finally:
            self._thread.end()

    def __exit__(self, *raised: object) -> None:
        self.close(0.0 if any(raised) else 10.0)


class _LoopThread:
    """An event loop in a thread."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name=f"evenflow-mobile-{node}", daemon=True
        )
        self._thread.start()

    @property
    def ended(self) -> bool:
        return self._loop.is_closed()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something in the loop, and wait for it."""
        if self.ended:
            work.close()
            raise ClosedError(f"client of node {self._node!r}")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def end(self) -> None:
        """End loop and thread."""
        if not self.ended:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


def _in_thread(handler: Handler) -> AsyncHandler:
    """Run a handler outside the loop, so that it may block, and publish."""

    async def handle(message: Message) -> None:
        await asyncio.to_thread(handler, message)

    return handle
