"""Whether a broker of one's own name is running already: asked before one joins.

Everything a broker has is known by its name: copies, votes, who is in sync. Two processes of one
name would take each other's mail and vote twice. So a broker that starts asks its contacts, as a
client does, who lives; if one of its name is said to live at another address, it asks there. Only
an answer counts: a former life that died, and that others have not missed yet, gives none.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Final

from evenflow.errors import OverlayError
from evenflow.overlay.protocol.connection import Connection, parse_address
from evenflow.overlay.protocol.messages import Hello, Welcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.overlay.protocol.messages import Member

ASK_S: Final = 1.0
"""How long an address may take to answer."""


async def refuse_second(name: str, own: str, contacts: Iterable[str]) -> None:
    """Ask the contacts for a broker of this name that is not at this address.

    Raises:
        OverlayError: There is one, and it answers.
    """
    told = await asyncio.gather(*map(_living_at, contacts))
    for address in sorted({one.address for some in told for one in some if one.name == name}):
        living = await _living_at(address) if address != own else ()
        if living and living[0].name == name:
            raise OverlayError(
                f"a broker called {name} is running already, at {address}: copies and votes are"
                " known by its name; stop that one first, or start this one under another name"
            )


async def _living_at(address: str) -> tuple[Member, ...]:
    """The brokers alive, as one says that listens here, itself first; empty if none answers."""
    answer: asyncio.Future[tuple[Member, ...]] = asyncio.get_running_loop().create_future()

    def hear(_: Connection, message: Any) -> None:
        if isinstance(message, Welcome) and not answer.done():
            answer.set_result(message.members)

    def end(_: Connection) -> None:
        if not answer.done():
            answer.set_result(())

    with contextlib.suppress(OSError, ValueError, TimeoutError):
        host, port = parse_address(address)
        async with asyncio.timeout(ASK_S):
            loop = asyncio.get_running_loop()
            _, connection = await loop.create_connection(lambda: Connection(hear, end), host, port)
            try:
                connection.send(Hello())
                return await answer
            finally:
                connection.close()
    return ()
