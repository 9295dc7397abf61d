"""From the command line to one command.

Only the module of the command that was named is imported. So help is quick, and a fault in one
command's imports cannot break another.

Exit codes: what the command returns; 2 for a usage error or an `EvenflowError`, which prints as one
line, as does an output that cannot be written; 130 for Ctrl-C; 141 if who read the output left.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import rich_click as click

import evenflow
from evenflow.cli import INTERRUPTED
from evenflow.cli.commands import COMMANDS, LazyGroup
from evenflow.cli.options import HELP_STYLE, Shared
from evenflow.cli.output.log import fail
from evenflow.errors import EvenflowError

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM: Final = "evenflow"
EXAMPLES: Final = """\
  evenflow up --for 60s         everything on this machine, for a minute
  evenflow balancer             one for each domain
  evenflow node --app my:work   a node with an application
  evenflow publish --help       what a command does, with examples

Exit codes: 0 done; 1 it ran, and not everything went well (items uncommitted,
an application that failed ...); 2 it could not begin or go on, and says why.
"""
FAILED: Final = 2
UNREAD: Final = 141
"""As a shell says it of a program that SIGPIPE has ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    _open_standard_streams()
    shared = Shared()
    try:
        code = _run(arguments, shared)
        sys.stdout.flush()
    except BrokenPipeError:
        return _forget_output(UNREAD)
    except OSError as error:  # the disk is full that the output goes to
        if shared.verbose > 1:
            raise
        return _forget_output(_fail(f"{error} ('-vv' shows where)"))
    return code


def _run(arguments: Sequence[str] | None, shared: Shared) -> int:
    program = LazyGroup(
        PROGRAM,
        registry=COMMANDS,
        help=evenflow.__doc__,
        examples=EXAMPLES,
        context_settings={"rich_help_config": HELP_STYLE},
    )
    click.version_option(evenflow.__version__, message="%(prog)s %(version)s")(program)
    try:
        return program.main(arguments, PROGRAM, standalone_mode=False, obj=shared) or 0
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # the frame ends by itself then, with 1
            raise end.__context__ from None
        raise
    except EvenflowError as error:
        if shared.verbose > 1:
            raise
        return _fail(str(error))
    except click.ClickException as error:
        return _fail(_explained(error))
    except click.Abort:
        return INTERRUPTED


def _open_standard_streams() -> None:
    """Who was started without them, as by some supervisors, prints into nothing."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115


def _forget_output(code: int) -> int:
    """What is still buffered is not tried again when Python ends: it would complain."""
    sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    return code


def _fail(message: str) -> int:
    fail(message)
    return FAILED


def _explained(error: click.ClickException) -> str:
    """What is wrong with the command line, in one line, and where to look."""
    message = " ".join(error.format_message().split())
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{message} ('{context.command_path} --help' tells more)" if context else message
