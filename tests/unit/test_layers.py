"""Who may import whom. The layers are the design, so a test walks every import of the package.

Layers, parts and libraries look at every import, also those for the type checker. Cycles and the
purity of cores look at what is imported when the program runs: a core may name a shell's type.
"""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

import evenflow
import evenflow_experiments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PRODUCT: Final = "evenflow"
EXPERIMENTS: Final = "evenflow_experiments"
ROOTS: Final = {
    PRODUCT: Path(evenflow.__file__).parent,
    EXPERIMENTS: Path(evenflow_experiments.__file__).parent,
}

# From the top: a package may import its own line and those below. Test doubles know all the others,
# and nobody knows them.
LAYERS: Final = (
    {"testing"},
    {"cli", "console", "fleet", "metrics", "reference", "apps", "__main__", "__init__"},
    {"durable"},
    {"spark", "mobile", "bridge", "qos", "overlay"},
    {"edge"},
    {"slices"},
    {"autonomic", "balance", "access"},
    {"domain"},
    {
        "model",
        "config",
        "errors",
        "extras",
        "loops",
        "registry",
        "query_options",
        "clock",
        "closing",
        "folders",
        "forking",
        "processes",
    },
    {"device"},
)
RANK: Final = {package: rank for rank, layer in enumerate(LAYERS) for package in layer}

# The parts meet in the domain and nowhere else.
PARTS: Final = {"spark", "mobile", "bridge", "qos", "overlay"}

# What stands above, and still goes without, but for one room.
WITHOUT: Final = {("durable", "spark"): "durable.spark."}

# Libraries that are hidden behind one place: the beginnings of module names.
HIDDEN: Final = {
    "cyclonedds": ("domain.",),
    "pyspark": ("spark.", "durable.spark", "fleet."),
    "cel_expr_python": ("autonomic.analyze.expression",),
    "scipy": ("overlay.space.", "overlay.balancing.quotas"),
    "qh3": ("mobile.link.",),
    "cryptography": ("access.",),
    "prometheus_client": ("metrics.endpoint",),
    "matplotlib": (),
    "numba": (),
    EXPERIMENTS: (),
}

# Modules that touch the world: packages as a whole, then single modules. All others are cores.
SHELL_PACKAGES: Final = (
    "__init__",
    "__main__",
    "cli",
    "fleet",
    "reference",
    "apps",
    "clock",
    "folders",
    "processes",
)
SHELLS: Final = frozenset(
    """
    access.keys access.register access.revocation
    autonomic.agent autonomic.execute.launching autonomic.execute.node_starter
    autonomic.execute.operator_order autonomic.execute.service
    autonomic.monitor.ping_station autonomic.monitor.sensors autonomic.rates
    autonomic.rates.station
    autonomic.knowledge.history autonomic.knowledge.journal
    bridge.shell.bridge bridge.shell.counting bridge.shell.domain_port bridge.shell.entities
    bridge.shell.handing bridge.shell.items bridge.shell.keys bridge.shell.orders
    bridge.shell.ring_turns
    bridge.shell.sensors bridge.shell.udp
    config config.loading
    device device.evenflow_device
    mobile.client.aio mobile.client.blocking mobile.client.disk mobile.client.shell
    mobile.client.wire
    mobile.link.accepting mobile.link.dialing mobile.link.listening mobile.link.quic
    mobile.link.quic_client mobile.link.quic_listener mobile.link.quic_state
    mobile.link.session mobile.link.tls mobile.link.tls_listener
    loops.opening loops.thread loops.watched
    metrics.catalogue metrics.endpoint
    mobile.mailbox.disk mobile.mailbox.folder mobile.mailbox.mailbox
    mobile.messenger.aio mobile.messenger.messenger
    domain domain.agents.entities domain.agents.topics domain.agents.types
    domain.cyclone domain.endpoints domain.flow domain.listener domain.observer
    domain.quality domain.settings domain.typed domain.types
    qos.plain qos.plain.reader qos.plain.writer
    durable.archive durable.archiver durable.live durable.reader durable.states
    durable.spark durable.spark.joined durable.spark.options
    durable.spark.reading
    durable.spark.sink durable.spark.source durable.spark.streaming
    edge.shell.disk edge.shell.domain_port edge.shell.marks edge.shell.topics edge.shell.twin_check
    edge.shell.unit_writer
    mobile.gateway.shell.domain_port mobile.gateway.shell.elastic_folders
    mobile.gateway.shell.executors mobile.gateway.shell.gateway
    mobile.gateway.shell.handover_history mobile.gateway.shell.links
    mobile.gateway.shell.sensors mobile.gateway.shell.starting
    overlay.broker.broker overlay.broker.disk overlay.broker.full_disk overlay.broker.local
    overlay.broker.move_history overlay.broker.namesakes
    overlay.client.aio overlay.client.blocking overlay.client.link overlay.protocol.connection
    qos.loop.joining
    slices.assignment slices.assignment.at_random slices.control_writers slices.spill
    slices.balancer.balancer slices.ending.disk slices.ending.saving
    slices.consumer.follower slices.consumer.following slices.consumer.idle_limit
    slices.consumer.planning slices.consumer.reading slices.consumer.finding
    slices.consumer.connections slices.consumer.watching
    slices.dead_letters.office slices.dead_letters.reading
    slices.node.application.replying slices.node.application.snapshotting
    slices.node.loop slices.node.node slices.node.sensors slices.node.worker
    slices.node.serving.flight_server slices.node.serving.shell
    slices.outbox.files slices.outbox.outbox slices.outbox.segments
    forking slices.publisher.aio slices.publisher.intake slices.publisher.outlet
    slices.publisher.publisher slices.publisher.sending.owner_writer
    slices.publisher.performer slices.publisher.sending.forked slices.publisher.sending.replayer
    slices.publisher.shell
    slices.publisher.thinning_shell
    slices.subscriber.aio slices.subscriber.reception slices.subscriber.replies
    slices.subscriber.subscriber
    testing.balancer testing.bridge.schedules testing.bridge.world testing.cluster
    testing.consumers.cluster testing.consumers.lapses testing.crossings.decisions
    testing.crossings.schedule testing.crossings.takeovers testing.durable_cluster testing.knowledge
    testing.edge.schedules testing.mobile.schedules testing.overlay.faults testing.schedules
    testing.overlay.lost_disks testing.seeds
    testing.serving_cluster testing.outages testing.planning testing.silences testing.loss.relay
    spark.cost_follower spark.metering spark.options spark.process spark.query_watch
    spark.reused spark.session spark.sink spark.sink_publishers spark.source spark.table_sink
    spark.task_times spark.topic_stream
    """.split()  # noqa: SIM905 - a list of words to read
)

# What only shells import: clocks, threads, sockets, processes, files, chance, and what wraps them.
WORLD: Final = {
    "asyncio", "concurrent", "ctypes", "fcntl", "mmap", "multiprocessing", "os", "pathlib", "queue",
    "secrets", "select", "selectors", "shutil", "signal", "socket", "sqlite3", "subprocess",
    "tempfile", "threading", "time",
    "cyclonedds", "psutil", "ssl", "pyarrow.flight", "pyspark", "rich", "rich_click",
}  # fmt: skip

MOST_LINES: Final = 350
ONE_FILE: Final = {"evenflow.device.evenflow_device": 650}
"""What is copied to a device is one file, whatever it has to hold."""
MOST_MODULES: Final = 20


# -- reading the source ----------------------------------------------------------------------------


def modules(package: str) -> dict[str, Path]:
    """All modules of a package by their name below it; a folder's own is ``folder.__init__``."""
    root = ROOTS[package]
    return {
        ".".join(path.relative_to(root).with_suffix("").parts): path
        for path in sorted(root.rglob("*.py"))
    }


MODULES: Final = modules(PRODUCT)


def imported(tree: ast.AST, package: str, *, types: bool = True) -> Iterator[str]:
    """Yield the full dotted name of everything a module of ``package`` imports.

    Args:
        tree: The module, or a part of it.
        package: Full name of the folder it lies in.
        types: Whether what only the type checker imports counts.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1]
            prefix = ".".join(base) if node.level else ""
            origin = ".".join(part for part in (prefix, node.module) if part)
            yield from (f"{origin}.{alias.name}" for alias in node.names)
        elif types or not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            yield from imported(node, package, types=types)


@cache
def imports_of(source: str, module: str, *, types: bool = True) -> tuple[str, ...]:
    """What a module of the product imports."""
    return tuple(imported(ast.parse(source), f"{PRODUCT}.{module}".rpartition(".")[0], types=types))


@cache
def read(module: str) -> str:
    return MODULES[module].read_text(encoding="utf-8")


@cache
def defined_in(name: str) -> str | None:
    """The module of the product that a full name comes from; through a package's re-exports."""
    root, *parts = name.split(".")
    if root != PRODUCT:
        return None
    for end in range(len(parts), 0, -1):
        if (found := ".".join(parts[:end])) in MODULES:
            return found
        if (package := f"{found}.__init__") in MODULES:
            if end == len(parts):
                return package
            passed_on = imports_of(read(package), package, types=False)
            origin = [one for one in passed_on if one.endswith(f".{parts[end]}")]
            return defined_in(origin[0]) if origin else package
    return None


def short(module: str) -> str:
    """A module as the lists above have it: a folder's own has the folder's name."""
    return module.removesuffix(".__init__")


# -- layers, parts, libraries ----------------------------------------------------------------------


def misplaced(source: str, module: str) -> list[str]:
    """Say which imports of a module break the layers; ``module`` is as in ``domain.codec``."""
    found = []
    for name in imports_of(source, module):
        root, *inner = name.split(".")
        if root in HIDDEN and not f"{module}.".startswith(HIDDEN[root] or "-"):
            found.append(f"{module} imports {root}, which belongs to {HIDDEN[root] or 'others'}")
        if root == PRODUCT and inner:
            found.extend(_above(module, inner[0]))
    return found


def _above(module: str, target: str) -> Iterator[str]:
    owner = module.split(".", maxsplit=1)[0]
    if target not in RANK or target == owner:  # a name of the root package, or its own package
        return
    if RANK[target] < RANK[owner]:
        yield f"{module} imports {target} from a layer above"
    elif {owner, target} <= PARTS:
        yield f"{module} imports {target}; the parts do not know one another"
    elif (owner, target) in WITHOUT and not module.startswith(WITHOUT[owner, target]):
        yield f"{module} imports {target}, which it shall do without"


@pytest.mark.parametrize("module", MODULES)
def test_module_keeps_to_its_layer(module: str) -> None:
    assert module.split(".", maxsplit=1)[0] in RANK, (
        f"{module} stands in no layer: name its package in LAYERS"
    )
    assert list(misplaced(read(module), module)) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("domain.codec", "import evenflow.slices.node.cache.track"),
        ("domain.codec", "from evenflow import cli"),
        ("domain.codec", "from evenflow.cli import main"),
        ("model.batch", "from ..domain import codec"),
        ("config.loading", "def late():\n    from evenflow.balance import ALGORITHMS"),
        ("autonomic.loop", "from evenflow.slices.node.node import Node"),
        ("autonomic.loop", "if TYPE_CHECKING:\n    from evenflow.slices.actions import Send"),
        ("access.tokens", "from evenflow.slices import terms"),
        ("slices.node.node", "from cyclonedds.core import Entity"),
        ("slices.node.node", "from evenflow.testing.cluster import Net"),
        ("slices.consumer.follower", "from evenflow.spark.options import Options"),
        ("durable.archiver", "from evenflow.spark.columns import COLUMNS"),
        ("durable.archiver", "import pyspark"),
        ("bridge.node", "import pyspark"),
        ("mobile.gateway.core", "from evenflow.bridge import ring"),
        ("edge.uplink", "from evenflow.mobile.link import frames"),
        ("qos.controller", "from evenflow.overlay import Client"),
        ("console.server", "from evenflow.testing import books"),
        ("mobile.groups", "import qh3"),
        ("overlay.broker.core", "from scipy.spatial import KDTree"),
        ("autonomic.analyze.local_events", "from cel_expr_python import cel"),
        ("cli.up", "import matplotlib"),
        ("cli.commands", "from evenflow_experiments.command import experiment"),
    ],
)
def test_a_broken_layer_is_found(module: str, source: str) -> None:
    assert len(misplaced(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("cli.node", "from evenflow.slices.node.node import Node"),
        ("slices.node.node", "from evenflow.balance import base\nfrom . import track"),
        ("slices.node.node", "from evenflow.domain import channels\nimport numpy"),
        ("domain.cyclone", "from cyclonedds.core import Entity"),
        ("durable.spark.source", "from pyspark.sql import SparkSession"),
        ("durable.spark.source", "from evenflow.spark.columns import decoded"),
        ("testing.cluster", "from evenflow.slices import handover"),
    ],
)
def test_a_sound_import_is_accepted(module: str, source: str) -> None:
    assert misplaced(source, module) == []


# -- no cycles between folders ---------------------------------------------------------------------


def folder_of(module: str) -> str:
    """The folder of a module; modules of the root stand for themselves."""
    return module.rpartition(".")[0] or module


def circle(edges: Mapping[str, Iterable[str]]) -> list[str]:
    """A circle of imports, or nothing."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_folders_do_not_import_one_another_in_circles() -> None:
    edges: dict[str, set[str]] = {}
    for module in MODULES:
        targets = map(defined_in, imports_of(read(module), module, types=False))
        folders = {folder_of(target) for target in targets if target is not None}
        edges.setdefault(folder_of(module), set()).update(folders - {folder_of(module)})
    assert len(edges) > 20
    assert circle(edges) == []


def test_a_circle_is_found() -> None:
    assert circle({"slices.node": {"domain"}, "domain": {"model"}}) == []
    found = circle({"slices.node": {"domain"}, "domain": {"model"}, "model": {"slices.node"}})
    assert set(found) == {"slices.node", "domain", "model"}


# -- cores and shells ------------------------------------------------------------------------------


def is_shell(module: str) -> bool:
    return short(module) in SHELLS or module.split(".", maxsplit=1)[0] in SHELL_PACKAGES


def impure(source: str, module: str) -> list[str]:
    """Say what a module does that a core must not."""
    found = []
    for name in imports_of(source, module, types=False):
        if name.split(".")[0] in WORLD or ".".join(name.split(".")[:2]) in WORLD:
            found.append(
                f"{module} imports {name}: a core touches no clock, thread, socket or file"
            )
        target = defined_in(name)
        if target is not None and target != module and is_shell(target):
            found.append(f"{module} imports the shell {short(target)}")
    return found + [
        f"{module} calls {called}(): a core is given the time, chance and data"
        for called in sorted(calls(source))
    ]


def calls(source: str) -> set[str]:
    """The functions called that a core must not call."""
    tree = ast.parse(source)
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    chance = CHANCE if "random" in imported(tree, PRODUCT) else set()
    return called & (CALLS | chance)


CALLS: Final = {
    "date.today", "datetime.datetime.now", "datetime.now", "datetime.today", "datetime.utcnow",
    "input", "open", "print",
}  # fmt: skip
CHANCE: Final = {
    "random.choice", "random.getrandbits", "random.randint", "random.random", "random.randrange",
    "random.sample", "random.shuffle", "random.uniform",
}  # fmt: skip


@pytest.mark.parametrize("module", [module for module in MODULES if not is_shell(module)])
def test_a_core_is_pure(module: str) -> None:
    assert list(impure(read(module), module)) == []


@pytest.mark.parametrize("module", sorted(SHELLS))
def test_a_shell_is_one(module: str) -> None:
    name = module if module in MODULES else f"{module}.__init__"
    assert name in MODULES, f"{module} is gone: strike it off SHELLS"
    assert impure(read(name), name), f"{module} has become a core: strike it off SHELLS"


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from threading import Lock",
        "import asyncio",
        "import socket",
        "def late():\n    import subprocess",
        "from pathlib import Path",
        "from pyarrow import flight",
        "from evenflow.slices.publisher.shell import PublisherShell",
        "from evenflow.domain.cyclone import Participant",
        "from evenflow.config import Config",
        "from evenflow.clock import SystemClock",
        "from datetime import datetime\nnow = datetime.now()",
        "import random\nx = random.random()",
        "text = open('file').read()",
    ],
)
def test_a_core_that_is_not_pure_is_found(source: str) -> None:
    assert len(impure(source, "slices.node.cache.track")) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from threading import Lock",
        "from evenflow.config import NodeConfig",
        "from evenflow.domain.channels import Gone",
        "from random import Random\nfrom datetime import datetime\ndatetime.fromisoformat('x')",
        "import numpy as np\nimport pyarrow as pa",
    ],
)
def test_what_a_core_may_import(source: str) -> None:
    assert impure(source, "slices.node.cache.track") == []


# -- sizes -----------------------------------------------------------------------------------------


def too_long(name: str, source: str) -> list[str]:
    lines, most = len(source.splitlines()), ONE_FILE.get(name, MOST_LINES)
    return [f"{name} has more than {most} lines"] if lines > most else []


def crowded(folder: str, names: Iterable[str]) -> list[str]:
    count = sum(name != "__init__" for name in names)
    return [f"{folder} has more than {MOST_MODULES} modules"] if count > MOST_MODULES else []


@pytest.mark.parametrize("package", ROOTS)
def test_modules_are_of_a_size_to_be_read(package: str) -> None:
    named = modules(package).items()
    faults = chain(
        *(too_long(f"{package}.{name}", path.read_text("utf-8")) for name, path in named)
    )
    assert list(faults) == []


@pytest.mark.parametrize("package", ROOTS)
def test_folders_are_of_a_size_to_be_seen(package: str) -> None:
    folders: dict[str, list[str]] = {}
    for name in modules(package):
        folder, _, module = f"{package}.{name}".rpartition(".")
        folders.setdefault(folder, []).append(module)
    faults = chain(*(crowded(folder, names) for folder, names in folders.items()))
    assert list(faults) == []


def test_what_is_too_large_is_found() -> None:
    assert too_long("a.b", "x\n" * (MOST_LINES + 1))
    assert not too_long("a.b", "x\n" * MOST_LINES)
    names = [f"m{number}" for number in range(MOST_MODULES)]
    assert not crowded("a", ["__init__", *names])
    assert crowded("a", [*names, "one_more"])
