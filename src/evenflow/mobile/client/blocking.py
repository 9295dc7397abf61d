"""The client that blocks: the one for asyncio, in a thread of its own.

It may be used from any thread. Handlers of messages run in a thread too, one message after the
other, and may publish.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from evenflow.closing import Closing
from evenflow.errors import ClosedError
from evenflow.loops.thread import LoopThread
from evenflow.mobile.client import aio

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from evenflow.mobile.client.reaching import Patience
    from evenflow.mobile.client.settings import ClientStats, Payload
    from evenflow.mobile.client.shell import Handler as AsyncHandler
    from evenflow.mobile.link.connection import Trust
    from evenflow.mobile.link.frames import Message
    from evenflow.model.given_headers import GivenHeaders

    Handler = Callable[[Message], None]


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
    thread = LoopThread(f"evenflow-mobile-{node}", f"client of node {node!r}")
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

    def __init__(self, client: aio.AsyncClient, thread: LoopThread) -> None:
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
            with suppress(ClosedError):  # another thread was first
                self._thread.do(self._client.close(timeout_s))
        finally:
            self._thread.end()

    def __exit__(self, kind: object = None, *_: object) -> None:
        if kind is None or self._thread.ended:
            self.close()
            return
        try:
            self._thread.do(self._client.__aexit__(kind))
        finally:
            self._thread.end()


def _in_thread(handler: Handler) -> AsyncHandler:
    """Run a handler outside the loop, so that it may block, and publish."""

    async def handle(message: Message) -> None:
        await asyncio.to_thread(handler, message)

    return handle
