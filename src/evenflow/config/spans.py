"""Lengths of time and sizes as texts: ``"1h"``, ``"30d"``, ``"512MiB"``."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_TIMES: Final = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_SIZES: Final = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
TIME: Final = r"[1-9]\d{0,8}[smhd]"
SIZE: Final = r"[1-9]\d{0,8}(?:KiB|MiB|GiB|TiB)"


class Keep(NamedTuple):
    """How much of what everybody has committed a topic keeps: for a time, or up to a size."""

    seconds: float | None = None
    octets: int | None = None


def seconds_of(text: str) -> float:
    """The length of time that a text such as ``"1h"`` says."""
    return int(text[:-1]) * _TIMES[text[-1]]


def keep_of(text: str) -> Keep | None:
    """What a text says is kept; None when it is empty."""
    if not text:
        return None
    if re.fullmatch(TIME, text):
        return Keep(seconds=seconds_of(text))
    return Keep(octets=int(text[:-3]) * _SIZES[text[-3:]])
