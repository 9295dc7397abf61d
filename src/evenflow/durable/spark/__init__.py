"""``format("evenflow-store")``: topics of the overlay store as tables and streams of Spark.

    spark = evenflow.spark.session.session("meters")  # or evenflow.spark.register(spark)
    past = spark.read.format("evenflow-store").option("topic", "meters").load()

==============  ===============================================================================
`options`       what a user may set, checked
`reading`       what is planned, and what tasks read, as Arrow
`streaming`     offsets of streams, and what lies between two
`source`        the classes of Spark's Data Source API
`joined`        ``format("evenflow")`` on a durable topic: its archive, then the live stream
`sink`          tables and streams into the store
==============  ===============================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.extras import require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]

require("spark")

FILTERS: Final = "spark.sql.python.filterPushdown.enabled"
"""Spark's setting that lets Python sources look at filters."""


def register(spark: SparkSession) -> None:
    """Make ``format("evenflow-store")`` known to a session, and archives to the other source."""
    from evenflow.durable.spark.joined import JoinedSource  # noqa: PLC0415 - Spark only when used
    from evenflow.durable.spark.source import StoreSource  # noqa: PLC0415
    from evenflow.spark.task_times import serve_task_times  # noqa: PLC0415

    # Without the setting Spark refuses readers that know of filters; who has set it has decided.
    pushes = spark.conf.get(FILTERS, "true") == "true"
    if pushes:
        spark.conf.set(FILTERS, "true")
    of_session = {"times_at": serve_task_times(spark), "pushes_filters": pushes}
    for source in (StoreSource, JoinedSource):
        spark.dataSource.register(type(source.__name__, (source,), of_session))
