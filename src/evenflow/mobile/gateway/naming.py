"""What gateways are called that a plan has started: after the one that started them, numbered.

A gateway goes by its name for ever, with the folder of that name. So the name of an *elastic*
gateway says where its folder is: beside that of its *parent*, the gateway that started it and the
only one that can start it again. ``g1+2`` is the second that ``g1`` has started.
"""

from __future__ import annotations

from typing import Final

SIGN: Final = "+"


def elastic_name(parent: str, number: int) -> str:
    """The name of a gateway that another one starts."""
    return f"{parent}{SIGN}{number}"


def parent_of(name: str) -> str:
    """Who has started a gateway; empty when it was an operator."""
    parent, sign, number = name.rpartition(SIGN)
    ours = bool(sign) and SIGN not in parent and number.isascii() and number.isdecimal()
    return parent if ours and number.lstrip("0") == number else ""
