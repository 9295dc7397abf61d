"""The Spark query: a served topic into Parquet files, one core, a micro-batch every few seconds.

``python -m evenflow_experiments.faults.querying CONFIG TOPIC OUT CHECKPOINT``; it runs until it is
killed, or until the query fails.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Final

TRIGGER: Final = "2 seconds"
MEMORY: Final = "768m"


def main() -> None:
    """Run the query."""
    from evenflow.spark.session import (  # noqa: PLC0415 - Spark in this process alone
        quick_home,
        session,
    )

    config, topic, out, checkpoint = sys.argv[1:]
    os.environ["SPARK_HOME"] = str(quick_home(Path(tempfile.mkdtemp())))
    spark = session("evenflow faults", "local[1]", {"spark.driver.memory": MEMORY})
    items = spark.readStream.format("evenflow").option("config", config).option("topic", topic)
    query = (
        items.load()
        .select("id")
        .writeStream.format("parquet")
        .option("path", out)
        .option("checkpointLocation", checkpoint)
        .trigger(processingTime=TRIGGER)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
