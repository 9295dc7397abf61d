"""The ``evenflow`` command.

`frame` reads the command's name, imports that command's module alone and runs it; `commands` lists
the commands; `options` holds what they share. A new command is one file here and one line there.

Imports are most of the first half second, so Ctrl-C falls into them. `main` therefore imports
`frame` itself, and nothing is imported before it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; 130 after Ctrl-C, whenever it came."""
    try:
        code: int = import_module("evenflow.cli.frame").main(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except RuntimeError as error:
        # Ctrl-C while a class is made: Python before 3.12 wraps what its attributes raise.
        if isinstance(error.__cause__, KeyboardInterrupt):
            return INTERRUPTED
        raise
    return code
