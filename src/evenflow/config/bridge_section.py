"""``[bridge]``: where devices that do not speak DDS join the domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenflow.config.section import Section, integer, number, text, texts, yes_or_no
from evenflow.model.bounds import MOST_POINTS


@dataclass(frozen=True, slots=True)
class BridgeConfig(Section):
    """``[bridge]``: a bridge's place on the ring, and its bounds."""

    table: ClassVar[str] = "bridge"

    points: int = integer(128, 1, MOST_POINTS)
    """Points on the circle. The more there are, the more even are the shares of bridges; one is
    the plain ring of the paper."""
    report_s: float = number(1.0, 0.1, 60.0)
    """How often a bridge says that it is there when nothing changes."""
    listen_s: float = number(0.5, 0.0, 60.0)
    """How long a bridge listens for others before it takes devices."""
    doubt_s: float = number(2.0, 0.1, 60.0)
    """A bridge that is not heard any more counts as gone for so long at least, whoever names it."""
    most_devices: int = integer(10_000, 1, 1_000_000)
    """Devices that a bridge serves at most."""
    require_keys: bool = yes_or_no(default=False)
    """Whether only devices with a key are served (``evenflow keys device``)."""
    topics: tuple[str, ...] = texts()
    """Sliced topics that devices may publish items to; empty: none."""
    state_dir: str = text("evenflow-bridge", r".+", "a folder")
    """Where bridges keep items that nobody has committed, in a folder for each of them; relative to
    that of the configuration file, else to the working folder."""
