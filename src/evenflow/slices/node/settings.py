"""What the owner of a node may set, in the units of the core, and what only tests change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenflow.config import NodeConfig

if TYPE_CHECKING:
    from typing import Self

_DEFAULT: Final = NodeConfig()


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """Seconds, items, bytes."""

    deliver_items: int = _DEFAULT.deliver_items
    """Most items in one delivery, so that a handover never waits long for the application."""
    cache_bytes: int = _DEFAULT.cache_bytes
    """Bound of the items held for all slices."""
    commit_every: float = _DEFAULT.commit_ms / 1000
    report_every: float = _DEFAULT.report_ms / 1000
    loads_every: float = 2.0
    lease: float = _DEFAULT.lease_s
    """How long the application goes on without a word from the balancer."""
    stall: float = _DEFAULT.stall_s
    """A node that stood still for longer asks whether its slices are still its own."""
    retries: int = _DEFAULT.retries
    """How often an item on which the application failed is given to it again."""
    retry_pause: float = _DEFAULT.retry_ms / 1000
    ask_grace: float = 0.03
    """How long a missing number may still be on its way before it is asked for."""
    ask_retry: float = 0.3
    writer_silence: float = _DEFAULT.writer_silence_s
    """A writer that was not heard for so long is named to the balancer."""
    state_bytes: int = _DEFAULT.state_bytes
    """Bytes that the state of a slice may have when it moves."""
    stateful: bool = False
    """Whether the application has state for each slice."""
    durable: bool = False
    """Whether that state is stored, and nothing is committed before it is."""
    snapshot_every: float = _DEFAULT.snapshot_ms / 1000
    serving: bool = False
    """No application: items are kept for consumers, who read them and say when to forget them."""

    @classmethod
    def from_config(
        cls, config: NodeConfig, *, serving: bool, stateful: bool = False, durable: bool = False
    ) -> Self:
        """The settings that a configuration asks for."""
        return cls(
            deliver_items=config.deliver_items,
            cache_bytes=config.cache_bytes,
            commit_every=config.commit_ms / 1000,
            report_every=config.report_ms / 1000,
            lease=config.lease_s,
            stall=config.stall_s,
            writer_silence=config.writer_silence_s,
            retries=config.retries,
            retry_pause=config.retry_ms / 1000,
            state_bytes=config.state_bytes,
            stateful=stateful,
            durable=durable,
            snapshot_every=config.snapshot_ms / 1000,
            serving=serving,
        )
