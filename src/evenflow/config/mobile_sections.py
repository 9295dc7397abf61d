"""What the mobile edge is told: mailboxes, and groups of mobile nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from evenflow.config.loop_sections import NAMED
from evenflow.config.section import NAME, Rule, Section, integer, number, text, texts
from evenflow.errors import ConfigError

MIB = 1 << 20
TIB = 1 << 40
DAY = 86_400.0


def _corners() -> tuple[tuple[float, float], ...]:
    def read(raw: object) -> tuple[tuple[float, float], ...]:
        if not isinstance(raw, list | tuple):
            raise ValueError  # noqa: TRY004 - what a rule raises
        return tuple(map(_corner, raw))

    allowed = "must be a list of corners, each [LATITUDE, LONGITUDE] in degrees"
    return field(default=(), metadata={"rule": Rule(read, allowed)})


def _corner(raw: object) -> tuple[float, float]:
    match raw:
        case [int() | float() as latitude, int() | float() as longitude]:
            if abs(latitude) <= 90 and abs(longitude) <= 180:
                return float(latitude), float(longitude)
    raise ValueError


@dataclass(frozen=True, slots=True)
class MailboxConfig(Section):
    """``[mailbox]``: who holds messages to mobile nodes."""

    table: ClassVar[str] = "mailbox"

    state_dir: str = text("evenflow-mail", r".+", "a folder")
    """Where mailboxes keep their messages, in a folder for each of them; relative to that of the
    configuration file, else to the working folder."""
    bytes: int = integer(256 * MIB, MIB, TIB)
    """What the messages of a mailbox may take; when it is full, sending is refused."""
    payload_bytes: int = integer(256 << 10, 1, 1_000_000)
    """What one may carry."""
    node_messages: int = integer(1_000, 1, 1_000_000)
    """Messages that may wait for one node; further ones to it are refused."""
    lifetime_s: float = number(DAY, 1.0, 365 * DAY)
    """After this time a message expires if its sender says nothing else."""
    longest_s: float = number(30 * DAY, 1.0, 365 * DAY)
    """The longest time that a sender may ask for."""
    remember_s: float = number(7 * DAY, 1.0, 3_650 * DAY)
    """A node that was not attached for longer belongs to no group, nor to ``*``."""
    node_window: int = integer(32, 1, 1_000)
    """Messages to one node that may be under way."""
    gateway_window: int = integer(20_000, 1, 100_000)
    """Messages that may be under way to all nodes of one gateway."""
    gateway_bytes: int = integer(64 * MIB, 1_024, TIB)
    """Payload that may be under way to them."""
    repeat_s: float = number(2.0, 0.05, 3_600.0)
    """A message that is under way for so long is sent again; then after twice as long."""


@dataclass(frozen=True, slots=True)
class MobileGroupConfig(Section):
    """``[mobile_groups.NAME]``: mobile nodes that can be sent to together."""

    table: ClassVar[str] = "mobile_groups"

    name: str = text("group", NAME, NAMED)
    members: tuple[str, ...] = texts()
    """Names of its nodes; nothing else may be given then."""
    expression: str = text("", r"[\s\S]*", "an expression, as in 'node.kind == \"bus\"'")
    """It holds for the attributes of a member."""
    region: tuple[tuple[float, float], ...] = _corners()
    """Corners of a polygon in which a member is."""

    def __post_init__(self) -> None:
        """Refuse what makes no group."""
        super(MobileGroupConfig, self).__post_init__()
        by_rule = bool(self.expression or self.region)
        if by_rule == bool(self.members):
            raise ConfigError(
                self.key("members"),
                list(self.members),
                "a group has either members, or an expression, a region, or both of these",
            )

    def key(self, name: str) -> str:
        """Dotted key of a field of this group."""
        return f"mobile_groups.{self.name}.{name}"
