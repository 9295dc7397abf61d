"""Experiments: each measures Evenflow and prints the papers' figures beside ours.

An experiment is one module with one command, made by `options.experiment`, and one line in the
registry below; other distributions offer theirs by the entry point group ``evenflow.experiments``.
``evenflow experiment`` gives each the options ``--json FILE``, ``--plot FILE`` and ``--quick``;
`report` writes and prints what they find.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.cli.commands import Later
from evenflow.registry import Registry

if TYPE_CHECKING:
    import rich_click as click

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: Registry[click.Command] = Registry(
    "experiment",
    {
        "balancers": Later(
            "evenflow_experiments.slices.balancers:balancers",
            "two balancers: how soon one leads, and how many orders",
        ),
        "bridge": Later(
            "evenflow_experiments.bridge.experiment:bridge",
            "devices on bridges: how even, how many move (C-DDSB)",
        ),
        "codec": Later(
            "evenflow_experiments.slices.codec:codec",
            "items per second: stock codec, ours, and batches",
        ),
        "exactly-once": Later(
            "evenflow_experiments.spark.exactly_once:exactly_once",
            "every id once, while nodes and Spark are killed",
        ),
        "faults": Later(
            "evenflow_experiments.faults.experiment:faults",
            "exactly once while hosts, links and processes fail",
        ),
        "handover": Later(
            "evenflow_experiments.slices.handover:handover",
            "time of moving slices (MAPE-SDDL, Table II)",
        ),
        "join": Later(
            "evenflow_experiments.slices.join:join",
            "time until a new node has its share, under load",
        ),
        "many-slices": Later(
            "evenflow_experiments.slices.many_slices:many_slices",
            "samples, CPU and delay of a load spread over many slices",
        ),
        "mobile-handover": Later(
            "evenflow_experiments.mobile.handover:mobile_handover",
            "half of a gateway's nodes move to a new one (MAPE-SDDL, V)",
        ),
        "mobile-scale": Later(
            "evenflow_experiments.mobile.scale:mobile_scale",
            "thousands of mobile nodes on one gateway",
        ),
        "outbox": Later(
            "evenflow_experiments.outbox.experiment:outbox",
            "a publisher with an outbox, killed often and measured",
        ),
        "overhead": Later(
            "evenflow_experiments.slices.overhead.experiment:overhead",
            "cost of a processing node (MAPE-SDDL, Figures 18, 19)",
        ),
        "overlay": Later(
            "evenflow_experiments.sedax:overlay",
            "even topics on brokers (SeDAX, Tables I-V)",
        ),
        "pipeline": Later(
            "evenflow_experiments.spark.pipeline:pipeline",
            "items per second and delay through Spark",
        ),
        "qos": Later(
            "evenflow_experiments.qos.experiment:qos",
            "adaptive QoS: controller, loss, missed events (Figures 8, 9)",
        ),
        "replicas": Later(
            "evenflow_experiments.replicas.experiment:replicas",
            "replicas by DDS Ownership, or takeover (MAPE-SDDL, VII)",
        ),
        "skew": Later(
            "evenflow_experiments.balance.skew:skew",
            "all balancing algorithms on uneven loads (simulated)",
        ),
        "standing": Later(
            "evenflow_experiments.spark.standing:standing",
            "memory of nodes while Spark stands still, and its bound",
        ),
        "store": Later(
            "evenflow_experiments.store.experiment:store",
            "the overlay store under deaths, returns and moves",
        ),
        "throughput": Later(
            "evenflow_experiments.slices.throughput.experiment:throughput",
            "five nodes join (MAPE-SDDL, Figures 15-17, Table I)",
        ),
    },
    group="evenflow.experiments",
)
