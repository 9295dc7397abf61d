"""What Spark itself knows of a query, for the query's place in the domain.

Spark's status store lives in the driver's JVM and answers only the Python process that started it,
the one with the user's program. The query's place in the domain is another process, which Spark
starts on the same machine. So :func:`serve_task_times` opens a small read-only HTTP service in the
user's process, on the loopback address; nothing else can be asked for than

* ``GET /stages/7``: run times in seconds of the tasks of an ended stage, ``{"23": 0.514, ...}``;
* ``GET /queries/ID``: the duration of a query's newest batch, ``{"batch_s": 0.7}``.

:func:`task_times` and :func:`batch_seconds` ask it.
"""

from __future__ import annotations

import http.client
import json
import logging
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

MOST_TASKS: Final = 1_000
"""Tasks of a stage that are looked at."""
ASK_S: Final = 5.0
_PATH: Final = re.compile(r"/(stages|queries)/([0-9a-f-]{1,36})")
_LOG = logging.getLogger(__name__)


def task_times(address: str, stage: int) -> dict[int, float]:
    """Run times, in seconds, of the tasks of an ended stage; empty when nobody knows."""
    return {int(task): seconds for task, seconds in _ask(address, f"/stages/{stage}").items()}


def batch_seconds(address: str, query: str) -> float | None:
    """How long the newest batch of a query took; None when nobody knows."""
    return _ask(address, f"/queries/{query}").get("batch_s")


def _ask(address: str, path: str) -> dict[str, float]:
    connection = http.client.HTTPConnection(address, timeout=ASK_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        found = json.loads(answer.read()) if answer.status == http.HTTPStatus.OK else {}
        return {str(name): float(value) for name, value in found.items()}
    except (OSError, http.client.HTTPException, ValueError, AttributeError, TypeError) as error:
        _LOG.debug("no answer from %s%s: %s", address, path, error)
        return {}
    finally:
        connection.close()


def run_times(context: SparkContext, stage: int) -> dict[int, float]:
    """Seconds that each task of a stage has run, by its number; empty until the stage has ended."""
    store = context._jsc.sc().statusStore()  # noqa: SLF001 - PySpark shows it nowhere
    found = store.lastStageAttempt(stage)
    if found.status().toString() != "COMPLETE":
        return {}
    tasks = store.taskList(stage, found.attemptId(), MOST_TASKS).iterator()
    times = {}
    while tasks.hasNext():
        task = tasks.next()
        metrics = task.taskMetrics()
        if task.status() == "SUCCESS" and metrics.isDefined():
            times[int(task.taskId())] = metrics.get().executorRunTime() / 1_000
    return times


class TaskTimes:
    """The service, in threads of its own, until it is closed."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._context = spark.sparkContext
        service = self

        class Handler(BaseHTTPRequestHandler):
            timeout = ASK_S

            def do_GET(self) -> None:
                service.answer(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                _LOG.debug(format, *args)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(
            target=self._server.serve_forever, name="evenflow-task-times", daemon=True
        ).start()

    @property
    def over(self) -> bool:
        """Whether its session has ended."""
        return self._context._jsc is None  # noqa: SLF001 - PySpark has no other sign

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        asked = _PATH.fullmatch(request.path)
        if asked is None:
            request.send_error(http.HTTPStatus.NOT_FOUND)
            return
        try:
            find = {"stages": self._run_times, "queries": self._newest_batch}[asked[1]]
            body = json.dumps(find(asked[2])).encode()
        except Exception as error:  # noqa: BLE001 - whatever the JVM says, the program goes on
            _LOG.debug("no answer to %s: %s", request.path, error)
            request.send_error(http.HTTPStatus.SERVICE_UNAVAILABLE)
            return
        request.send_response(http.HTTPStatus.OK)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def _run_times(self, stage: str) -> dict[int, float]:
        return run_times(self._context, int(stage))

    def _newest_batch(self, query: str) -> dict[str, float]:
        found = self._spark.streams.get(query)
        progress = None if found is None else found.lastProgress
        if progress is None:
            return {}
        return {"batch_s": progress.durationMs["triggerExecution"] / 1_000}

    def close(self) -> None:
        """Answer nobody any more."""
        self._server.shutdown()
        self._server.server_close()


_services: Final[dict[str, TaskTimes]] = {}
_lock: Final = threading.Lock()


def serve_task_times(spark: SparkSession) -> str:
    """Where to ask about a session's tasks; empty when nobody can know them.

    A session of Spark Connect has no JVM here: queries run as ever, and the balancer goes by items.
    """
    context = getattr(spark, "_sc", None)
    if context is None:
        return ""
    with _lock:
        for name in [name for name, service in _services.items() if service.over]:
            _services.pop(name).close()
        name = context.applicationId
        if name not in _services:
            _services[name] = TaskTimes(spark)
        return _services[name].address
