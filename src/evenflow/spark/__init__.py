"""The pipeline on Apache Spark: a source and a sink of Structured Streaming.

.. code-block:: python

    from evenflow.spark import register

    register(spark)
    items = spark.readStream.format("evenflow").option("topic", "fleet").load()

======================  =========================================================================
:mod:`~.options`        what a user may set, checked; pure
:mod:`~.columns`        the schema; pure
:mod:`~.encodings`      columns decoded from payloads: JSON, Avro, structs; pure
:mod:`~.offsets`        positions as Spark keeps them, with what publishers left out; pure
:mod:`~.progress`       lag and other figures in the progress of a query; pure
:mod:`~.tasks`          a micro-batch in more tasks than there are nodes; pure
:mod:`~.source`         the Data Source API's classes
:mod:`~.topic_stream`   one topic of a query: its place in the domain (driver)
:mod:`~.sink`           publishes results, each micro-batch once (driver)
:mod:`~.table_sink`     publishes tables (driver)
:mod:`~.session`        a session with the settings that small micro-batches want
:mod:`~.process`        a driver in a process of its own, seen by who started it
:mod:`~.costs`          learns what slices cost from the run times of tasks; pure
:mod:`~.metering`       what a task reads of each slice (executors)
:mod:`~.task_times`     how long tasks ran, from Spark's status store (the user's process)
:mod:`~.query_watch`    the query's costs and properties, told to the domain (driver)
:mod:`~.reused`         spares Spark's Python processes what each task would pay for again
======================  =========================================================================

The query's place in the domain is a :class:`~evenflow.slices.consumer.follower.Follower`, and tasks
read with :mod:`evenflow.slices.consumer.reading`. The exactly-once argument is in
:mod:`evenflow.slices.consumer.core` and :mod:`evenflow.slices.node.serving.rules`; this package
only carries it to Spark. Importing this package starts no Spark, but needs the extra ``[spark]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.extras import require
from evenflow.spark.offsets import thinned
from evenflow.spark.progress import figures

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["figures", "register", "thinned"]

require("spark")

FILTERS: Final = "spark.sql.python.filterPushdown.enabled"
"""Spark's setting that lets Python sources look at filters."""


def register(spark: SparkSession) -> None:
    """Make ``format("evenflow")`` known to a session, and the session's task times to queries."""
    from evenflow.spark.source import source_with_times  # noqa: PLC0415 - Spark only when it is used
    from evenflow.spark.task_times import serve_task_times  # noqa: PLC0415

    # Without the setting Spark refuses readers that know of filters; who has set it has decided.
    pushes = spark.conf.get(FILTERS, "true") == "true"
    if pushes:
        spark.conf.set(FILTERS, "true")
    spark.dataSource.register(source_with_times(serve_task_times(spark), pushes_filters=pushes))
