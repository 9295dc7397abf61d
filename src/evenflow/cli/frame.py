"""From the command line to one command's ``run``.

The command line is read in two passes. The first knows the shared options and the command's
name; the second is the command's own parser, made when the name is known. So help is quick, and a
fault in one command's imports cannot break another.

Exit codes: what ``run`` returns; 2 for a usage error or an `EvenflowError`, which prints as one
line; 130 for Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

import evenflow
from evenflow.cli.commands import COMMANDS, Command
from evenflow.cli.options import add_shared, start_logging
from evenflow.errors import EvenflowError

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "evenflow"
FAILED = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    args = _first_pass(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(args)
    except EvenflowError as error:
        if args.verbose:
            raise
        print(f"{PROGRAM}: error: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away, as `head` does. Point stdout at nothing, so that the
        # interpreter's last flush does not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _first_pass(arguments: Sequence[str]) -> argparse.Namespace:
    width = max(len(name) for name in COMMANDS)
    listed = "\n".join(f"  {name:{width}}  {COMMANDS.get(name).help}" for name in COMMANDS)
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description=evenflow.__doc__,
        epilog=f"commands:\n{listed}\n\n'{PROGRAM} COMMAND --help' tells more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {evenflow.__version__}")
    parser.add_argument("command", metavar="COMMAND", help="what to do")
    parser.add_argument("rest", metavar="...", nargs=argparse.REMAINDER, help="its arguments")
    add_shared(parser)
    return parser.parse_args(arguments)


def _run(first: argparse.Namespace) -> int:
    command = COMMANDS.get(first.command)
    module = command.load()
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} {first.command}",
        description=_sentence(command),
        epilog=f"examples:\n{module.EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    add_shared(parser)
    # Shared options given before the command's name are in `first` and stay there as defaults.
    args = parser.parse_args(first.rest, namespace=first)
    start_logging(args.verbose)
    return module.run(args)


def _sentence(command: Command) -> str:
    return f"{command.help[0].upper()}{command.help[1:]}."
