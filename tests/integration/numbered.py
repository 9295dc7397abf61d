"""Publishes items 0 to N - 1, and as many more when a file ``go`` lies beside the configuration."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from evenflow.config import Config
from evenflow.slices.publisher.publisher import Publisher

config, count = Path(sys.argv[1]), int(sys.argv[2])
with Publisher("items", config=Config.load(config)) as publisher:
    publisher.publish_many([b"first"] * count, ids=range(count))
    publisher.flush()
    while not (config.parent / "go").exists():
        time.sleep(0.05)
    publisher.publish_many([b"second"] * count, ids=range(count, 2 * count))
