"""The two who note what they are given: the application of the nodes, and a following consumer.

``evenflow node --app evenflow_experiments.faults.recording:record`` writes into the file that the
environment names. ``python -m evenflow_experiments.faults.recording CONFIG TOPIC FILE`` follows a
topic; it stores the position of each batch with its ids, in one line, and skips a batch whose
position it has, as docs/consumers.md tells programs to.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evenflow.config import Config
from evenflow_experiments.faults.books import entry, parse_entry

if TYPE_CHECKING:
    from evenflow.model.batch import Batch

APP: Final = "evenflow_experiments.faults.recording:record"
VARIABLE: Final = "EVENFLOW_FAULTS_BOOK"
CONSUMER: Final = "follower"
"""Its name in the domain; Spark's is ``spark``."""


@cache
def _opened(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def record(batch: Batch) -> None:
    """Note a batch, in one write, before the node says that it is processed."""
    line = entry(time.monotonic(), batch.ids.tolist())
    os.write(_opened(os.environ[VARIABLE]), line.encode())


def main() -> None:
    """Follow a topic until killed."""
    from evenflow.slices.consumer.following import follow  # noqa: PLC0415 - not in the nodes

    config_file, topic, path = sys.argv[1:]
    known = _positions(Path(path))
    file = _opened(path)
    with follow(topic, CONSUMER, config=Config.load(Path(config_file))) as following:
        for batch in following:
            position = hashlib.sha256(str(batch.position).encode()).hexdigest()[:24]
            if position not in known:
                known.add(position)
                os.write(file, entry(time.monotonic(), batch.ids.tolist(), position).encode())


def _positions(path: Path) -> set[str]:
    if not path.exists():
        return set()
    entries = map(parse_entry, path.read_text(encoding="utf-8").splitlines())
    return {one.key for one in entries if one is not None}


if __name__ == "__main__":
    main()
