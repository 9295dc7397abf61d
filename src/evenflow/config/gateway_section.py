"""``[gateway]``: where mobile nodes connect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenflow.config.section import Section, integer, number, text, texts
from evenflow.config.sections import MIB, TIB
from evenflow.errors import ConfigError


@dataclass(frozen=True, slots=True)
class GatewayConfig(Section):
    """``[gateway]``: a gateway's bounds and times."""

    table: ClassVar[str] = "gateway"

    topics: tuple[str, ...] = texts()
    """Topics that mobile nodes may publish to, the default one first; empty: all that can be."""
    state_dir: str = text("evenflow-gateway", r".+", "a folder")
    """Where gateways keep marks and outboxes, in a folder for each of them; relative to that of the
    configuration file, else to the working folder."""
    linger_ms: int = integer(10, 0, 1_000)
    """How long items gather until they are written down together."""
    unit_bytes: int = integer(4 * MIB, 1_024, 64 * MIB)
    """As many are not added to."""
    in_flight_bytes: int = integer(MIB, 1_024, 64 * MIB)
    """Items of one client that are not safe yet; beyond it the client is not read."""
    buffer_bytes: int = integer(64 * MIB, MIB, TIB)
    """The same, of all clients together."""
    mail_bytes: int = integer(256 << 10, 1_024, 64 * MIB)
    """Messages to one node that it has not acknowledged; beyond it they wait at the mailbox."""
    mail_buffer_bytes: int = integer(64 * MIB, MIB, TIB)
    """The same, of all nodes together."""
    most_nodes: int = integer(20_000, 1, 1_000_000)
    """Nodes that are attached at most."""
    keep_alive_s: float = number(5.0, 0.1, 600.0)
    """Seconds of silence after which a client shows that it is there."""
    idle_s: float = number(20.0, 0.5, 3_600.0)
    """Seconds without a sign of life after which a connection is over."""
    hello_s: float = number(10.0, 0.1, 600.0)
    """How long a connection may take, and how long it may say nothing at first."""
    settle_s: float = number(1.0, 0.05, 60.0)
    """How often another gateway is asked again how far it has accepted a node's items."""
    report_s: float = number(1.0, 0.1, 60.0)
    """How often a gateway says that it is there."""
    positions_ms: int = integer(200, 10, 60_000)
    """How often positions that changed are told."""
    drain_per_s: float = number(200.0, 0.1, 1e6)
    """Nodes a second that a draining gateway tells to leave."""
    leave_s: float = number(10.0, 0.1, 600.0)
    """How long a node that is attached elsewhere may keep its old connection."""

    def __post_init__(self) -> None:
        """Refuse times by which every silent connection would be lost."""
        super(GatewayConfig, self).__post_init__()
        if self.keep_alive_s >= self.idle_s:
            raise ConfigError(
                "gateway.keep_alive_s",
                self.keep_alive_s,
                f"must be below gateway.idle_s ({self.idle_s:g}): silent nodes would be lost",
            )
