"""What the throughput experiment prints: Table I, the points of the curves, and the speed-ups."""

from __future__ import annotations

from typing import Any

from evenflow_experiments.report import print_table
from evenflow_experiments.slices.throughput.figures import PAPER_TABLE


def show(figures: dict[str, Any]) -> None:
    """Print everything beside the paper's."""
    _show_joins(figures)
    _show_curves(figures)
    _show_speedups(figures)


def _show_joins(figures: dict[str, Any]) -> None:
    """Table I, and what follows from it."""
    rows: list[list[object]] = []
    for what, table in PAPER_TABLE.items():
        for phase, paper in table.items():
            rows.append([f"{what} {phase}", *(join[what][phase] for join in figures["joins"]), ""])
            rows.append(["paper", *paper, ""])
    ours, theirs = figures["derived"]["ours"], figures["derived"]["paper"]
    for what, changes, mean in (
        ("rtd during, % more", "rtd_change_percent", "rtd_mean_percent"),
        ("throughput during, % more", "throughput_change_percent", "throughput_mean_loss_percent"),
    ):
        rows.append([what, *ours[changes], ours[mean]])
        rows.append(["paper", *theirs[changes], theirs[mean]])
    columns = ["", *(f"{nodes} nodes" for nodes in range(2, len(figures["joins"]) + 2)), "mean"]
    note = "items/s, seconds; the mean of the throughput is that of what was lost"
    print_table("Around each join (MAPE-SDDL, Table I)", columns, rows, note=note)


def _show_curves(figures: dict[str, Any]) -> None:
    """What the text says of Figures 15 to 17."""
    print_table(
        "Points of the curves (MAPE-SDDL, Figures 15 and 16)",
        ["", "", "ours", "at s", "paper", "paper at s"],
        [[mark["curve"], mark["what"], mark["ours"], mark["ours_s"], mark["paper"],
          mark["paper_s"]] for mark in figures["landmarks"]],
    )  # fmt: skip
    print_table(
        "Growth of the round-trip delay, s (MAPE-SDDL, Figure 17)",
        ["", "ours", "paper"],
        [[row["what"], row["ours"], row["paper_says"]] for row in figures["growths"]],
        note="times of the paper's story; ours for as long as the paper's",
    )


def _show_speedups(figures: dict[str, Any]) -> None:
    """Five nodes against one, by both baselines."""
    print_table(
        "Five nodes against one: which baseline (MAPE-SDDL, Figure 15)",
        ["", "items/s", "of the start", "of before the 2nd", "paper items/s", "paper of 40",
         "paper of 48"],
        [list(row.values()) for row in figures["speedups"]],
        note=f"{_costs(figures)}; {figures['published']:,} images, {figures['lost']} lost, "
        f"{figures['repeated']} repeated",
    )  # fmt: skip


def _costs(figures: dict[str, Any]) -> str:
    """What an image cost, and how much CPU time went into images: apart from a busy machine."""
    cost, five = figures["image_ms"], figures["cpu_speedup_5_nodes"]
    return (
        f"{cost['1_node']}, {cost['5_nodes']}, {cost['5_nodes_flooded']} ms an image; CPU time "
        f"in images {five} and {figures['cpu_speedup_5_nodes_flooded']} times that of one node"
    )
