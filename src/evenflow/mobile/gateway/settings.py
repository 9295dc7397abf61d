"""What a gateway's core is told about bounds and times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.edge.settings import EdgeSettings

if TYPE_CHECKING:
    from evenflow.config import GatewayConfig


@dataclass(frozen=True, slots=True)
class GatewaySettings(EdgeSettings):
    """Bounds and times; ``[gateway]`` of the configuration."""

    mail_bytes: int = 256 << 10
    """Messages to one node that it has not acknowledged; beyond it they go back."""
    mail_buffer_bytes: int = 64 << 20
    """The same, of all nodes together."""
    most_nodes: int = 20_000
    """Nodes that are attached at most."""
    keep_alive_s: float = 5.0
    """Seconds of silence after which a client shows that it is there."""
    hello_s: float = 10.0
    """How long a link may say nothing at first."""
    report_s: float = 1.0
    """How often the gateway says that it is there."""
    positions_s: float = 0.2
    """How often positions that changed are told."""
    refresh_s: float = 10.0
    """How often all positions are told."""
    drain_per_s: float = 200.0
    """Nodes a second that are told to leave a draining gateway."""
    leave_s: float = 10.0
    """How long a node that is attached elsewhere may keep its old connection."""

    @classmethod
    def from_config(cls, config: GatewayConfig) -> GatewaySettings:
        """What the configuration says."""
        return cls(
            linger_s=config.linger_ms / 1e3,
            unit_bytes=config.unit_bytes,
            in_flight_bytes=config.in_flight_bytes,
            buffer_bytes=config.buffer_bytes,
            mail_bytes=config.mail_bytes,
            mail_buffer_bytes=config.mail_buffer_bytes,
            most_nodes=config.most_nodes,
            keep_alive_s=config.keep_alive_s,
            hello_s=config.hello_s,
            settle_s=config.settle_s,
            report_s=config.report_s,
            positions_s=config.positions_ms / 1e3,
            drain_per_s=config.drain_per_s,
            leave_s=config.leave_s,
        )
