"""A Spark session that knows Evenflow, with the settings a stream of small batches wants.

What is set, unless the caller sets it otherwise: this Python for Spark's Python processes, no user
interface, few shuffle partitions, and for a local master the loopback address and a quick way to
write checkpoints (`LOCAL_FILES`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyspark
from pyspark.sql import SparkSession

from evenflow.spark import register
from evenflow.spark.process import check_java

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULTS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}

LOCAL_FILES: Final = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
}
"""For each checkpoint file on local disk, Spark's usual way starts ten processes (Hadoop has
``readlink`` and ``chmod`` look after it and its checksum), and a micro-batch with state writes
four files or more. This way it is one process, and the same rename puts the file in its place.
Hadoop writes no checksums beside local files then.
"""


def session(
    name: str = "evenflow", master: str = "local[2]", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Start a session, or get the one that runs, and make ``format("evenflow")`` known to it."""
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    chosen = dict(DEFAULTS)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        chosen |= {"spark.driver.host": "127.0.0.1"} | LOCAL_FILES
    chosen |= settings or {}
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in chosen.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    register(spark)
    return spark


def quick_home(folder: Path) -> Path:
    """Make a home for a local Spark whose Python processes start in half the time.

    Spark gives its Python processes the sources of PySpark in a zip, which every one of them
    compiles anew. In a home without the zip they find the installed package, which is compiled.
    Set ``SPARK_HOME`` to it before the session starts; the folder must stay as long as Spark does.
    """
    home = folder / "spark-home"
    home.mkdir()
    for name in ("bin", "jars"):
        (home / name).symlink_to(Path(pyspark.__file__).parent / name)
    return home
