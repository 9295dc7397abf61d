"""A Spark session that knows Evenflow, with the settings a stream of small batches wants.

What is set, unless anybody has set it otherwise: this Python for Spark's Python processes, no user
interface, few shuffle partitions, and for a local master the loopback address and a quick way to
write checkpoints (`LOCAL_FILES`). What ``spark-submit`` was given, on its command line or in
``spark-defaults.conf``, stays as it is, the master and the application's name included; so does a
session that runs.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from evenflow.spark import register
from evenflow.spark.process import check_java

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["session"]

DEFAULTS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}

RAW_FILES: Final = "spark.hadoop.fs.file.impl"
STATE_STORE: Final = "spark.sql.streaming.stateStore.providerClass"
LOCAL_FILES: Final = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    RAW_FILES: "org.apache.hadoop.fs.RawLocalFileSystem",
}
"""For each checkpoint file on local disk, Spark's usual way starts ten processes (Hadoop has
``readlink`` and ``chmod`` look after it and its checksum), and a micro-batch with state writes
four files or more. This way it is one process, and the same rename puts the file in its place.
Hadoop writes no checksums beside local files then.
"""

USUAL_FILES: Final = {
    RAW_FILES: "org.apache.hadoop.fs.LocalFileSystem",
    "spark.hadoop.fs.file.impl.disable.cache": "true",
}
"""For the RocksDB state store, which copies files in a way that Hadoop's own file system alone can
do. Said in so many words, and past the cache of file systems: in a Java process that had a session
before, that one's would count.
"""

_ARGUMENTS: Final = {"--master": "spark.master", "--name": "spark.app.name"}


def session(
    name: str = "evenflow", master: str = "", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Start a session, or get the one that runs, and make ``format("evenflow")`` known to it.

    Args:
        name: Name of the application, unless ``spark-submit`` was given one.
        master: The master; else that of ``spark-submit`` or ``spark-defaults.conf``, else two
            local threads.
        settings: Settings, which count before all others.
    """
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    runs = SparkContext._active_spark_context is not None  # noqa: SLF001 - nothing public tells
    given = {} if runs else given_settings(os.environ)
    chosen = dict(settings or {}) if runs else chosen_settings(name, master, settings or {}, given)
    if chosen.get("spark.master", "").startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder
    for key, value in chosen.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    if not runs and not _is_submitted(os.environ) and "spark.log.level" not in given | chosen:
        spark.sparkContext.setLogLevel("ERROR")
    register(spark)
    return spark


def _is_submitted(environment: Mapping[str, str]) -> bool:
    """Whether ``spark-submit`` has started this process: then Java runs already."""
    return "PYSPARK_GATEWAY_PORT" in environment


def given_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """What Spark is given by others, as far as it can be known before Java runs.

    ``spark-submit`` hands down its command line and ``spark-defaults.conf``. A program that is
    started as such has that file, and ``PYSPARK_SUBMIT_ARGS``.
    """
    if _is_submitted(environment):
        SparkContext._ensure_initialized()  # noqa: SLF001 - connects to the Java that runs
        return dict(SparkConf().getAll())
    home = environment.get("SPARK_HOME")
    folder = environment.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else "")
    file = Path(folder) / "spark-defaults.conf"
    found = _of_file(file.read_text(encoding="utf-8")) if folder and file.is_file() else {}
    return found | _of_arguments(shlex.split(environment.get("PYSPARK_SUBMIT_ARGS", "")))


def _of_file(text: str) -> dict[str, str]:
    """A file of properties: a name, then a space or ``=``, then the value."""
    lines = (line.strip() for line in text.splitlines())
    parts = (re.split(r"\s*[=\s]\s*", line, maxsplit=1) for line in lines if line[:1] not in "#!")
    return {part[0]: part[1] for part in parts if len(part) > 1}


def _of_arguments(arguments: Sequence[str]) -> dict[str, str]:
    """Arguments of ``spark-submit``, as far as they are settings that matter here."""
    found: dict[str, str] = {}
    for option, value in pairwise(arguments):
        if option == "--conf":
            found |= dict([value.partition("=")[::2]])
        elif option in _ARGUMENTS:
            found[_ARGUMENTS[option]] = value
    return found


def chosen_settings(
    name: str, master: str, settings: Mapping[str, str], given: Mapping[str, str]
) -> dict[str, str]:
    """What to set for a session, where nobody else has.

    Args:
        name: Name of the application.
        master: The master, if the caller names one.
        settings: The caller's settings.
        given: What Spark was given by ``spark-submit`` and its files.
    """
    master = master or given.get("spark.master", "local[2]")
    chosen = {"spark.app.name": name, "spark.master": master} | DEFAULTS
    if master.startswith("local"):
        chosen |= {"spark.driver.host": "127.0.0.1"} | LOCAL_FILES
    if "RocksDB" in {**given, **settings}.get(STATE_STORE, ""):
        chosen |= USUAL_FILES if RAW_FILES in chosen else {}
    wanted = {key: value for key, value in chosen.items() if key not in given}
    if master != given.get("spark.master", master):
        wanted["spark.master"] = master
    return wanted | dict(settings)


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
