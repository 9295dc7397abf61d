"""The ``evenflow`` command.

`frame` reads the command's name, imports that command's module alone and runs it; `commands` lists
the commands; `options` holds what they share. A new command is one file here and one line there.
"""

from __future__ import annotations

from evenflow.cli.frame import main

__all__ = ["main"]
