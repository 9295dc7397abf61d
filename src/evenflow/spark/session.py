"""A Spark session that knows Evenflow, with the settings a stream of small batches wants.

What is set, unless the caller sets it otherwise: this Python for Spark's Python processes, the
loopback address for a local master, no user interface, few shuffle partitions, and a single
unchecksummed file system for checkpoints on local disk.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from pyspark.sql import SparkSession

from evenflow.spark import register

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULTS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}


def session(
    name: str = "evenflow", master: str = "local[2]", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Start a session, or get the one that runs, and make ``format("evenflow")`` known to it."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    chosen = dict(DEFAULTS)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        chosen["spark.driver.host"] = "127.0.0.1"
    chosen |= settings or {}
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in chosen.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    register(spark)
    return spark
