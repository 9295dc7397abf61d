"""What all commands share: their options, the configuration these lead to, the shape of the help.

A command is a function under the decorator `command`::

    @command("nodes", examples=EXAMPLES)
    @click.option("--topic", metavar="T", help="the topic (the first configured)")
    def nodes(shared: Shared, topic: str | None) -> int:
        \"\"\"List the processing nodes and their load.\"\"\"

The shared options may stand before the command's name or after it: both places fill the same
`Shared` object, which the function is given first. The function returns the exit code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import rich_click as click
from click.core import ParameterSource

from evenflow.cli.output.log import FORMATS, VARIABLE, choose_format, start_logging
from evenflow.cli.values import setting
from evenflow.config import Config

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenflow.errors import ConfigError

HELP_STYLE = {
    "theme": "default-slim",
    "show_arguments": True,
    "style_helptext": "",
}
"""How rich-click draws the help: without frames, so that 80 columns are enough."""
SHARED = "Shared options"
PANELS = ("Arguments", "Options", SHARED)
"""The parts of the help after the commands, in their order."""


@dataclass(slots=True)
class Shared:
    """What the shared options say."""

    file: str | None = None
    """The configuration file; None for the usual places."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Configuration keys given on the command line; they win over the file."""
    verbose: int = 0
    """How many times ``-v`` was given."""

    def config(self, defaults: Mapping[str, Any] | None = None) -> Config:
        """Read the configuration; ``defaults`` win over the file but not over the command line."""
        return Config.load(self.file, {**(defaults or {}), **self.settings})

    def examine(self) -> tuple[Config | None, list[ConfigError]]:
        """Read the configuration without what is wrong with it; return that, too."""
        return Config.examine(self.file, self.settings)


pass_shared = click.make_pass_decorator(Shared, ensure=True)


def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:
    """Write a shared option that was given into the context's `Shared`."""
    shared = context.ensure_object(Shared)
    if value == "":
        raise click.BadParameter("must not be empty", context, option)
    match option.name, value:
        case "config", str():
            shared.file = value
        case "domain", int():
            shared.settings["domain.id"] = value
        case "set", pairs:
            shared.settings.update(pairs)
        case "verbose", flags:
            shared.verbose += len(flags)
        case "log_format", str():
            choose_format(value)


def shared_options() -> list[click.Parameter]:
    """Make the options that every command understands."""
    common: dict[str, Any] = {"expose_value": False, "callback": _keep, "panel": SHARED}
    return [
        click.RichOption(
            ["--config"],
            metavar="FILE",
            help="configuration file (else $EVENFLOW_CONFIG, else ./evenflow.toml)",
            **common,
        ),
        click.RichOption(["--domain"], metavar="N", type=int, help="DDS domain id", **common),
        click.RichOption(
            ["--set"],
            metavar="KEY=VALUE",
            type=setting,
            multiple=True,
            help="set a configuration key, as in node.deliver_items=64 (may be repeated)",
            **common,
        ),
        click.RichOption(
            ["-v", "--verbose"],
            is_flag=True,
            multiple=True,
            help="log more (twice: everything)",
            **common,
        ),
        click.RichOption(
            ["--log-format"],
            type=click.Choice(FORMATS),
            envvar=VARIABLE,
            help=f"how the log is written: text, json (else ${VARIABLE}, else text)",
            **common,
        ),
    ]


class SharedHelp(click.RichCommand):
    """Understands the shared options, and prints its examples as they are written.

    Args:
        examples: Command lines with what they do, at the end of the help.
    """

    def __init__(
        self,
        *args: Any,
        examples: str,
        params: Sequence[click.Parameter] | None = None,
        **more: Any,
    ) -> None:
        params = [*(params or ()), *shared_options()]
        more["panels"] = [click.RichCommandPanel("Commands"), *map(click.RichOptionPanel, PANELS)]
        super().__init__(*args, params=params, epilog=examples.rstrip(), **more)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the examples line by line, where rich-click would flow them together."""
        del ctx
        from rich.text import Text  # noqa: PLC0415 - only the help needs it

        assert isinstance(formatter, click.RichHelpFormatter)
        formatter.write(Text(f"Examples:\n{self.epilog}"))


class Command(SharedHelp):
    """A command of ours."""

    def invoke(self, ctx: click.Context) -> Any:
        """Start the log, then run; an option that was given has to say something."""
        for one in ctx.command.params:
            given = ctx.get_parameter_source(one.name or "") is ParameterSource.COMMANDLINE
            value = ctx.params.get(one.name or "")
            if given and (value == "" or (isinstance(value, tuple) and "" in value)):
                raise click.BadParameter("must not be empty", ctx, one)
        start_logging(ctx.ensure_object(Shared).verbose)
        return super().invoke(ctx)


def command(name: str, *, examples: str) -> Callable[[Callable[..., int]], Command]:
    """Make a command of a function that takes `Shared` and its own options.

    Args:
        name: What the user types.
        examples: Command lines with what they do, at the end of the help.
    """

    def make(function: Callable[..., int]) -> Command:
        decorate = click.command(name, cls=Command, examples=examples)
        return decorate(pass_shared(function))

    return make
