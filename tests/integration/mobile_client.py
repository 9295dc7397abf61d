"""A mobile node as a program: publishes numbers at a pace until a file ``enough`` is there.

Arguments: address, node, token, CA certificate, folder. It writes ``count`` when all it published
is safe.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from evenflow.mobile.client.aio import connect


async def main(address: str, node: str, token: str, trust: str, folder: Path) -> None:
    client = await connect([address], node=node, token=token, trust=trust, timeout_s=60.0)
    count = 0
    while not (folder / "enough").exists():
        await client.publish(b"%d" % count)
        count += 1
        await asyncio.sleep(0.02)
    await client.flush(120.0)
    (folder / "count").write_text(str(count))
    await client.close()


asyncio.run(main(*sys.argv[1:5], Path(sys.argv[5])))  # type: ignore[call-arg,arg-type]
