"""What somebody else's code raised, in words that can be stored and sent.

An application may raise anything: an error whose text is a megabyte, has half a character
(``bytes.decode(errors="surrogateescape")``), or cannot be had because ``__str__`` raises, too.
"""

from __future__ import annotations

from typing import Final

MOST_CHARACTERS: Final = 2_000
"""So much of an error is told."""


def error_text(error: BaseException) -> str:
    """The type and the text of an error, bounded, as text that UTF-8 can carry."""
    kind = type(error).__name__
    try:
        text = f"{kind}: {error}"
    except Exception as fault:  # noqa: BLE001 - whatever __str__ may raise
        text = f"{kind}, whose text cannot be had ({type(fault).__name__})"
    return text[:MOST_CHARACTERS].encode(errors="backslashreplace").decode()[:MOST_CHARACTERS]
