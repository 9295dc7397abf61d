"""``[access]``: where the keys are, for who issues tokens and for the doors that check them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from evenflow.config.section import Section, number, text


@dataclass(frozen=True, slots=True)
class AccessConfig(Section):
    """``[access]``: keys and tokens."""

    table: ClassVar[str] = "access"

    dir: str = text("evenflow-keys", r".+", "a folder")
    """Folder of the keys (``evenflow keys init``) and of the list of revoked tokens; relative to
    that of the configuration file, else to the working folder."""
    clock_skew_s: float = number(60.0, 0.0, 3_600.0)
    """By how much the clocks of who issues tokens and who checks them may differ."""
