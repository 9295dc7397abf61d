"""Where Prometheus scrapes a process: ``http://HOST:PORT/metrics``.

One thread answers one scrape after the other; a client that says nothing is dropped after
`PATIENCE_S`, so whoever connects costs a thread and a few kilobytes at the most. Each scrape reads
the things of all panels. One that cannot be read is left out and counted: the others are shown.
"""

from __future__ import annotations

import logging
import socket
import threading
from typing import TYPE_CHECKING, Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from evenflow.closing import Closing
from evenflow.config.metrics_section import parse_endpoint
from evenflow.errors import ConfigError
from evenflow.metrics.catalogue import PROCESS
from evenflow.metrics.panel import COUNTER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.metrics_core import Metric as Family

    from evenflow.metrics.panel import Panel, Source

_LOG = logging.getLogger(__name__)

PATIENCE_S: Final = 5.0
"""How long a client may say nothing."""


class Endpoint(Closing):
    """Answers scrapes until it is closed. Use ``with``.

    Args:
        where: ``PORT`` of the loopback, ``HOST:PORT``, or with a range of ports (``9101-9110``) the
            first that is free; port 0 takes any.
        key: What the address was given by, for errors.

    Raises:
        ConfigError: It is no address, or its port is taken.
    """

    def __init__(self, where: str, key: str = "--metrics") -> None:
        self.scrape_errors = 0
        """Panels that could not be read."""
        host, ports = parse_endpoint(where, key)
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._server = _listen(host, ports, where, key)
        self._server.set_app(make_wsgi_app(self._registry))
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._server.server_port}/metrics"
        """Where it is."""
        self.show(PROCESS, lambda: [((), self)])
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="metrics", daemon=True
        )
        self._thread.start()

    def show(self, panel: Panel, source: Source) -> None:
        """Show the metrics of some things from now on."""
        self._registry.register(_Shown(self, panel, source))

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Shown(Collector):
    """The things of one panel, as Prometheus wants them."""

    def __init__(self, endpoint: Endpoint, panel: Panel, source: Source) -> None:
        self._endpoint = endpoint
        self._panel = panel
        self._source = source
        self._told = False

    def describe(self) -> Iterator[Family]:
        """Their names; reading waits for the first scrape."""
        return iter(self._families())

    def collect(self) -> Iterator[Family]:
        """Their values now."""
        families = self._families()
        try:
            for labels, thing in self._source():
                for metric, family in zip(self._panel.metrics, families, strict=True):
                    for own, value in metric.values(thing).items():
                        family.add_metric([*labels, *own], value)
        except Exception:  # noqa: BLE001 - the others are shown all the same
            self._endpoint.scrape_errors += 1
            if not self._told:
                self._told = True
                _LOG.exception("the metrics of %s cannot be read", self._panel.what)
            return iter(())
        return iter(families)

    def _families(self) -> list[Any]:
        kinds = {COUNTER: CounterMetricFamily}
        return [
            kinds.get(one.kind, GaugeMetricFamily)(
                one.name, one.meaning, labels=[*self._panel.labels, *one.labels]
            )
            for one in self._panel.metrics
        ]


class _Quiet(WSGIRequestHandler):
    """Answers without a line in the log for each request."""

    timeout = PATIENCE_S

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        """Say it to who wants everything."""
        _LOG.debug(format, *args)


class _Server(WSGIServer):
    """Does not ask the name service how this machine is called."""

    def server_bind(self) -> None:
        """Take the port."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client went away in the middle: its own affair."""
        del request
        _LOG.debug("a scrape by %s failed", client_address, exc_info=True)


class _Server6(_Server):
    address_family = socket.AF_INET6


def _listen(host: str, ports: range, where: str, key: str) -> WSGIServer:
    """Take the first port that is free."""
    kind = _Server6 if ":" in host else _Server
    reason = ""
    for port in ports:
        try:
            return kind((host, port), _Quiet)
        except OSError as error:
            reason = error.strerror or str(error)
    which = f"port {ports[0]}" if len(ports) == 1 else f"each of the ports {ports[0]}-{ports[-1]}"
    raise ConfigError(
        key, where, f"{which} of {host} cannot be used ({reason}): name another, or 0 for any"
    )
