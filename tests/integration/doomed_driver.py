"""A query that publishes lines of files, whose driver kills its own JVM in the sink's window.

``python doomed_driver.py CONFIG FOLDER MOMENT``; each file of ``FOLDER/lines`` is a micro-batch.
In the second one, at a MOMENT, the Java process of Spark's driver is killed, and the Python process
that commits with it: *written* is when the outbox has the batch and nobody was told that nodes have
it, *published* when the sink is through and Spark has not noted the batch; *never* is never.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from evenflow.slices.publisher.publisher import Publisher
from evenflow.spark.session import quick_home, session
from evenflow.spark.sink import StreamWriter
from evenflow.spark.source import EvenflowSource

DOOMED_BATCH = 1


class DoomedWriter(StreamWriter):
    """The sink, with a moment at which it dies."""

    moment: ClassVar[str] = ""
    jvm: ClassVar[int] = 0

    def commit(self, messages: Any, batchId: int) -> None:  # noqa: N803
        """Publish a micro-batch, or die."""
        if batchId == DOOMED_BATCH and self.moment == "written":
            Publisher.flush = lambda *_: self.die()  # type: ignore[method-assign]
        super().commit(messages, batchId)
        if batchId == DOOMED_BATCH and self.moment == "published":
            self.die()

    def die(self) -> None:
        """``kill -9``."""
        for process in (self.jvm, os.getpid()):
            os.kill(process, signal.SIGKILL)


class DoomedSource(EvenflowSource):
    """``format("doomed")``."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format``."""
        return "doomed"

    def streamWriter(self, schema: Any, overwrite: bool) -> StreamWriter:  # noqa: N802
        """Publish results."""
        writer = super().streamWriter(schema, overwrite)
        writer.__class__ = DoomedWriter
        return writer


def main() -> None:
    """Run the query to the end of its files."""
    config, folder, moment = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    os.environ["SPARK_HOME"] = str(quick_home(Path(tempfile.mkdtemp(dir=folder))))
    spark = session("doomed", "local[1]")
    # Classes of a program travel to Spark's Python processes with what they hold.
    DoomedWriter.moment = moment
    DoomedWriter.jvm = spark._jvm.java.lang.ProcessHandle.current().pid()
    spark.dataSource.register(DoomedSource)
    lines = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "lines"))
    query = (
        lines.selectExpr("CAST(value AS LONG) AS id", "CAST(value AS BINARY) AS payload")
        .writeStream.format("doomed")
        .option("config", config)
        .option("topic", "items")
        .option("name", "lines")
        .option("outbox", str(folder / "outbox"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
