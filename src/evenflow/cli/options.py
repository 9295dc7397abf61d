"""Options that all commands share, and the configuration they lead to."""

from __future__ import annotations

import argparse
import logging
import tomllib
from typing import Any

from evenflow.config import Config


def add_shared(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command understands."""
    shared = parser.add_argument_group("shared options")
    shared.add_argument(
        "--config",
        metavar="FILE",
        help="configuration file (else $EVENFLOW_CONFIG, else ./evenflow.toml)",
    )
    shared.add_argument("--domain", metavar="N", type=int, help="DDS domain id")
    shared.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        type=parse_setting,
        dest="settings",
        help="set one configuration key, as in node.deliver_items=64 (may be repeated)",
    )
    shared.add_argument(
        "-v", "--verbose", action="count", default=0, help="log more (twice: everything)"
    )


def parse_setting(text: str) -> tuple[str, Any]:
    """Split ``KEY=VALUE``; the value is read as TOML, and as a plain string when it is none."""
    key, found, value = text.partition("=")
    key = key.strip()
    if not found or not key:
        raise argparse.ArgumentTypeError(f"{text!r} must be KEY=VALUE, as in node.deliver_items=64")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value


def overrides(args: argparse.Namespace) -> dict[str, Any]:
    """Return the configuration keys that were given on the command line."""
    given = dict(args.settings or ())
    if args.domain is not None:
        given["domain.id"] = args.domain
    return given


def load_config(args: argparse.Namespace) -> Config:
    """Read the configuration that the shared options ask for."""
    return Config.load(args.config, overrides(args))


def start_logging(verbose: int) -> None:
    """Send the log to stderr: warnings, with ``-v`` what happens, with ``-vv`` everything."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
