"""How executors start processes on their machine: detached, with the configuration in force here.

A process that was started goes on when the one that started it ends, and Ctrl-C is not for it.
"""

from __future__ import annotations

import logging
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenflow.config import Config

_LOG = logging.getLogger(__name__)


class Launcher:
    """Starts processes.

    Args:
        config: What they shall read, whatever file and options it came from.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.children: list[subprocess.Popen[bytes]] = []
        """Processes that were started and have not ended."""

    def command(self, parts: Iterable[str], values: Mapping[str, str]) -> list[str]:
        """Fill in a command: ``values``, and ``{config}``; a part that becomes empty goes."""
        filled = [part.format(**values, config=self._config_file()) for part in parts]
        return [part for part in filled if part]

    def run(self, command: list[str], *, name: str) -> subprocess.Popen[bytes]:
        """Start a process.

        Raises:
            OSError: It cannot be.
        """
        _LOG.info("%s: %s", name, " ".join(command))
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        self.children.append(process)
        return process

    def reap(self) -> None:
        """Take notice of those that have ended."""
        self.children = [child for child in self.children if child.poll() is None]

    def close(self) -> None:
        """Forget the processes; they stay."""
        if self._folder is not None:
            self._folder.cleanup()

    def _config_file(self) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="evenflow-elastic-")
        file = Path(self._folder.name) / "evenflow.toml"
        file.write_text(self._config.as_toml(), encoding="utf-8")
        return file
