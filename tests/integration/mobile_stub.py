"""A gateway that is only a link and a memory: accepts what comes, in order, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.mobile.link.connection import Credentials, Limits
from evenflow.mobile.link.frames import Hello, Items, Message, Received, Safe, Welcome
from evenflow.mobile.link.listening import listen

if TYPE_CHECKING:
    from pathlib import Path

    from evenflow.mobile.link.connection import Connection, Listener

TOPIC = "items"


class StubGateway:
    """What nodes publish is in ``items``; its marks outlive its listener."""

    def __init__(self, name: str, keys: Path) -> None:
        self.name = name
        self.items: dict[str, list[bytes]] = {}
        self.marks: dict[tuple[str, str], int] = {}
        self.hellos: list[Hello] = []
        self.received: list[Received] = []
        self.connections: dict[str, Connection] = {}
        self.listener: Listener | None = None
        self._credentials = Credentials(str(keys / "server.pem"), str(keys / "server.key"))

    async def start(self, address: str) -> str:
        self.listener = await listen(address, self._credentials, self._serve, Limits())
        return self.listener.address

    async def stop(self) -> None:
        assert self.listener is not None
        await self.listener.close()

    async def _serve(self, connection: Connection) -> None:
        hello = await connection.receive()
        assert isinstance(hello, Hello)
        self.hellos.append(hello)
        client = (hello.node, hello.run)
        accepted = {TOPIC: self.marks[client]} if client in self.marks else {}
        await connection.send(Welcome(self.name, accepted, (), (TOPIC,), 1 << 20, 1.0))
        self.connections[hello.node] = connection
        while True:
            frame = await connection.receive()
            if isinstance(frame, Items):
                self._accept(client, frame)
                await connection.send(Safe(frame.topic, self.marks[client]))
            elif isinstance(frame, Received):
                self.received.append(frame)

    def _accept(self, client: tuple[str, str], frame: Items) -> None:
        for number, payload in enumerate(frame.payloads, frame.first):
            if number > self.marks.get(client, 0):
                self.marks[client] = number
                self.items.setdefault(client[0], []).append(payload)

    async def message(self, node: str, number: int) -> None:
        message = Message("box", number, number - 1, "me", 0, "", b"%d" % number)
        await self.connections[node].send(message)
