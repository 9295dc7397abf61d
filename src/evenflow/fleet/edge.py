"""The mobile edge of ``evenflow up``: two gateways, a mailbox, and keys made for this run.

Vehicles report by way of the gateways. What Spark answers comes as items of a topic; here each
becomes a message to its vehicle, which the mailbox holds until the vehicle has it.
"""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenflow.access.keys import init_keys, signing_key
from evenflow.access.names import CA_FILE
from evenflow.access.tokens import Allowed, issue
from evenflow.processes import free_ports

if TYPE_CHECKING:
    from pathlib import Path

    from evenflow.config import Config
    from evenflow.mobile.messenger.messenger import Messenger
    from evenflow.model.batch import Batch
    from evenflow.processes import LocalCluster

GATEWAYS: Final = ("gateway-1", "gateway-2")
MAILBOX: Final = "mailbox-1"
TOKEN_S: Final = 365 * 86_400.0
SEND_S: Final = 60.0
"""How long an answer may wait for the mailbox; it starts with everything else."""


def with_edge(config: Config, topic: str, folder: Path) -> Config:
    """The configuration with everything of the mobile edge in a folder of this run."""
    return replace(
        config,
        access=replace(config.access, dir=str(folder / "keys")),
        gateway=replace(config.gateway, topics=(topic,), state_dir=str(folder / "gateways")),
        mailbox=replace(config.mailbox, state_dir=str(folder / "mail")),
    )


class LocalEdge:
    """Keys, gateways and the mailbox, as processes of a cluster.

    Args:
        cluster: Starts them.
        config: As :func:`with_edge` made it.
        topic: Where vehicles report.
        vehicles: Pattern of their names.
    """

    def __init__(self, cluster: LocalCluster, config: Config, topic: str, vehicles: str) -> None:
        keys = config.access_folder
        init_keys(keys)
        self.trust = keys / CA_FILE
        self.token = issue(
            signing_key(keys),
            subject=vehicles,
            allowed=Allowed(publish=(topic,)),
            issued=time.time(),
            expires=time.time() + TOKEN_S,
            id=secrets.token_hex(8),
        )
        self.addresses = []
        for name, port in zip(GATEWAYS, free_ports(len(GATEWAYS)), strict=True):
            listen = [f"{transport}://127.0.0.1:{port}" for transport in ("quic", "tls")]
            self.addresses += listen[:1]
            options = [word for address in listen for word in ("--listen", address)]
            cluster.start(name, ["gateway", "--name", name, *options, "--drain-within", "1s"])
        cluster.start(MAILBOX, ["mailbox", "--name", MAILBOX])


def send_answers(batch: Batch, messenger: Messenger) -> None:
    """Send answers to their vehicles; returns when the mailbox has them on its disk."""
    sent = [
        messenger.submit(
            json.dumps({**json.loads(item.payload), "reported": item.time}),
            to=item.sender,
            timeout_s=SEND_S,
        )
        for item in batch
    ]
    for one in sent:
        one.result()
