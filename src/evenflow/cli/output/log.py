"""The log of a command, and the lines it says to its operator: stderr, in one of two shapes.

``text`` is for people. ``json`` is for machines: every line of stderr is one JSON object with
``time``, ``level``, ``logger`` and ``message``, and with what an event names (``event``, ``topic``,
``node`` ...). The choice is in the environment (`VARIABLE`), so processes that a command starts
make the same.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Any, Final

VARIABLE: Final = "EVENFLOW_LOG_FORMAT"
TEXT: Final = "text"
JSON: Final = "json"
FORMATS: Final = (TEXT, JSON)
LEVELS: Final = (logging.WARNING, logging.INFO, logging.DEBUG)
"""By how often ``-v`` is given."""

_OWN: Final = "evenflow"
_USUAL: Final = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}
"""What every record has; the rest is what an event names."""


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        when = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "pid": record.process,
        }
        line.update({key: value for key, value in vars(record).items() if key not in _USUAL})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_format() -> str:
    """The shape that was asked for; what is none counts as ``text``."""
    found = os.environ.get(VARIABLE, TEXT)
    return found if found in FORMATS else TEXT


def choose_format(name: str) -> None:
    """Write the log in this shape from now on, here and in processes that are started."""
    os.environ[VARIABLE] = name


def start_logging(verbose: int) -> None:
    """Send the log to stderr: warnings, with ``-v`` what happens, with ``-vv`` everything."""
    handler = logging.StreamHandler()
    if log_format() == JSON:
        handler.setFormatter(JsonFormatter())
    else:
        plain = "%(asctime)s %(levelname)s %(name)s: %(message)s"
        handler.setFormatter(logging.Formatter(plain))
    logging.basicConfig(level=LEVELS[min(verbose, 2)], handlers=[handler])


def say(message: str, level: int = logging.INFO) -> None:
    """Say a line to the operator: how far a process is, a warning, an error.

    It is said however the log is set; a warning or an error begins with the name of the program.
    """
    if log_format() == JSON:
        record = logging.LogRecord(_OWN, level, "", 0, message, None, None)
        line = JsonFormatter().format(record)
    elif level >= logging.WARNING:
        line = f"{_OWN}: {logging.getLevelName(level).lower()}: {message}"
    else:
        line = message
    print(line, file=sys.stderr, flush=True)


def warn(message: str) -> None:
    """Say what an operator should look at."""
    say(message, logging.WARNING)


def fail(message: str) -> None:
    """Say why something was not done."""
    say(message, logging.ERROR)
