"""``[metrics]``: where each kind of process is scraped by Prometheus."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar, Final

from evenflow.config.section import Rule, Section
from evenflow.errors import ConfigError

ALLOWED: Final = (
    "must be PORT, HOST:PORT, or with a range of ports, as in 9101-9110, of which the first free"
    " one is taken"
)
LOOPBACK: Final = "127.0.0.1"
_PORTS: Final = r"(\d{1,5})(?:-(\d{1,5}))?"
_ENDPOINT: Final = re.compile(rf"(?:\[([0-9A-Fa-f:.]+)\]:|([^:\s\[\]]+):)?{_PORTS}")


def parse_endpoint(where: str, key: str) -> tuple[str, range]:
    """The host and the ports of an endpoint; `ConfigError` when it is none."""
    found = _ENDPOINT.fullmatch(where)
    if found is None:
        raise ConfigError(key, where, ALLOWED)
    low, high = int(found[3]), int(found[4] or found[3])
    if not low <= high <= 65_535:
        raise ConfigError(key, where, f"{ALLOWED}; ports are 0 to 65535, the lower one first")
    return found[1] or found[2] or LOOPBACK, range(low, high + 1)


def _endpoint() -> str:
    def read(raw: object) -> str:
        if isinstance(raw, bool) or not isinstance(raw, int | str):
            raise ValueError  # noqa: TRY004 - what a rule raises
        text = str(raw)
        try:
            if text:
                parse_endpoint(text, "")
        except ConfigError:
            raise ValueError from None
        return text

    return field(default="", metadata={"rule": Rule(read, f"{ALLOWED}; empty: nowhere")})


@dataclass(frozen=True, slots=True)
class MetricsConfig(Section):
    """``[metrics]``: where each kind of process is scraped; ``--metrics`` wins over it."""

    table: ClassVar[str] = "metrics"

    archive: str = _endpoint()
    """``evenflow archive``. Each key is a port of the loopback, or ``HOST:PORT``. Where several
    processes of a kind run on a machine, give a range: ``"9101-9110"``. Empty: nowhere."""
    balancer: str = _endpoint()
    """``evenflow balancer``."""
    bridge: str = _endpoint()
    """``evenflow bridge``."""
    broker: str = _endpoint()
    """``evenflow broker``."""
    fleet: str = _endpoint()
    """``evenflow fleet``."""
    gateway: str = _endpoint()
    """``evenflow gateway``."""
    mailbox: str = _endpoint()
    """``evenflow mailbox``."""
    node: str = _endpoint()
    """``evenflow node``."""
    publish: str = _endpoint()
    """``evenflow publish``."""
    up: str = _endpoint()
    """``evenflow up``; its processes are scraped where their own keys say."""
