"""The commands of ``evenflow``: name, place, one line of help.

The line stands here and not in the modules, so ``evenflow --help`` imports none of them. Others
add commands by the entry point group ``evenflow.commands``, as ``evenflow_experiments`` does: each
names a click command, best one made by :func:`evenflow.cli.options.command`, in a module that is
quick to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

import rich_click as click

from evenflow.cli.options import SharedHelp
from evenflow.extras import explained, require
from evenflow.registry import Registry


class Later(click.RichCommand):
    """Stands for a command until it is used, and only then imports it.

    Args:
        target: ``MODULE:NAME`` of the command, which is called the same, with ``-`` for ``_``.
        line: One line that says what it does.
        extras: What it needs besides the base; where that is more than one, all are named at once.
    """

    def __init__(self, target: str, line: str, extras: tuple[str, ...] = ()) -> None:
        self._extras = extras
        self.module, _, self._attribute = target.partition(":")
        super().__init__(name=self._attribute.replace("_", "-"), short_help=line)

    def load(self) -> click.Command:
        """Import the command; `MissingExtra` when it needs what an extra brings."""
        require(*self._extras)
        try:
            module = import_module(self.module)
        except ModuleNotFoundError as error:
            raise explained(error) from error
        return cast("click.Command", getattr(module, self._attribute))

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Import the command and let it read its arguments."""
        return self.load().make_context(info_name, args, parent, **extra)


class LazyGroup(SharedHelp, click.RichGroup):  # type: ignore[misc] # so is RichGroup itself
    """A group whose commands are those of a registry.

    Args:
        registry: The commands by name; an unknown name is the registry's error.
    """

    def __init__(self, *args: Any, registry: Registry[click.Command], **more: Any) -> None:
        super().__init__(*args, **more)
        self.registry = registry

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names."""
        del ctx
        return list(self.registry)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """The command of this name."""
        del ctx
        return self.registry.get(cmd_name)


COMMANDS: Registry[click.Command] = Registry(
    "command",
    {
        "archive": Later(
            "evenflow.cli.archive:archive", "keep durable topics in the overlay store"
        ),
        "balancer": Later("evenflow.cli.balancer:balancer", "assign slices to nodes and move them"),
        "bridge": Later("evenflow.cli.bridge.bridge:bridge", "let devices without DDS in"),
        "bridges": Later(
            "evenflow.cli.bridge.bridges:bridges", "list the bridges and their ring; drain one"
        ),
        "broker": Later("evenflow.cli.broker:broker", "store topics as part of the overlay"),
        "config": Later("evenflow.cli.config:config", "check the configuration and print it"),
        "consumers": Later("evenflow.cli.consumers:consumers", "list who reads a served topic"),
        "dead": Later("evenflow.cli.topics.dead:dead", "list what applications could not process"),
        "devices": Later("evenflow.cli.bridge.devices:devices", "list the devices on bridges"),
        "fleet": Later(
            "evenflow.cli.mobile.fleet:fleet",
            "drive simulated vehicles that report as mobile nodes",
        ),
        "gateway": Later("evenflow.cli.mobile.gateway:gateway", "let mobile nodes in"),
        "gateways": Later(
            "evenflow.cli.mobile.gateways:gateways", "list the gateways; drain one, or give one up"
        ),
        "groups": Later("evenflow.cli.mobile.groups:groups", "list the groups of mobile nodes"),
        "history": Later("evenflow.cli.history:history", "tell what was planned, done, and why"),
        "keys": Later("evenflow.cli.access.keys:keys", "make the keys of tokens and certificates"),
        "mailbox": Later("evenflow.cli.mobile.mailbox:mailbox", "hold messages to mobile nodes"),
        "mailboxes": Later("evenflow.cli.mobile.mailbox:mailboxes", "list the mailboxes"),
        "node": Later("evenflow.cli.node:node", "process the items of slices with an application"),
        "nodes": Later("evenflow.cli.nodes:nodes", "list the processing nodes and their load"),
        "plan": Later("evenflow.cli.plan:plan", "show what an algorithm would move now"),
        "publish": Later("evenflow.cli.publish:publish", "publish lines, files or generated items"),
        "qos": Later(
            "evenflow.cli.qos.topics:qos", "list how full topics are, and what is thinned"
        ),
        "send": Later("evenflow.cli.mobile.send:send", "send a message to mobile nodes"),
        "slices": Later("evenflow.cli.slices:slices", "list slices and moves, or move some"),
        "tail": Later("evenflow.cli.topics.tail:tail", "show the items of a topic as they come"),
        "token": Later("evenflow.cli.access.token:token", "issue, list and revoke tokens"),
        "topics": Later("evenflow.cli.topics.topics:topics", "list the topics and who reads them"),
        "up": Later(
            "evenflow.cli.up:up",
            "run everything on this machine, with a live table",
            ("mobile", "spark"),
        ),
        "writers": Later("evenflow.cli.writers:writers", "list the writers of a topic"),
    },
    group="evenflow.commands",
)
