"""``--metrics``: the endpoint of a command that runs until it is stopped.

The option wins over the key of the command in ``[metrics]``; without either nothing is opened, and
the library is not even imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from evenflow.cli.output.log import say
from evenflow.closing import Closing

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.config import Config
    from evenflow.metrics.endpoint import Endpoint
    from evenflow.metrics.panel import Panel, Source


def metrics_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option."""
    add = click.option(
        "--metrics",
        metavar="[HOST:]PORT",
        help="show metrics to Prometheus there, on the loopback unless a host is named (none)",
    )
    return add(function)


class Metering(Closing):
    """The endpoint of a command, or nothing where none is asked for. Use ``with``.

    Args:
        command: The command; its key in ``[metrics]`` is called so.
        where: What ``--metrics`` says.
        config: The configuration.

    Raises:
        ConfigError: It is no address, or its port is taken.
    """

    def __init__(self, command: str, where: str | None, config: Config) -> None:
        key = "--metrics" if where is not None else f"metrics.{command}"
        where = where if where is not None else getattr(config.metrics, command)
        self._endpoint: Endpoint | None = None
        if where or key == "--metrics":
            from evenflow.metrics.endpoint import Endpoint  # noqa: PLC0415 - only who is asked to

            self._endpoint = Endpoint(str(where), key)
            say(f"metrics at {self._endpoint.url}")

    def show(self, panel: Panel, source: Source) -> None:
        """Show the metrics of some things from now on."""
        if self._endpoint is not None:
            self._endpoint.show(panel, source)

    def close(self) -> None:
        """Answer no more."""
        if self._endpoint is not None:
            self._endpoint.close()
